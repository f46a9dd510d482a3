import { shanghaiDay } from './day.ts'

/** Counts what a simulated vendor lets through per name, in windows of the simulator's own clock. */
export type RateMeter = {
  /** Whether `count` more fit into the window; if so they are counted, else none is. */
  take(name: string, count: number): boolean
  /** Counted in this window so far. */
  used(name: string): number
  add(name: string, count: number): void
  clear(): void
}

/** `most` undefined or infinite: anything passes `take`. `windowOf` turns Unix ms into the number of its window. */
export function openRateMeter(
  most: number | undefined,
  now: () => number,
  windowOf: (nowMs: number) => number,
): RateMeter {
  const counts = new Map<string, number>()
  let window = Number.NaN
  const meter: RateMeter = {
    take(name, count) {
      if (most === undefined || most === Number.POSITIVE_INFINITY) return true
      const fits = meter.used(name) + count <= most
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
export const byShanghaiDay = shanghaiDay
