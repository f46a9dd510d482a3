import { acceptPlan } from '@herald/testkit'
import { expect, it } from '@jest/globals'
import { assignBadges, claimBatches } from '../src/tasks/index.ts'
import { useDatabase } from './setup.ts'

const db = useDatabase({ max: 2 })

it.each([1, 2])('adds the badges of %i batches once, even if called twice', async (count) => {
  const batches = Array.from({ length: count }, (_, i) => ({
    channel: 'apns' as const,
    certificateId: 1,
    recipients: [count * 10, count * 10 + i + 1],
    tried: [],
  }))
  const { released } = await acceptPlan(db, 'app', { batches })
  const claimed = await claimBatches(
    db.pool,
    { channel: 'apns', certificateIds: [1], batches: released },
    { seconds: 30, worker: 'w' },
  )
  const requests = claimed.map((batch) => ({ ...batch, badge: { kind: 'add' as const, count: 3 } }))
  const first = await assignBadges(db.pool, requests)
  // As after a lost reply.
  expect(await assignBadges(db.pool, requests)).toEqual(first)
  expect([...first.values()]).toEqual(batches.map(() => [3 * count, 3]))
})
