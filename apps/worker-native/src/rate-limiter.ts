/** Token buckets by key. A bucket that has filled up again is forgotten, so memory follows who is active now. */
export type RateLimiter = { allows(key: string): boolean }

const SWEEP_MS = 60_000

export function createRateLimiter(
  options: { burst: number; perSecond: number },
  now: () => number = () => performance.now(),
): RateLimiter {
  const { burst, perSecond } = options
  // The time at which the bucket would be full again says all there is to say about it.
  const fullAt = new Map<string, number>()
  let sweptAt = now()

  return {
    allows(key) {
      const at = now()
      if (at - sweptAt > SWEEP_MS) {
        sweptAt = at
        for (const [old, full] of fullAt) if (full <= at) fullAt.delete(old)
      }
      const full = Math.max(fullAt.get(key) ?? at, at) + 1000 / perSecond
      if (full - at > (burst * 1000) / perSecond) return false
      fullAt.set(key, full)
      return true
    },
  }
}
