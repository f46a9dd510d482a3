import type { Database } from '../store/database.ts'
import { type Lead, leadOf } from '../store/lead.ts'
import { databaseTime, dropPartitions, ensurePartitions, partitionDays } from '../store/partitions.ts'

export type RetentionReport = { droppedDays: number; rows: number }

const DAY_MS = 86_400_000
const CHUNK = 10_000
/** Longer than any of its statements may take. */
const LEAD_SECONDS = 300

/**
 * Deletes old data: days whose tasks all ended more than `days` ago with their partitions, and old rows of smaller tables. One
 * process at a time; others return at once. Times are compared by the clock of Postgres: a process whose clock is ahead would
 * delete what is to be kept.
 */
export async function applyRetention(db: Database, days: number, at?: number): Promise<RetentionReport> {
  const lead = leadOf(db, 'retention')
  if (!(await lead.take(LEAD_SECONDS))) return { droppedDays: 0, rows: 0 }
  try {
    const now = at ?? (await databaseTime(db))
    await ensurePartitions(db, now)
    const droppedDays = await dropEndedDays(db, lead, now - days * DAY_MS)
    return { droppedDays, rows: await deleteAged(db, days, now) }
  } finally {
    // If it cannot be released, it ends by itself.
    await lead.release().catch(() => {})
  }
}

async function dropEndedDays(db: Database, lead: Lead, before: number): Promise<number> {
  let dropped = 0
  for (const { day, from, to } of await partitionDays(db)) {
    if (day + DAY_MS > before || !(await lead.take(LEAD_SECONDS))) break
    // A task of that day may have started later, or still wait for its last device.
    const alive = await db.pool.query(
      `SELECT 1 FROM task WHERE id >= $1 AND id < $2
         AND (finished_at IS NULL OR finished_at > to_timestamp($3)) LIMIT 1`,
      [from, to, before / 1000],
    )
    if (alive.rowCount) continue
    for (const table of ['counter', 'failure', 'task_memory', 'slice', 'task'] as const)
      await deleteInChunks(db, lead, table, from, to)
    // Last, because days are found by their partitions: if a delete fails, the next run continues with this day.
    await dropPartitions(db, day)
    dropped++
  }
  return dropped
}

/** One statement for the millions of rows of a busy day would exceed the time limit. */
async function deleteInChunks(
  db: Database,
  lead: Lead,
  table: 'counter' | 'failure' | 'task_memory' | 'slice' | 'task',
  from: number,
  to: number,
): Promise<void> {
  const column = table === 'task' ? 'id' : 'task_id'
  for (let left = true; left; ) {
    const { rowCount } = await db.pool.query(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM ${table} WHERE ${column} >= $1 AND ${column} < $2 LIMIT ${CHUNK}))`,
      [from, to],
    )
    // Not `rowCount < CHUNK`: a row that is changed at the same time is skipped.
    left = rowCount !== 0
    await lead.take(LEAD_SECONDS)
  }
}

async function deleteAged(db: Database, days: number, now: number): Promise<number> {
  const aged: [text: string, days: number][] = [
    ['DELETE FROM retired_token WHERE retired_at < $1', 30],
    ['DELETE FROM token_window WHERE minute < $1', 1],
    ['DELETE FROM certificate_hold WHERE until < $1', 1],
    ['DELETE FROM login_failure WHERE window_start < $1', 1],
    ['DELETE FROM daily_count WHERE day < $1', 2],
    ['DELETE FROM audit WHERE at < $1', Math.max(days, 365)],
  ]
  let rows = 0
  for (const [text, kept] of aged) {
    const { rowCount } = await db.pool.query(text, [new Date(now - kept * DAY_MS)])
    rows += rowCount ?? 0
  }
  return rows
}
