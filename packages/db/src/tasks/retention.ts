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
    // First, because dropping a day fails while a reader has it open.
    const rows = await deleteAged(db, lead, days, now)
    return { droppedDays: await dropEndedDays(db, lead, now - days * DAY_MS), rows }
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
    for (const table of ['counter', 'failure', 'task_memory', 'slice', 'task']) {
      const column = table === 'task' ? 'id' : 'task_id'
      await deleteInChunks(db, lead, table, `${column} >= $1 AND ${column} < $2`, [from, to])
    }
    // Last, because days are found by their partitions: if a delete fails, the next run continues with this day.
    await dropPartitions(db, day)
    dropped++
  }
  return dropped
}

/** Tables that one statement per table could not clear within the time limit of a statement. */
async function deleteInChunks(
  db: Database,
  lead: Lead,
  table: string,
  condition: string,
  values: unknown[],
): Promise<number> {
  for (let deleted = 0; ; ) {
    const { rowCount } = await db.pool.query(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${CHUNK}))`,
      values,
    )
    // Not `rowCount < CHUNK`: a row that is changed at the same time is skipped.
    if (!rowCount) return deleted
    deleted += rowCount
    await lead.take(LEAD_SECONDS)
  }
}

async function deleteAged(db: Database, lead: Lead, days: number, now: number): Promise<number> {
  const aged: [table: string, column: string, days: number][] = [
    ['retired_token', 'retired_at', 30],
    ['token_window', 'minute', 1],
    ['certificate_hold', 'until', 1],
    ['login_failure', 'window_start', 1],
    ['daily_count', 'day', 2],
    ['audit', 'at', Math.max(days, 365)],
  ]
  let rows = 0
  for (const [table, column, kept] of aged)
    rows += await deleteInChunks(db, lead, table, `${column} < $1`, [new Date(now - kept * DAY_MS)])
  return rows
}
