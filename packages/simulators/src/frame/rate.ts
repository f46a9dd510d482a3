/** Counts requests or devices per name, in windows of the simulator's clock. */
export type RateMeter = {
  /** Counts `count` more and returns true if they fit into the window; otherwise counts none. */
  take(name: string, count: number): boolean
  /** The number counted in this window. */
  used(name: string): number
  add(name: string, count: number): void
  clear(): void
}

/** With `max` undefined or infinite `take` always returns true. `windowOf` returns the number of the window of a Unix ms. */
export function openRateMeter(
  max: number | undefined,
  now: () => number,
  windowOf: (nowMs: number) => number,
): RateMeter {
  const counts = new Map<string, number>()
  let window = Number.NaN
  const meter: RateMeter = {
    take(name, count) {
      if (max === undefined || max === Number.POSITIVE_INFINITY) return true
      const fits = meter.used(name) + count <= max
      if (fits) meter.add(name, count)
      return fits
    },
    used(name) {
      const current = windowOf(now())
      if (current !== window) {
        window = current
        counts.clear()
      }
      return counts.get(name) ?? 0
    },
    add: (name, count) => void counts.set(name, meter.used(name) + count),
    clear: () => counts.clear(),
  }
  return meter
}

export const bySecond = (nowMs: number) => Math.floor(nowMs / 1000)
export const byMinute = (nowMs: number) => Math.floor(nowMs / 60_000)
/** Asia/Shanghai has no daylight saving time, so a fixed offset is enough. */
export const byShanghaiDay = (nowMs: number) => Math.floor((nowMs + 8 * 3_600_000) / 86_400_000)
