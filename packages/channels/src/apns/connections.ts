import type { VendorPool } from '../shared/vendor-pool.ts'

/** The use of the current connections by one send. */
type Lease = {
  pool: VendorPool
  /** Sends that begin from now on get new connections; those under way keep theirs until they end. */
  spoil(): void
  release(): void
}

type Connections = { lease(): Lease; close(): Promise<void> }

/**
 * APNs binds a connection to the token, key and team of its first push, and some answers leave it useless. So connections
 * are replaced while other sends still run on the old ones.
 */
export function openConnections(open: () => VendorPool): Connections {
  type Held = { pool: VendorPool; users: number; spoilt: boolean }
  const held = new Set<Held>()
  let current: Held | undefined

  const take = (): Held => {
    if (current && !current.spoilt) return current
    current = { pool: open(), users: 0, spoilt: false }
    held.add(current)
    return current
  }
  const drop = (one: Held) => {
    held.delete(one)
    return one.pool.close()
  }
  return {
    lease() {
      const one = take()
      one.users++
      return {
        pool: one.pool,
        spoil() {
          one.spoilt = true
        },
        release() {
          one.users--
          if (one.spoilt && one.users === 0) void drop(one)
        },
      }
    },
    async close() {
      await Promise.all([...held].map(drop))
    },
  }
}
