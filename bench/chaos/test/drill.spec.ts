import { describeWith } from '@herald/testkit'
import { expect, it } from '@jest/globals'
import { runDrill } from '../drill.ts'

describeWith('redis-server')('the chaos drill', () => {
  // Seeds with a crash of Postgres, killed workers, APIs and gateways and answers that are cut off; FLUSHALL, a clock that
  // jumps. None where a vendor asks for a wait of a minute, as APNs and FCM do when they throttle.
  it.each([
    { queue: 'redis', seed: 220 },
    { queue: 'postgres', seed: 147 },
  ] as const)(
    'ends with nothing lost and every book in balance on the $queue queue',
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
