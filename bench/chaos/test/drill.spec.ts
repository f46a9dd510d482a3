import { describeWith } from '@herald/testkit'
import { expect, it } from '@jest/globals'
import { runDrill } from '../drill.ts'

describeWith('redis-server')('the chaos drill', () => {
  it.each([
    { queue: 'redis', seed: 3 },
    { queue: 'postgres', seed: 4 },
  ] as const)(
    'ends with nothing lost and every book in balance on the $queue queue',
    async ({ queue, seed }) => {
      const report = await runDrill({
        queue,
        seed,
        seconds: 10,
        every: 1.5,
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
