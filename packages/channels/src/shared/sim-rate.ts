/** Counts what a simulated vendor lets through per name, in windows of the simulator's own clock. */
export type RateMeter = {
  /** Whether `count` more fit into the window; if so they are counted, else none is. */
  take(name: string, count: number): boolean
  clear(): void
}

/** `most` undefined or infinite: anything passes. `windowOf` turns Unix ms into the number of its window. */
export function openRateMeter(
  most: number | undefined,
  now: () => number,
  windowOf: (nowMs: number) => number,
): RateMeter {
  const counts = new Map<string, number>()
  let window = Number.NaN
  return {
    take(name, count) {
      if (most === undefined || most === Number.POSITIVE_INFINITY) return true
      const current = windowOf(now())
      if (current !== window) {
        window = current
        counts.clear()
      }
      const used = counts.get(name) ?? 0
      if (used + count > most) return false
      counts.set(name, used + count)
      return true
    },
    clear: () => counts.clear(),
  }
}

export const bySecond = (nowMs: number) => Math.floor(nowMs / 1000)
export const byMinute = (nowMs: number) => Math.floor(nowMs / 60_000)
export const byShanghaiDay = (nowMs: number) => Math.floor((nowMs + 8 * 3_600_000) / 86_400_000)
