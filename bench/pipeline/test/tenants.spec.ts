import { describe, expect, it } from '@jest/globals'
import type { Figures } from '../accept.ts'
import { callerOf, tenantMetrics } from '../tenants.ts'

const figures = (cpu: number, perSecond: number): Figures => ({
  accepted: perSecond,
  delivered: perSecond / 2,
  p99: 5,
  cpu,
  cost: 'CPU time',
  wal: { value: 1, unit: 'bytes', note: '' },
})

describe('pushes of many applications', () => {
  const tokens = Array.from({ length: 1_000 }, (_, n) => `token-${n + 1}`)

  it('come from the applications in turn, with the token of each and to devices of each', () => {
    const caller = callerOf(tokens, 1_000)
    const of = (n: number) => [
      caller.headers(n).app_id,
      caller.headers(n)['access-token'],
      caller.pushToken(n),
    ]
    expect(of(0)).toEqual(['tenant-1', 'token-1', 'tenant-1-1'])
    expect(of(999)).toEqual(['tenant-1000', 'token-1000', 'tenant-1000-1'])
    expect(of(1_999)).toEqual(['tenant-1000', 'token-1000', 'tenant-1000-2'])
    expect(of(10_999)).toEqual(['tenant-1000', 'token-1000', 'tenant-1000-1'])
  })

  it('reach as many different devices with one application as with many', () => {
    const distinct = (count: number) => {
      const caller = callerOf(tokens, count)
      return new Set(Array.from({ length: 10_000 }, (_, n) => caller.pushToken(n))).size
    }
    expect([distinct(1), distinct(1_000)]).toEqual([10_000, 10_000])
  })

  it('are compared by CPU time with those of one application', () => {
    const full = new Map([
      [1, figures(1_000, 400)],
      [10, figures(1_200, 300)],
    ])
    const paced = new Map([
      [1, figures(2_000, 1)],
      [10, figures(3_000, 1)],
    ])
    const sizes = { counts: [1, 10], requests: 100, paced: 20 }
    const found = tenantMetrics(sizes, { full, paced: new Map() }, { full, paced })
    expect(Object.fromEntries(Object.entries(found).map(([name, { value }]) => [name, value]))).toEqual({
      notify_accept_10_tenants_per_s: 300,
      notify_end_to_end_10_tenants_per_s: 150,
      notify_accept_10_tenants_ratio: 1.2,
      notify_10_tenants_ratio: 1.2,
      notify_10_tenants_each_minute_ratio: 1.5,
    })
  })
})
