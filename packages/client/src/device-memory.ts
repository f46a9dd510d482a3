/** Persistent storage of a device, for example the browser's localStorage. */
export type DeviceStorage = {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
}

export type DeviceMemory = {
  hasSeen(taskId: number): boolean
  see(taskId: number): void
  /** Tasks received within the last `ms`, oldest first. */
  seenWithin(ms: number): number[]
  badge(): number
  setBadge(badge: number): void
}

/** More than the capacity of an inbox, so a message that is delivered again is still known. */
const MAX_SEEN = 500

/** Stores the badge and which tasks were received, so that a message that is delivered twice is shown once. */
export function openMemory(pushToken: string, storage?: DeviceStorage): DeviceMemory {
  // The token is a secret; its last characters are enough to separate the devices of one page.
  const key = `herald.${pushToken.slice(-8)}`
  const stored = read(storage?.getItem(key))
  /** Task id to the time of its arrival. */
  const seen = new Map(stored.seen)
  let { badge } = stored

  function store(): void {
    try {
      storage?.setItem(key, JSON.stringify({ seen: [...seen], badge }))
    } catch {
      // If the storage is full or forbidden, messages may be shown twice after a restart.
    }
  }

  return {
    hasSeen: (taskId) => seen.has(taskId),
    see(taskId) {
      seen.set(taskId, Date.now())
      for (const oldest of seen.keys()) {
        if (seen.size <= MAX_SEEN) break
        seen.delete(oldest)
      }
      store()
    },
    seenWithin(ms) {
      const since = Date.now() - ms
      return [...seen].filter(([, at]) => at >= since).map(([taskId]) => taskId)
    },
    badge: () => badge,
    setBadge(count) {
      badge = count
      store()
    },
  }
}

function read(text: string | null | undefined): { seen: [number, number][]; badge: number } {
  try {
    const { seen, badge } = JSON.parse(text ?? '{}')
    return {
      seen: Array.isArray(seen) ? seen.filter(isPair) : [],
      badge: Number.isSafeInteger(badge) ? badge : 0,
    }
  } catch {
    return { seen: [], badge: 0 }
  }
}

function isPair(value: unknown): value is [number, number] {
  return Array.isArray(value) && value.length === 2 && value.every(Number.isSafeInteger)
}
