import { describe, expect, it } from '@jest/globals'
import { gorushConfig, pushRequests } from '../config.ts'
import { raceMetrics } from '../run.ts'

describe('the race against gorush', () => {
  it('compares with the faster way to run gorush, by the median of the rounds', () => {
    const round = (herald: number, gorush: number, many: number) => ({
      herald: { broadcast: herald, singles: herald },
      gorush: { broadcast: gorush, singles: gorush },
      manyWorkers: { broadcast: many, singles: many },
    })
    const found = raceMetrics([round(100, 50, 25), round(100, 10, 100), round(30, 10, 5)], {
      broadcast: 10,
      singles: 10,
    })
    expect([found.broadcast_vs_gorush_ratio!.value, found.notify_vs_gorush_ratio!.value]).toEqual([2, 2])
  })

  it('pushes to every token once, a thousand per notification and a hundred notifications per request', () => {
    const tokens = Array.from({ length: 100_001 }, (_, n) => `t${n}`)
    type Request = { notifications: { tokens: string[] }[] }
    const requests = pushRequests(tokens, { title: 'a', body: 'b', badge: 1 }).map(
      (text): Request => JSON.parse(text),
    )
    expect(requests.map(({ notifications }) => notifications.length)).toEqual([100, 1])
    expect(requests.flatMap(({ notifications }) => notifications.flatMap((one) => one.tokens))).toEqual(
      tokens,
    )
    expect(requests[1]!.notifications[0]).toEqual({
      tokens: ['t100000'],
      platform: 1,
      topic: 'com.example.bench',
      title: 'a',
      message: 'b',
      badge: 1,
    })
  })

  it('sends gorush to the sink by a proxy, with the key of the benchmark', () => {
    const { core, ios } = JSON.parse(gorushConfig({ port: 1, proxyPort: 2, key: 'KEY', queue: 9_000 }))
    expect(core).toMatchObject({
      port: '1',
      http_proxy: 'http://127.0.0.1:2',
      worker_num: 0,
      queue_num: 9_000,
    })
    expect(Buffer.from(ios.key_base64, 'base64').toString()).toBe('KEY')
  })
})
