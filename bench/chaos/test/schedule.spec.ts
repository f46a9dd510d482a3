import { vendorChannels } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { processesOf } from '../processes.ts'
import { describeFault, queueKinds, scheduleFaults } from '../schedule.ts'

const tenMinutes = { seconds: 600, every: 4, processes: processesOf('full'), channels: vendorChannels }

describe('the schedule of faults', () => {
  it('depends on the seed only', () => {
    const [one, again, other] = [1, 1, 2].map((seed) =>
      scheduleFaults({ ...tenMinutes, queue: 'redis', seed }),
    )
    expect(again).toEqual(one)
    expect(other).not.toEqual(one)
  })

  it.each(queueKinds)('has over a hundred faults of every kind in ten minutes on the %s queue', (queue) => {
    const faults = scheduleFaults({ ...tenMinutes, queue, seed: 5 })
    expect(faults.length).toBeGreaterThan(100)
    const kinds = new Set(faults.map((fault) => (fault.kind === 'storm' ? fault.storm : fault.kind)))
    const ofQueue = queue === 'postgres' ? [] : ['queue-crash', 'queue-flush', 'queue-freeze']
    expect([...kinds].sort()).toEqual(
      [
        ...['kill', 'terminate', 'freeze', 'freeze-past-lease', 'clock-jump', 'postgres-crash', 'table-lock'],
        ...['slow-commits', 'cut-clients', 'throttle', 'unavailable', 'hang', 'cut', 'latency', 'goaway'],
        ...['expired-auth', ...ofQueue],
      ].sort(),
    )
    for (const fault of faults) expect(describeFault(fault)).not.toMatch(/undefined/)
  })

  it('kills every process in a long run, and freezes past a lease only if there is time for it', () => {
    const victims = new Set(
      [1, 2, 3].flatMap((seed) =>
        scheduleFaults({ ...tenMinutes, queue: 'redis', seed }).flatMap((fault) =>
          fault.kind === 'kill' ? [fault.victim] : [],
        ),
      ),
    )
    expect(victims).toEqual(new Set(processesOf('full').map(({ name }) => name)))
    const short = scheduleFaults({ ...tenMinutes, seconds: 60, every: 1, queue: 'redis', seed: 1 })
    expect(short.some(({ kind }) => kind === 'freeze-past-lease')).toBe(false)
  })
})
