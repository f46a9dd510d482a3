import { until } from '@herald/testkit'
import { describe, expect, it } from '@jest/globals'
import { startLoop } from '../src/loop.ts'

describe('a loop', () => {
  it('hangs while a round takes longer than its limit', async () => {
    const round = Promise.withResolvers<boolean>()
    const loop = startLoop({
      name: 'spec',
      idleMs: 60_000,
      limitMs: 20,
      round: () => round.promise,
      onError: () => {},
    })
    await until(() => loop.health().hangs)
    expect(loop.health().age).toBeGreaterThan(20)
    round.resolve(false)
    await until(() => !loop.health().hangs)
    await loop.stop()
  })

  it('ends when the round in progress has ended', async () => {
    const round = Promise.withResolvers<boolean>()
    let ended = false
    const loop = startLoop({ name: 'spec', idleMs: 60_000, round: () => round.promise, onError: () => {} })
    const stopped = loop.stop().then(() => {
      ended = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(ended).toBe(false)
    round.resolve(false)
    await stopped
  })

  it('repeats after a round that failed, at once while there is more, and when it is woken', async () => {
    const rounds = ['fails', true, false, false]
    const errors: unknown[] = []
    let begun = 0
    const loop = startLoop({
      name: 'spec',
      idleMs: 60_000,
      async round() {
        const round = rounds[begun++]!
        if (typeof round === 'string') throw new Error(round)
        return round
      },
      onError: (error, ...details) => errors.push([(error as Error).message, ...details]),
    })
    await until(() => begun === 1)
    loop.wake()
    await until(() => begun === 3)
    expect(errors).toEqual([['fails', false, 'spec']])
    loop.wake()
    await until(() => begun === 4)
    await loop.stop()
  })

  it('reads its pause after each round', async () => {
    const asked: number[] = []
    const loop = startLoop({
      name: 'spec',
      idleMs: () => asked.push(asked.length),
      round: async () => false,
      onError: () => {},
    })
    await until(() => asked.length > 3)
    await loop.stop()
  })
})
