import { type Database, ensurePartitions, openDatabase } from '@herald/db/store'
import { acceptPlan, type TestDatabase, testDatabase } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { erasedRound, trimRound } from '../src/inbox-rounds.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.url, { max: 5 })
  await ensurePartitions(db)
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

const ended: unknown[] = []
const deps = () => ({ db, onEnded: (...args: unknown[]) => void ended.push(args) })
const waiting = async () =>
  (await db.pool.query('SELECT device_id FROM inbox ORDER BY device_id')).rows.map(
    ({ device_id }) => device_id,
  )

describe('messages for devices that were removed while they were planned', () => {
  it('expire: soon if the device was erased, otherwise with the rare search', async () => {
    // No such devices exist.
    await acceptPlan(db, 'app', { inbox: [7, 8, 9] })
    await db.pool.query('INSERT INTO erased_device (device_id) VALUES (7), (9), (10)')
    expect(await erasedRound(deps())).toBe(true)
    expect(ended.splice(0)).toEqual([['native', 'expired', 2]])
    expect(await waiting()).toEqual([8])
    expect(await erasedRound(deps())).toBe(false)
    expect(ended).toEqual([])
    await trimRound(deps())
    expect(ended.splice(0)).toEqual([['native', 'expired', 1]])
    expect(await waiting()).toEqual([])
  })
})
