import type { VendorPool } from '../shared/vendor-pool.ts'

/** One send's use of the current connections. */
type Lease = {
  pool: VendorPool
  /** Later sends get new connections; sends in progress keep theirs. */
  retire(): void
  release(): void
}

type Connections = { lease(): Lease; close(): Promise<void> }

/**
 * APNs binds a connection to the token, key and team of its first push, and some replies make it unusable. So connections are
 * replaced while other sends still use the old ones.
 */
export function openConnections(open: () => VendorPool): Connections {
  type Entry = { pool: VendorPool; users: number; retired: boolean }
  const entries = new Set<Entry>()
  let current: Entry | undefined

  const take = (): Entry => {
    if (current && !current.retired) return current
    current = { pool: open(), users: 0, retired: false }
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
