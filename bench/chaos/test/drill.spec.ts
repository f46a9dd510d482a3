import { describeWith } from '@herald/testkit'
import { expect, it } from '@jest/globals'
import { runDrill } from '../drill.ts'

describeWith('redis-server')('the chaos drill', () => {
  // Seeds with a crash of Postgres, killed workers, APIs and gateways, cut responses, FLUSHALL and a clock jump, but without
  // throttling at APNs and FCM, which ask for a pause of a minute.
  it.each([
    { queue: 'redis', seed: 220 },
    { queue: 'postgres', seed: 147 },
  ] as const)(
    'loses nothing and balances all counters on the $queue queue',
    async ({ queue, seed }) => {
      const report = await runDrill({
        queue,
        seed,
        seconds: 10,
        every: 1.2,
        rate: 800,
        devices: 2000,
        size: 'small',
        sendTimeout: 60,
        fairness: 0,
        log: () => {},
      })
      expect({ lost: report.lost, unbalanced: report.unbalanced, broken: report.broken }).toEqual({
        lost: [],
        unbalanced: [],
        broken: [],
      })
      expect(report.faults.length).toBeGreaterThanOrEqual(5)
      expect(report.deliveries).toBeGreaterThan(1000)
      expect(report.samples).toBeGreaterThan(5)
    },
    300_000,
  )
})
