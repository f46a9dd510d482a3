/** One token bucket per key, in this process only: a limit on abuse, not a quota. */
export type TokenBuckets = {
  /** Takes `count` tokens (default 1) and returns 0, or takes none and returns the seconds to wait (at least 1) until there are as many. */
  take(key: string, count?: number): number
  /** Returns a token that was taken in advance. */
  giveBack(key: string): void
}

const SWEEP_MS = 10_000

/**
 * `burst` tokens at once, refilled with `perSecond`. Libraries for this count in fixed windows, which refuse a burst at a
 * window's edge. Full buckets are forgotten, so memory follows the keys that are active now.
 */
export function tokenBuckets(options: {
  perSecond: number
  burst: number
  now?: () => number
}): TokenBuckets {
  const { perSecond, burst, now = () => performance.now() } = options
  // A bucket is stored as the time at which it will be full again.
  const fullAt = new Map<string, number>()
  let sweepAt = now() + SWEEP_MS

  return {
    take(key, count = 1) {
      const time = now()
      if (time >= sweepAt) {
        sweepAt = time + SWEEP_MS
        for (const [old, full] of fullAt) if (full <= time) fullAt.delete(old)
      }
      const full = Math.max(fullAt.get(key) ?? time, time)
      const left = burst - ((full - time) * perSecond) / 1000
      if (left < count) return Math.max(1, Math.ceil((count - left) / perSecond))
      fullAt.set(key, full + (count * 1000) / perSecond)
      return 0
    },
    giveBack(key) {
      const full = (fullAt.get(key) ?? 0) - 1000 / perSecond
      if (full > now()) fullAt.set(key, full)
      else fullAt.delete(key)
    },
  }
}
