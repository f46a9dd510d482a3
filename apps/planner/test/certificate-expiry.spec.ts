import { until } from '@herald/testkit'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { planner } from '../src/index.ts'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness({ workers: false })
})
afterAll(() => harness.stop())

it('tells an application once that its certificates expire, however many planners run', async () => {
  const { db } = harness
  const app = await harness.addApplication('expiry')
  await db.pool.query(
    `UPDATE certificate SET expires_at = now() + CASE channel WHEN 'apns' THEN interval '5 days' ELSE interval '200 days' END
     WHERE app_id = $1`,
    [app],
  )
  const events = async () =>
    (await db.pool.query('SELECT kind, channel, detail FROM outbox WHERE app_id = $1 ORDER BY id', [app]))
      .rows
  const running = await Promise.all([planner.start(harness), planner.start(harness)])
  try {
    await until(async () => (await events()).length > 0, { what: 'the event' })
    await until(() => running.every((one) => (one.rounds?.().expiry ?? -1) >= 0), { what: 'a look of both' })
  } finally {
    await Promise.all(running.map((one) => one.stop()))
  }
  expect(await events()).toEqual([
    {
      kind: 'certificate.expiring',
      channel: 'apns',
      detail: expect.objectContaining({ environment: 'production', days: 7, expires_at: expect.any(Number) }),
    },
  ])
})
