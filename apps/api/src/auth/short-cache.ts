/** A read that may be so many ms old; many who ask at once cause one read. What is not there is asked for every time. */
export type ShortCache<Value> = {
  get(key: string): Promise<Value | undefined>
  forget(key: string): void
}

const MOST = 50_000

export function createShortCache<Value>(
  read: (key: string) => Promise<Value | undefined>,
  maxAgeMs: number,
): ShortCache<Value> {
  const entries = new Map<string, { value: Promise<Value | undefined>; until: number }>()
  return {
    get(key) {
      // Not by the wall clock: set back, it would keep a revoked token alive for as long.
      const now = performance.now()
      const entry = entries.get(key)
      if (entry && entry.until > now) return entry.value
      const fresh = { value: read(key), until: now + maxAgeMs }
      if (entries.size >= MOST) entries.clear()
      entries.set(key, fresh)
      const drop = () => {
        if (entries.get(key) === fresh) entries.delete(key)
      }
      fresh.value.then((value) => value === undefined && drop(), drop)
      return fresh.value
    },
    forget(key) {
      entries.delete(key)
    },
  }
}
