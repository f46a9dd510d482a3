import type { Database } from './database.ts'
import { inTransaction } from './statement.ts'

const DAY_MS = 86_400_000
const EPOCH_MS = 1_735_689_600_000
const IDS_PER_MS = 4096

/** Tables partitioned by task id, one partition per day. */
const partitioned = ['batch', 'receipt', 'inbox'] as const

/** Partitions exist this far ahead, so that inserts work after all processes were down for a week. */
const DAYS_AHEAD = 7

/** Lowest task id that can be drawn at or after this time. */
export function firstTaskIdAt(ms: number): number {
  return (ms - EPOCH_MS) * IDS_PER_MS
}

export function timeOfTaskId(id: number): number {
  return Math.floor(id / IDS_PER_MS) + EPOCH_MS
}

/** The clock of Postgres in Unix ms; task ids are drawn by it. */
export async function databaseTime(db: Database): Promise<number> {
  const { rows } = await db.pool.query<{ now: number }>(
    'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
  )
  return rows[0]!.now
}

function partitionName(table: string, dayMs: number): string {
  return `${table}_${new Date(dayMs).toISOString().slice(0, 10).replaceAll('-', '')}`
}

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS
}

/**
 * Creates missing partitions from yesterday to a week ahead. Every process calls it at start, and retention every hour. A
 * partition is created as a table and then attached, because `PARTITION OF` would block concurrent inserts.
 */
export async function ensurePartitions(db: Database, at?: number): Promise<void> {
  const now = at ?? (await databaseTime(db))
  const wanted: { table: string; day: number }[] = []
  for (const table of partitioned) {
    for (let day = dayOf(now) - DAY_MS; day <= dayOf(now) + DAYS_AHEAD * DAY_MS; day += DAY_MS)
      wanted.push({ table, day })
  }
  const names = wanted.map(({ table, day }) => partitionName(table, day))
  const present = await db.pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE c.relname = ANY($1) AND c.relnamespace = current_schema()::regnamespace`,
    [names],
  )
  const existing = new Set(present.rows.map((row) => row.name))
  const missing = wanted.filter((_, i) => !existing.has(names[i]!))
  if (missing.length === 0) return
  await inTransaction(db, async (runner) => {
    await runner.query(`SELECT pg_advisory_xact_lock(hashtext('herald partitions'))`)
    for (const { table, day } of missing) {
      const name = partitionName(table, day)
      const taken = await runner.query(
        `SELECT 1 FROM pg_class WHERE relname = $1 AND relnamespace = current_schema()::regnamespace`,
        [name],
      )
      if (taken.rowCount) continue
      await runner.query(`CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL)`)
      await runner.query(
        `ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM (${firstTaskIdAt(day)}) TO (${firstTaskIdAt(day + DAY_MS)})`,
      )
    }
  })
}

/** Days with partitions, oldest first; `from` (inclusive) and `to` (exclusive) are task ids. */
export async function partitionDays(db: Database): Promise<{ day: number; from: number; to: number }[]> {
  const found = await db.pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'batch'::regclass ORDER BY c.relname`,
  )
  return found.rows.map(({ name }) => {
    const stamp = name.slice('batch_'.length)
    const day = Date.parse(`${stamp.slice(0, 4)}-${stamp.slice(4, 6)}-${stamp.slice(6, 8)}T00:00:00Z`)
    return { day, from: firstTaskIdAt(day), to: firstTaskIdAt(day + DAY_MS) }
  })
}

/** Drops a day from every partitioned table. Fails after two seconds if a reader blocks it. */
export async function dropPartitions(db: Database, day: number): Promise<void> {
  await inTransaction(db, async (runner) => {
    await runner.query(`SET LOCAL lock_timeout = '2s'`)
    for (const table of partitioned) await runner.query(`DROP TABLE IF EXISTS ${partitionName(table, day)}`)
  })
}
