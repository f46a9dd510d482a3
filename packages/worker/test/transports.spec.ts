import type { ChannelAdapter, Transport, TransportDeps } from '@herald/channels'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { createTransports, type Transports } from '../src/transports.ts'

const HOUR = 3_600_000

describe('transports', () => {
  let opened: number
  let closed: string[]
  let transports: Transports
  beforeEach(() => {
    jest.useFakeTimers()
    opened = 0
    closed = []
    transports = createTransports(
      () => ({}) as TransportDeps,
      () => {},
      { max: 3, idleMs: HOUR },
    )
  })
  afterEach(async () => {
    await transports.close()
    jest.useRealTimers()
  })

  const credential = (id: number, version = 1) => ({
    id,
    version,
    settings: {},
    adapter: {
      open(): Transport<unknown> {
        opened++
        return {
          send: async () => {},
          check: async () => ({ ok: true }),
          close: async () => void closed.push(`${id} v${version}`),
        }
      },
    } as unknown as ChannelAdapter,
  })

  it('keeps one open per certificate, and opens another when the certificate has changed', async () => {
    await transports.use(credential(1), async () => {})
    await transports.use(credential(1), async () => {
      await transports.use(credential(1, 2), async () => {})
      expect(closed).toEqual([])
    })
    expect(opened).toBe(2)
    expect(closed).toEqual(['1 v1'])
  })

  it('opens another after `renew`, and closes the former after its last use', async () => {
    await transports.use(credential(1), async () => {
      transports.renew(1)
      expect(closed).toEqual([])
      await transports.use(credential(1), async () => {})
    })
    expect(opened).toBe(2)
    expect(closed).toEqual(['1 v1'])
    transports.renew(2)
  })

  it('checks over a transport of its own', async () => {
    await transports.use(credential(1), async () => {
      expect(await transports.check(credential(1))).toEqual({ ok: true })
    })
    expect(opened).toBe(2)
    expect(closed).toEqual(['1 v1'])
  })

  it('closes those that were not used for an hour', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const busy = transports.use(credential(1), () => promise)
    await transports.use(credential(2), async () => {})
    await transports.use(credential(3), async () => {})
    jest.advanceTimersByTime(HOUR - 60_000)
    expect(closed).toEqual([])
    await transports.use(credential(3), async () => {})
    jest.advanceTimersByTime(60_000)
    expect(closed).toEqual(['2 v1'])
    resolve()
    await busy
    await transports.use(credential(2), async () => {})
    expect(opened).toBe(4)
  })

  it('closes those used longest ago when there are too many, but none with calls in progress', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const busy = transports.use(credential(1), () => promise)
    await transports.use(credential(2), async () => {})
    await transports.use(credential(3), async () => {})
    await transports.use(credential(2), async () => {})
    await transports.use(credential(4), async () => {})
    expect(closed).toEqual(['3 v1'])
    for (let id = 5; id < 100; id++) await transports.use(credential(id), async () => {})
    expect(closed).not.toContain('1 v1')
    expect(opened - closed.length).toBe(3)
    resolve()
    await busy
    for (let id = 100; id < 103; id++) await transports.use(credential(id), async () => {})
    expect(closed).toContain('1 v1')
  })

  it('has more only while all have calls in progress', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const busy = Array.from({ length: 5 }, (_, id) => transports.use(credential(id), () => promise))
    expect(opened - closed.length).toBe(5)
    resolve()
    await Promise.all(busy)
    expect(opened - closed.length).toBe(3)
  })
})
