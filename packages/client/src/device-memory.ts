/** Where a device keeps what must outlive the program: the browser's localStorage fits. */
export type DeviceStorage = {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
}

export type DeviceMemory = {
  hasSeen(taskId: number): boolean
  see(taskId: number): void
  /** Tasks that came within the last `ms`, oldest first. */
  seenWithin(ms: number): number[]
  badge(): number
  setBadge(badge: number): void
}

/** More than an inbox holds: what comes again is among the latest. */
const MOST_SEEN = 500

/** Remembers which tasks were shown, so that a message that comes twice is shown once, and the badge. */
export function openMemory(pushToken: string, storage?: DeviceStorage): DeviceMemory {
  // The token itself is a secret; its end tells devices of one page apart.
  const key = `herald.${pushToken.slice(-8)}`
  const kept = read(storage?.getItem(key))
  /** Task ids by the time they came. */
  const seen = new Map(kept.seen)
  let { badge } = kept

  function keep(): void {
    try {
      storage?.setItem(key, JSON.stringify({ seen: [...seen], badge }))
    } catch {
      // A full or forbidden storage costs duplicates after a restart, nothing more.
    }
  }

  return {
    hasSeen: (taskId) => seen.has(taskId),
    see(taskId) {
      seen.set(taskId, Date.now())
      for (const oldest of seen.keys()) {
        if (seen.size <= MOST_SEEN) break
        seen.delete(oldest)
      }
      keep()
    },
    seenWithin(ms) {
      const since = Date.now() - ms
      return [...seen].filter(([, at]) => at >= since).map(([taskId]) => taskId)
    },
    badge: () => badge,
    setBadge(count) {
      badge = count
      keep()
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
