export type SharedReads<Key, Value> = {
  get(key: Key): Promise<Value>
  /** Returns whether `get` would not start a read: the value is cached, or is being read. */
  isFresh(key: Key): boolean
  /** The next `get` reads again. */
  forget(key: Key): void
}

export type ShareReadsOptions<Key, Value> = {
  /** `previous` is the value that was read last, if it is still in memory. */
  read(key: Key, previous?: Value): Promise<Value>
  /** How long a value is returned without reading again; a function gets the time that the read took. */
  maxAgeMs: number | ((tookMs: number) => number)
  /** Values that are not kept: the next `get` reads again. */
  isMiss?(value: Value): boolean
  /** Above this many keys the ones read longest ago are dropped (default 50,000). */
  maxKeys?: number
  now?: () => number
}

/**
 * Reads through a short cache. Concurrent callers of a key share one read; a read that fails is not kept. With a function as
 * `maxAgeMs` a value ages from the end of its read, otherwise from the start.
 */
export function shareReads<Key, Value>(options: ShareReadsOptions<Key, Value>): SharedReads<Key, Value> {
  const { read, maxAgeMs, isMiss = () => false, maxKeys = 50_000, now = () => performance.now() } = options
  const entries = new Map<Key, { value: Promise<Value>; known?: Value; until: number }>()

  return {
    get(key) {
      const began = now()
      const entry = entries.get(key)
      if (entry && entry.until > began) return entry.value
      const fresh: typeof entry = {
        value: read(key, entry?.known),
        until: typeof maxAgeMs === 'number' ? began + maxAgeMs : Number.POSITIVE_INFINITY,
      }
      const drop = () => {
        if (entries.get(key) === fresh) entries.delete(key)
      }
      fresh.value.then((value) => {
        if (isMiss(value)) return drop()
        fresh.known = value
        if (typeof maxAgeMs === 'function') fresh.until = now() + maxAgeMs(now() - began)
      }, drop)
      // Deleted first, so that the map stays in the order of the reads.
      entries.delete(key)
      entries.set(key, fresh)
      if (entries.size > maxKeys) entries.delete(entries.keys().next().value as Key)
      return fresh.value
    },
    isFresh: (key) => (entries.get(key)?.until ?? 0) > now(),
    forget: (key) => void entries.delete(key),
  }
}
