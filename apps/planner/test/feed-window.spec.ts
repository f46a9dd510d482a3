import { describe, expect, it } from '@jest/globals'
import { certificateWindow, gatewayWindow, pauseAfter } from '../src/feed-window.ts'

describe('the window of a certificate', () => {
  const of = (busy: number) => certificateWindow(busy)

  it('is 20,000 recipients and 400 batches while few are busy', () => {
    expect(of(1)).toEqual({ recipients: 20_000, batches: 400 })
    expect(of(5)).toEqual({ recipients: 20_000, batches: 400 })
  })

  it('is a share of what may be in flight in all, at least one batch', () => {
    expect(of(1000)).toEqual({ recipients: 400, batches: 2 })
    expect(of(100_000)).toEqual({ recipients: 4, batches: 1 })
    for (const busy of [1, 7, 50, 999, 1999]) expect(of(busy).batches * busy).toBeLessThanOrEqual(2_000)
  })
})

it('a gateway serves only its own devices and shares recipients only', () => {
  expect(gatewayWindow(100)).toEqual({ recipients: 4_000, batches: 5_000 })
})

it('the feeder waits longer only while the window of a broadcast is nearly full', () => {
  expect(pauseAfter({ batches: 1, recipients: 1_000 })).toBe(50)
  expect(pauseAfter({ batches: 5, recipients: 5_000 })).toBe(50)
  // The window may be empty before the next round.
  expect(pauseAfter({ batches: 6, recipients: 6_000 })).toBe(25)
  expect(pauseAfter({ batches: 20, recipients: 20_000 })).toBe(25)
  // Pushes of others that wait for their turn.
  expect(pauseAfter({ batches: 1, recipients: 1 })).toBe(25)
  expect(pauseAfter({ batches: 10, recipients: 2_000 })).toBe(25)
})
