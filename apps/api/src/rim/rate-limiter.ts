/** A bucket for every key: `perSecond` go on and on, `burst` at once. Per process: a limit on abuse, not a quota. */
export type RateLimiter = {
  /** Takes one; answers the seconds to wait when there is none, otherwise 0. */
  take(key: string): number
}

/** Written here because the libraries for it count in fixed windows, which refuse a burst at a window's edge. */
export function createRateLimiter(options: {
  perSecond: number
  burst: number
  now?: () => number
}): RateLimiter {
  const { perSecond, burst, now = () => performance.now() } = options
  const buckets = new Map<string, { left: number; at: number }>()
  let sweepAt = now() + SWEEP_MS

  function sweep(time: number): void {
    sweepAt = time + SWEEP_MS
    for (const [key, bucket] of buckets) {
      if (bucket.left + ((time - bucket.at) / 1000) * perSecond >= burst) buckets.delete(key)
    }
  }

  return {
    take(key) {
      const time = now()
      if (time >= sweepAt) sweep(time)
      const bucket = buckets.get(key) ?? { left: burst, at: time }
      const left = Math.min(burst, bucket.left + ((time - bucket.at) / 1000) * perSecond)
      const granted = left >= 1
      buckets.set(key, { left: granted ? left - 1 : left, at: time })
      return granted ? 0 : Math.max(1, Math.ceil((1 - left) / perSecond))
    },
  }
}

const SWEEP_MS = 10_000
