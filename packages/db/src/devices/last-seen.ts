import { coalesce } from '@herald/async'
import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/** Whether `last_seen` of a device is old enough to be written again. */
export const isSeenLongAgoSql = (device: string) =>
  `(${device}.last_seen IS NULL OR ${device}.last_seen < now() - interval '1 hour')`

/** For statements that write the row anyway. */
export const seenNowSql = (device: string) =>
  `CASE WHEN ${isSeenLongAgoSql(device)} THEN now() ELSE ${device}.last_seen END`

/**
 * Records that these devices were heard of, at most once per hour and device. Rows that others have locked are left out: they will be
 * heard of again. Not flushed to disk, because nothing depends on it.
 */
export async function markSeen(db: Database, deviceIds: readonly number[]): Promise<void> {
  await run(
    db.pool,
    'mark-seen',
    `WITH due AS MATERIALIZED (
       SELECT d.id FROM device d WHERE d.id = ANY($1::bigint[]) AND ${isSeenLongAgoSql('d')} ORDER BY d.id FOR UPDATE SKIP LOCKED
     )
     UPDATE device d SET last_seen = now() FROM due WHERE d.id = due.id
     RETURNING set_config('synchronous_commit', 'off', true)`,
    [deviceIds],
  )
}

const WINDOW_MS = 1000
const MAX_DEVICES = 1000
/** While Postgres is away, further devices are forgotten. */
const MAX_GROUPS = 100

export type LastSeen = {
  /** Records it within seconds; does not wait. */
  seen(deviceId: number): void
  /** Forgets what waits: the devices will be heard of again. */
  close(): Promise<void>
}

/** Collects devices that were heard of and writes them together, apart from the calls that they made. */
export function createLastSeen(db: Database, onError: (error: unknown) => void): LastSeen {
  let closed = false
  const writes = coalesce<number>({
    windowMs: WINDOW_MS,
    maxItems: MAX_DEVICES,
    maxGroups: MAX_GROUPS,
    // An error is reported once for the group.
    write: async (deviceIds) => {
      if (!closed) await markSeen(db, deviceIds).catch(onError)
    },
  })
  return {
    seen: (deviceId) => void writes.add(deviceId).catch(() => {}),
    async close() {
      closed = true
      await writes.flushed()
    },
  }
}
