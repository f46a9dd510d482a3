import { describeWith } from '@herald/testkit'
import { expect, it } from '@jest/globals'
import { runDrill } from '../drill.ts'

describeWith('redis-server')('the drill: kill -9 of any process, a lost queue, a crash of Postgres', () => {
  it.each(['redis', 'postgres'] as const)(
    'ends with every device reached and every counter exact on the %s queue',
    async (queue) => {
      const report = await runDrill({
        queue,
        devices: 20_000,
        targeted: 40,
        every: 2,
        seed: 7,
        seconds: 14,
        leastFaults: 6,
        log: () => {},
      })
      expect(report.broken).toEqual([])
      expect(report.faults).toBeGreaterThanOrEqual(6)
      expect(report.samples).toBeGreaterThan(10)
      // Only answers that were lost are sent again: at most what the killed workers had under way.
      expect(report.duplicates).toBeLessThan(report.deliveries / 4)
    },
    240_000,
  )
})
