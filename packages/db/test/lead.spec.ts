import { expect, it } from '@jest/globals'
import { leadOf } from '../src/store/index.ts'
import { useDatabase } from './setup.ts'

const db = useDatabase({ partitions: false })

it('has one owner, who may renew it, until it ends or is released', async () => {
  const [one, two] = [leadOf(db, 'work'), leadOf(db, 'work')]
  expect([await one.take(60), await two.take(60), await one.take(60)]).toEqual([true, false, true])
  expect(await leadOf(db, 'other work').take(60)).toBe(true)

  // Another process cannot release it.
  await two.release()
  expect(await two.take(60)).toBe(false)

  await db.pool.query(`UPDATE lead SET until = now() WHERE work = 'work'`)
  expect([await two.take(60), await one.take(60)]).toEqual([true, false])
  await two.release()
  expect(await one.take(60)).toBe(true)
})

it('is taken by one of many that ask at the same time', async () => {
  const taken = await Promise.all(Array.from({ length: 20 }, () => leadOf(db, 'race').take(60)))
  expect(taken.filter(Boolean)).toHaveLength(1)
})
