import { describeWith } from '@herald/testkit'
import { expect, it } from '@jest/globals'
import { runDrill } from '../drill.ts'
import { type FaultKind, faultKinds } from '../schedule.ts'

/** Faults after which no process dies and nothing is in flight for longer than a lease. */
const passing: FaultKind[] = ['cut-host', 'read-only', 'disk-full', 'vendor-refuses', 'flood']
// A vendor that hangs blocks calls for the time limit, which is long in this drill.
const deaths = faultKinds.filter((kind) => !passing.includes(kind) && kind !== 'vendor-hangs')

describeWith('redis-server')('the chaos drill', () => {
  // Seeds with a crash of Postgres, killed workers, APIs and gateways, cut responses, FLUSHALL and a clock jump, but without
  // throttling at APNs and FCM, which ask for a pause of a minute; and a seed with all passing faults.
  it.each([
    { faults: 'deaths', queue: 'redis', seed: 220, only: deaths },
    { faults: 'deaths', queue: 'postgres', seed: 147, only: deaths },
    { faults: 'passing faults', queue: 'postgres', seed: 5, only: passing },
  ] as const)(
    'loses nothing and balances all counters after $faults on the $queue queue',
    async ({ queue, seed, only }) => {
      const report = await runDrill({
        queue,
        seed,
        only,
        seconds: 10,
        // Some of them may be erased before they are reached.
        minimum: { deliveries: 1500, erased: 3 },
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
      expect(report.erased).toBeGreaterThan(3)
      expect(report.samples).toBeGreaterThan(5)
      expect(report.events.entries).toBeGreaterThan(100)
      expect(report.certificates.areOpen).toBe(true)
    },
    900_000,
  )
})
