import type { Database } from '@herald/db/store'
import { type Metric, rounded } from './metric.ts'

/**
 * Begins to count the WAL that Postgres writes. It begins with a checkpoint, so that the figure includes an image of every page that
 * is changed, as the first change after each checkpoint writes it. The returned function ends the count.
 */
export async function countWal(db: Database): Promise<(items: number, note: string) => Promise<Metric>> {
  await db.pool.query('CREATE EXTENSION IF NOT EXISTS pg_walinspect')
  await db.pool.query('CHECKPOINT')
  const from = await position(db)
  return async (items, note) => {
    const to = await position(db)
    const { rows } = await db.pool.query<{ bytes: number; images: number; setting: string }>(
      `SELECT pg_wal_lsn_diff($2, $1)::float8 AS bytes, coalesce(sum(fpi_size), 0)::float8 AS images,
         current_setting('full_page_writes') AS setting FROM pg_get_wal_stats($1, $2)`,
      [from, to],
    )
    const { bytes, images, setting } = rows[0]!
    return {
      value: rounded(bytes / items),
      unit: 'bytes',
      note: `${note}; after a checkpoint, full_page_writes ${setting}: ${rounded(images / items)} of them are page images; of the whole server`,
    }
  }
}

/** Everything before it is on disk, so that it can be read. */
async function position({ pool }: Database): Promise<string> {
  const { rows } = await pool.query<{ lsn: string }>('SELECT pg_current_wal_flush_lsn() AS lsn')
  return rows[0]!.lsn
}
