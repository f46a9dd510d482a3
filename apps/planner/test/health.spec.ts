import { until } from '@herald/testkit'
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import { planner } from '../src/index.ts'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

it('shows the age of each loop’s last round, and is not ready while a round hangs', async () => {
  const locker = await harness.db.pool.connect()
  await locker.query('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; LOCK TABLE lead')
  const running = await planner.start(harness)
  try {
    const waitsForLead = async () =>
      (
        await harness.db.pool.query(
          `SELECT FROM pg_locks WHERE relation = 'lead'::regclass AND NOT granted AND database =
             (SELECT oid FROM pg_database WHERE datname = current_database())`,
        )
      ).rowCount! > 0
    await until(waitsForLead)
    expect(running.waiting!()).toBeUndefined()
    expect(Object.keys(running.rounds!())).toEqual(
      expect.arrayContaining(['watch', 'feed', 'plan', 'sweep', 'native', 'retention', 'sample']),
    )

    const now = performance.now.bind(performance)
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 301_000)
    expect(running.rounds!().sample).toBeGreaterThanOrEqual(300)
    expect(running.waiting!()).toContain('sample')
    // The first retention after a long pause may take hours.
    expect(running.waiting!()).not.toContain('retention')
    clock.mockRestore()
    expect(running.waiting!()).toBeUndefined()
  } finally {
    await locker.query('COMMIT')
    locker.release()
    await running.stop()
  }
})
