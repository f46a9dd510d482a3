import { until } from '@herald/testkit'
import { describe, expect, it } from '@jest/globals'
import { startLoop } from '../src/loop.ts'

describe('a loop', () => {
  it('ends when the round under way has ended', async () => {
    const round = Promise.withResolvers<boolean>()
    let over = false
    const loop = startLoop({ idleMs: 60_000, round: () => round.promise, onError: () => {} })
    const stopped = loop.stop().then(() => {
      over = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(over).toBe(false)
    round.resolve(false)
    await stopped
  })

  it('goes on after a round that failed, at once while there is more, and when it is woken', async () => {
    const rounds = ['fails', true, false, false]
    const told: unknown[] = []
    let begun = 0
    const loop = startLoop({
      idleMs: 60_000,
      async round() {
        const round = rounds[begun++]!
        if (typeof round === 'string') throw new Error(round)
        return round
      },
      onError: (error, passing) => told.push([(error as Error).message, passing]),
    })
    await until(() => begun === 1)
    loop.wake()
    await until(() => begun === 3)
    expect(told).toEqual([['fails', false]])
    loop.wake()
    await until(() => begun === 4)
    await loop.stop()
  })
})
