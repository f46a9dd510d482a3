import { describe, expect, it } from '@jest/globals'
import { createFlood, MAX_IN_FLIGHT, sendAtRate } from '../flood.ts'
import type { Accepted } from '../load.ts'

describe('a flood', () => {
  it('does not wait for responses, up to a limit, and ends with the last one', async () => {
    const waiting: (() => void)[] = []
    let rounds = 0
    let ended = 0
    await sendAtRate(
      1_000_000,
      async () => {
        await new Promise<void>((resolve) => waiting.push(resolve))
        ended++
      },
      () => {
        if (waiting.length < MAX_IN_FLIGHT || ++rounds < 100) return false
        setImmediate(() => {
          for (const respond of waiting) respond()
        })
        return true
      },
    )
    expect(waiting).toHaveLength(MAX_IN_FLIGHT)
    expect(ended).toBe(MAX_IN_FLIGHT)
  })

  it('sends pushes with different request ids to its devices, at most as many as allowed', async () => {
    const accepted: Accepted[] = []
    const flood = createFlood({
      caller: { call: async () => ({ task_id: accepted.length + 1 }) },
      devices: [3, 5],
      accepted,
      onBroken: (sentence) => {
        throw new Error(sentence)
      },
    })
    // Over at once for the measurement, which sends one push per caller.
    let asked = 0
    await flood.run(() => asked++ < 64, 200)
    expect(accepted).toHaveLength(200)
    expect(flood.sent()).toBe(200)
    expect(new Set(accepted.map(({ request }) => request.requestId)).size).toBe(200)
    expect(new Set(accepted.flatMap(({ request }) => request.devices))).toEqual(new Set([3, 5]))
  })
})
