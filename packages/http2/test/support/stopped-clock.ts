import { jest } from '@jest/globals'

/** Stops performance.now() until the mocks are restored. Timers still run. */
export function stoppedClock() {
  // A whole number: a sum of fractions is rounded, and 499 and 1 later might be less than 500 later.
  let now = Math.ceil(performance.now())
  const spy = jest.spyOn(performance, 'now').mockImplementation(() => now)
  return {
    advance(ms: number): void {
      now += ms
    },
    /** Waits until the clock has been read `times` times. */
    async read(times: number): Promise<void> {
      const end = spy.mock.calls.length + times
      while (spy.mock.calls.length < end) await new Promise((resolve) => setTimeout(resolve, 5))
    },
  }
}

/**
 * Lets performance.now() advance by at most a few milliseconds per turn of the event loop, until `stop`. Client and server are in this
 * process, so the limits of the client are reached only if the server had hundreds of turns, however long the process stood still.
 */
export function clockOfTurns(): { stop(): void } {
  const STEP_MS = 5
  const clock = stoppedClock()
  const timer = setInterval(() => clock.advance(STEP_MS), STEP_MS)
  return { stop: () => clearInterval(timer) }
}
