import { beforeEach, describe, expect, it } from '@jest/globals'
import { createSteadiness, type Steadiness } from '../src/steadiness.ts'

let clock = 0
let steadiness: Steadiness

/** Lets time pass, with an answered check every 250 ms. */
function pass(ms: number): void {
  for (const end = clock + ms; clock < end; ) {
    clock += 250
    steadiness.answered()
  }
}
/** Lets time pass without an answer, then one arrives. */
function silence(ms: number): void {
  clock += ms
  steadiness.answered()
}

beforeEach(() => {
  clock = 1_000_000
  steadiness = createSteadiness(() => clock)
})

describe('a planner', () => {
  it('is not steady for 10 s after its start', () => {
    pass(10_000)
    expect(steadiness.isSteady()).toBe(false)
    pass(250)
    expect(steadiness.isSteady()).toBe(true)
  })

  it('stays steady while it pauses on purpose, and is not when the pause ends without an answer', () => {
    pass(11_000)
    steadiness.pausing(10_000)
    silence(9_000)
    expect(steadiness.isSteady()).toBe(true)
    steadiness.pausing(10_000)
    silence(12_250)
    expect(steadiness.isSteady()).toBe(false)
  })

  it.each([2_250, 40_000])(
    'is not steady for 10 s after %i ms without an answer and without an error',
    (ms) => {
      pass(11_000)
      silence(ms)
      expect(steadiness.isSteady()).toBe(false)
      pass(10_000)
      expect(steadiness.isSteady()).toBe(false)
      pass(250)
      expect(steadiness.isSteady()).toBe(true)
    },
  )

  it('is not steady while an answer is missing', () => {
    pass(11_000)
    clock += 2_000
    expect(steadiness.isSteady()).toBe(true)
    clock += 1
    expect(steadiness.isSteady()).toBe(false)
  })

  it('is not steady for 10 s after a lost connection', () => {
    pass(11_000)
    steadiness.disconnected()
    pass(10_000)
    expect(steadiness.isSteady()).toBe(false)
    pass(250)
    expect(steadiness.isSteady()).toBe(true)
  })

  it('is not steady for 10 s after the clock of Postgres was set ahead', () => {
    pass(11_000)
    const isSteadyAt = (at: number) => steadiness.isSteady({ at, askedAt: clock })
    const start = 1e12 - clock
    expect(isSteadyAt(start + clock)).toBe(true)
    pass(60_000)
    // A little ahead is the drift of one of the clocks; set back, no lease expires early.
    for (const drift of [4_000, -60_000, -56_000]) {
      expect(isSteadyAt(start + clock + drift)).toBe(true)
      pass(500)
    }
    expect(isSteadyAt(start + clock - 20_000)).toBe(false)
    pass(10_000)
    expect(isSteadyAt(start + clock - 20_000)).toBe(false)
    pass(250)
    expect(isSteadyAt(start + clock - 20_000)).toBe(true)
  })

  it('does not take a slow answer for a step of the clock', () => {
    pass(11_000)
    const askedAt = clock
    // Read at once, and answered 6 s later; the next one is answered at once.
    pass(6_000)
    expect(steadiness.isSteady({ at: 1e12, askedAt })).toBe(true)
    pass(500)
    expect(steadiness.isSteady({ at: 1e12 + 6_500, askedAt: clock })).toBe(true)
  })

  it.each([3_000, 12_000])(
    'becomes steady again after a minute on a server that answers after %i ms',
    (ms) => {
      pass(11_000)
      const slow = (answers: number) => {
        for (let n = 0; n < answers; n++) silence(ms)
      }
      slow(60_000 / ms)
      expect(steadiness.isSteady()).toBe(false)
      slow(2)
      expect(steadiness.isSteady()).toBe(true)
      silence(20_000)
      expect(steadiness.isSteady()).toBe(false)
    },
  )
})
