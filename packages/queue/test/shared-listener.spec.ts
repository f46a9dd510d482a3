import { until } from '@herald/testkit'
import { type TestDatabase, testDatabase } from '@herald/testkit/database'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import pg from 'pg'
import { createSharedListener } from '../src/shared-listener.ts'

let database: TestDatabase
let pool: pg.Pool
beforeAll(async () => {
  database = await testDatabase({ migrated: false })
  pool = new pg.Pool({ connectionString: database.url, max: 1 })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

it('tells every listener what a look finds, as if it had been announced, while somebody listens', async () => {
  let looks = 0
  let found: string[] = []
  const listen = createSharedListener(() => pool.connect(), {
    everyMs: 5,
    channel: 'jobs',
    payloads: async () => {
      if (++looks % 2 === 1) throw new Error('Postgres is busy')
      return found
    },
  })
  const told: unknown[][] = [[], []]
  const listeners = await Promise.all(
    told.map(async (list) =>
      (await listen()).on('notification', (message: unknown) => void list.push(message)),
    ),
  )
  await until(() => looks > 4)
  expect(told).toEqual([[], []])
  found = ['a', 'b']
  await until(() => told.every((list) => list.length >= 4))
  for (const list of told)
    expect(list.slice(0, 2)).toEqual(['a', 'b'].map((payload) => ({ channel: 'jobs', payload })))
  for (const listener of listeners) listener.release()
  const before = looks
  // The connection can be used again only if it was released, and a query takes longer than a pause between looks.
  await pool.query('SELECT pg_sleep(0.05)')
  expect(looks).toBe(before)
})
