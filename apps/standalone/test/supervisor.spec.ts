import type { Context, Service } from '@herald/program'
import { createLogger } from '@herald/telemetry'
import { until } from '@herald/testkit'
import { describe, expect, it } from '@jest/globals'
import { supervise } from '../src/supervisor.ts'

const context = { log: createLogger({ name: 'spec', level: 'silent' }) } as Context

/** A service that records its events and fails its first `failures` starts. */
function service({ failures = 0 } = {}) {
  const events: string[] = []
  const deaths: ((reason: string) => void)[] = []
  const fake: Service = {
    name: 'fake',
    async start({ die }) {
      events.push('start')
      if (events.length <= failures) throw new Error('not today')
      deaths.push(die)
      return { waiting: () => undefined, stop: async () => void events.push('stop') }
    },
  }
  return { fake, events, die: (run = deaths.length - 1) => deaths[run]?.('gave up') }
}
const ready = (supervised: ReturnType<typeof supervise>) =>
  until(async () => (await supervised.waiting()) === undefined)

describe('supervise', () => {
  it('starts a service and stops it once', async () => {
    const { fake, events } = service()
    const supervised = supervise(fake, context)
    await ready(supervised)
    await supervised.stop()
    expect(events).toEqual(['start', 'stop'])
    expect(await supervised.waiting()).toBe('fake')
  })

  it('stops and restarts a service that failed', async () => {
    const { fake, events, die } = service()
    const supervised = supervise(fake, context, { firstPause: 1 })
    await ready(supervised)
    die()
    await until(() => events.length === 3)
    await supervised.stop()
    expect(events).toEqual(['start', 'stop', 'start', 'stop'])
  })

  it('repeats a start that failed', async () => {
    const { fake, events } = service({ failures: 2 })
    const supervised = supervise(fake, context, { firstPause: 1 })
    await ready(supervised)
    await supervised.stop()
    expect(events).toEqual(['start', 'start', 'start', 'stop'])
  })

  it('ignores a failure report of an earlier run', async () => {
    const { fake, events, die } = service()
    const supervised = supervise(fake, context, { firstPause: 1 })
    await ready(supervised)
    die(0)
    await until(() => events.length === 3)
    die(0)
    await ready(supervised)
    await supervised.stop()
    expect(events).toEqual(['start', 'stop', 'start', 'stop'])
  })

  it('does not wait for the next start when it is stopped', async () => {
    const { fake, events } = service({ failures: 9 })
    const supervised = supervise(fake, context, { firstPause: 60_000 })
    await until(() => events.length === 1)
    await supervised.stop()
    expect(events).toEqual(['start'])
  })

  it('returns what a running service waits for', async () => {
    const supervised = supervise(
      { name: 'fake', start: () => ({ waiting: () => 'a leader', stop: async () => {} }) },
      context,
    )
    await until(async () => (await supervised.waiting()) === 'a leader')
    await supervised.stop()
  })
})
