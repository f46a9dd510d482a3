export type KeptReads<Key, Value> = {
  get(key: Key): Promise<Value>
  /** Returns whether `get` would not start a read: the value is kept, or is being read. */
  isKept(key: Key): boolean
  /** The next `get` reads again; a read in progress is not kept. */
  forget(key: Key): void
  /** Forgets the keys for which `isStale` returns true; reads them all. */
  forgetWhere(isStale: (key: Key) => boolean): void
  forgetAll(): void
}

export type KeepReadsOptions<Key, Value> = {
  read(key: Key): Promise<Value>
  /** Above this many keys the ones used longest ago are dropped. */
  maxKeys: number
  maxAgeMs: number
  /** Values that say that there is nothing: they are kept for `missMs` and do not displace others. */
  isMiss?(value: Value): boolean
  missMs?: number
  now?: () => number
}

type Entry<Value> = { value: Promise<Value>; until: number }

/**
 * Keeps what was read until it is forgotten, for values whose changes are reported. The size bounds it, not the age: with one key
 * more than `maxKeys` one is read again, not all. Concurrent callers of a key share one read; a read that fails is not kept.
 */
export function keepReads<Key, Value>(options: KeepReadsOptions<Key, Value>): KeptReads<Key, Value> {
  const { read, maxKeys, maxAgeMs, isMiss, missMs = 0, now = () => performance.now() } = options
  const found = new Map<Key, Entry<Value>>()
  const missing = new Map<Key, Entry<Value>>()

  function put(entries: Map<Key, Entry<Value>>, key: Key, entry: Entry<Value>): void {
    // Deleted first, so that the map is in the order of use.
    entries.delete(key)
    entries.set(key, entry)
    if (entries.size > maxKeys) entries.delete(entries.keys().next().value as Key)
  }

  function entryOf(key: Key): Entry<Value> | undefined {
    const entry = found.get(key) ?? missing.get(key)
    return entry && entry.until > now() ? entry : undefined
  }

  function forget(key: Key): void {
    found.delete(key)
    missing.delete(key)
  }

  return {
    get(key) {
      const kept = entryOf(key)
      if (kept) {
        if (found.has(key)) put(found, key, kept)
        return kept.value
      }
      forget(key)
      const began = now()
      const entry = { value: read(key), until: began + maxAgeMs }
      // Until the result is known it counts as a miss: calls with unknown keys must not displace values.
      put(missing, key, entry)
      entry.value.then(
        (value) => {
          if (missing.get(key) !== entry) return
          if (isMiss?.(value)) entry.until = began + missMs
          else {
            missing.delete(key)
            put(found, key, entry)
          }
        },
        () => {
          if (missing.get(key) === entry) missing.delete(key)
        },
      )
      return entry.value
    },
    isKept: (key) => entryOf(key) !== undefined,
    forget,
    forgetWhere(isStale) {
      for (const entries of [found, missing])
        for (const key of entries.keys()) if (isStale(key)) entries.delete(key)
    },
    forgetAll() {
      found.clear()
      missing.clear()
    },
  }
}
