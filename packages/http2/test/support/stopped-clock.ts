import { jest } from '@jest/globals'

/** Stops performance.now() until the mocks are restored. Timers still run. */
export function stoppedClock() {
  let now = performance.now()
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
