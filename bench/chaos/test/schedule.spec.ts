import { vendorChannels } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { processesOf } from '../processes.ts'
import { describeFault, faultKinds, queueKinds, scheduleCourierFaults, scheduleFaults } from '../schedule.ts'

const tenMinutes = {
  seconds: 600,
  every: 4,
  processes: processesOf('full'),
  channels: vendorChannels,
  canFillDisk: true,
}

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
        ...['slow-disk', 'read-only', 'disk-full', 'cut-host', 'flood', 'vendor-refuses', 'vendor-hangs'],
        ...['cut-clients', 'throttle', 'unavailable', 'hang', 'cut', 'latency', 'goaway'],
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
    const cut = new Set(
      [1, 2, 3, 4, 5, 6].flatMap((seed) =>
        scheduleFaults({ ...tenMinutes, queue: 'redis', seed }).flatMap((fault) =>
          fault.kind === 'cut-host' ? [fault.victim] : [],
        ),
      ),
    )
    expect(cut.size).toBeGreaterThan(10)
    const short = scheduleFaults({ ...tenMinutes, seconds: 60, every: 1, queue: 'redis', seed: 1 })
    expect(short.some(({ kind }) => kind === 'freeze-past-lease')).toBe(false)
  })

  it('makes only the wanted faults, and leaves out a full disk where it is impossible', () => {
    const kindsOf = (options: Partial<Parameters<typeof scheduleFaults>[0]>) =>
      new Set(scheduleFaults({ ...tenMinutes, queue: 'redis', seed: 1, ...options }).map(({ kind }) => kind))
    expect(kindsOf({ only: ['read-only', 'disk-full'] })).toEqual(new Set(['read-only', 'disk-full']))
    expect(kindsOf({ only: ['read-only', 'disk-full'], canFillDisk: false })).toEqual(new Set(['read-only']))
    expect(kindsOf({ only: ['disk-full'], canFillDisk: false })).toEqual(new Set())
    for (const kind of faultKinds) expect(kindsOf({ only: [kind] })).toEqual(new Set([kind]))
  })

  it('has faults of the couriers in every run, a kill first', () => {
    const couriers = processesOf('small').filter(({ role }) => role === 'courier')
    const short = { seconds: 10, every: 1.2, couriers, seed: 1 }
    expect(scheduleCourierFaults(short).map(describeFault)).toEqual([
      'kill -9 of courier-1',
      'kill -9 of courier-1',
    ])
    const kindsOf = (only?: ['cut-host'] | ['flood']) =>
      new Set(scheduleCourierFaults({ ...short, seconds: 600, only }).map(({ kind }) => kind))
    expect(kindsOf()).toEqual(new Set(['kill', 'freeze', 'cut-host', 'clock-jump', 'terminate']))
    expect(kindsOf(['cut-host'])).toEqual(new Set(['cut-host']))
    expect(kindsOf(['flood'])).toEqual(new Set())
  })

  it('cuts a host off for longer than its leases, and no fault takes over a third of a short run', () => {
    const cuts = (seconds: number) =>
      scheduleFaults({ ...tenMinutes, seconds, every: 1, queue: 'redis', seed: 1, only: ['cut-host'] }).map(
        (fault) => (fault.kind === 'cut-host' ? fault.seconds : 0),
      )
    expect(Math.max(...cuts(600))).toBeGreaterThan(80)
    expect(Math.min(...cuts(600))).toBeLessThan(10)
    expect(Math.max(...cuts(60))).toBe(20)
  })
})
