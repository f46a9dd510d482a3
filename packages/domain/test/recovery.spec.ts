import { describe, expect, it } from '@jest/globals'
import { breakerPause, probePause, recoveryPauses } from '../src/index.ts'

describe('pauses', () => {
  it('of probes of a closed certificate grow to 15 minutes', () => {
    expect([0, 1, 2, 3, 4, 100].map((probes) => probePause(recoveryPauses, probes))).toEqual([
      60, 120, 300, 900, 900, 900,
    ])
  })

  it('of probes while a breaker is open double from 5 s to a minute, a quarter of it jitter', () => {
    const pauses = (jitter: number) =>
      [0, 1, 2, 3, 4, 5000].map((failures) => breakerPause(recoveryPauses, failures, jitter))
    expect(pauses(1)).toEqual([5, 10, 20, 40, 60, 60])
    expect(pauses(0)).toEqual([3.75, 7.5, 15, 30, 45, 45])
  })
})
