import type { VendorPool } from './vendor-pool.ts'

/** One send's use of the current connections. */
type Lease = {
  pool: VendorPool
  /** Later sends get new connections; sends in progress keep theirs. */
  retire(): void
  /** `performance.now()` when these connections were opened. */
  openedAt: number
  release(): void
}

export type Connections = { lease(): Lease; close(): Promise<void> }

/**
 * Connections that are replaced while other sends still use the old ones: some vendors bind a connection to the credential of its
 * first push, and some replies make it unusable.
 */
export function openConnections(open: () => VendorPool): Connections {
  type Entry = { pool: VendorPool; users: number; retired: boolean; openedAt: number }
  const entries = new Set<Entry>()
  let current: Entry | undefined

  const take = (): Entry => {
    if (current && !current.retired) return current
    current = { pool: open(), users: 0, retired: false, openedAt: performance.now() }
    entries.add(current)
    return current
  }
  const drop = (entry: Entry) => {
    entries.delete(entry)
    return entry.pool.close()
  }
  return {
    lease() {
      const entry = take()
      entry.users++
      return {
        pool: entry.pool,
        openedAt: entry.openedAt,
        retire() {
          entry.retired = true
        },
        release() {
          entry.users--
          if (entry.retired && entry.users === 0) void drop(entry)
        },
      }
    },
    async close() {
      await Promise.all([...entries].map(drop))
    },
  }
}
