/** The open handles of queues, by name. */
export type QueueHandles<Handle> = {
  /** Opens the queue if it is not open. */
  get(name: string): Handle
  /** Like `get`; the handle stays open until `unpin` or `take`. */
  pin(name: string): Handle
  unpin(name: string): void
  /** Removes the handle and returns it, for the caller to close. */
  take(name: string): Handle | undefined
  /** Removes all handles. */
  takeAll(): Handle[]
}

/** Longer than any call takes. */
const IDLE_MS = 600_000

/**
 * Opens handles on demand and closes those that were not used for `idleMs`. Gateway nodes come and go, each with a queue of its
 * own: without a limit every process would keep a handle for each node that ever existed.
 */
export function createQueueHandles<Handle>(options: {
  open(name: string): Handle
  close(handle: Handle): void
  idleMs?: number
  now?: () => number
}): QueueHandles<Handle> {
  const { open, close, idleMs = IDLE_MS, now = () => performance.now() } = options
  const entries = new Map<string, { handle: Handle; usedAt: number; pins: number }>()

  function closeIdle(): void {
    for (const [name, { handle, usedAt, pins }] of entries) {
      if (pins > 0 || now() - usedAt < idleMs) continue
      entries.delete(name)
      close(handle)
    }
  }

  function entryOf(name: string) {
    let entry = entries.get(name)
    if (!entry) {
      closeIdle()
      entry = { handle: open(name), usedAt: 0, pins: 0 }
      entries.set(name, entry)
    }
    entry.usedAt = now()
    return entry
  }

  function take(name: string): Handle | undefined {
    const entry = entries.get(name)
    entries.delete(name)
    return entry?.handle
  }

  return {
    get: (name) => entryOf(name).handle,
    pin(name) {
      const entry = entryOf(name)
      entry.pins++
      return entry.handle
    },
    unpin(name) {
      const entry = entries.get(name)
      if (entry) entry.pins = Math.max(0, entry.pins - 1)
    },
    take,
    takeAll: () => [...entries.keys()].map((name) => take(name)!),
  }
}
