import { acceptPlan, type TestDatabase, testDatabase } from '@herald/testkit'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { type Database, ensurePartitions, openDatabase } from '../src/store/index.ts'
import { assignBadges, claimBatches } from '../src/tasks/index.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.url, { max: 2 })
  await ensurePartitions(db)
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

it.each([1, 2])('badges of %i batches are added once, however often they are asked for', async (count) => {
  const batches = Array.from({ length: count }, (_, i) => ({
    channel: 'apns' as const,
    certificateId: 1,
    recipients: [count * 10, count * 10 + i + 1],
    tried: [],
  }))
  const { released } = await acceptPlan(db, 'app', { batches })
  const claimed = await claimBatches(db.pool, released, { seconds: 30, worker: 'w' })
  const wishes = claimed.map((batch) => ({ ...batch, badge: { kind: 'add' as const, count: 3 } }))
  const first = await assignBadges(db.pool, wishes)
  // As when the answer of the first was lost.
  expect(await assignBadges(db.pool, wishes)).toEqual(first)
  expect([...first.values()]).toEqual(batches.map(() => [3 * count, 3]))
})
