import type { Database } from '../store/database.ts'
import { takeLead } from '../store/leadership.ts'
import { dropPartitions, ensurePartitions, partitionDays } from '../store/partitions.ts'

export type RetentionReport = { droppedDays: number; rows: number }

const DAY_MS = 86_400_000
const CHUNK = 10_000

/**
 * Lets go of what grows: days whose tasks all ended over `days` ago lose their task rows and partitions; smaller tables lose
 * rows by age. One process at a time; others return at once.
 */
export async function applyRetention(db: Database, days: number, now = Date.now()): Promise<RetentionReport> {
  const lead = await takeLead(db, 'retention')
  if (!lead) return { droppedDays: 0, rows: 0 }
  try {
    await ensurePartitions(db, now)
    const droppedDays = await dropEndedDays(db, now - days * DAY_MS)
    return { droppedDays, rows: await deleteAged(db, days, now) }
  } finally {
    await lead.release()
  }
}

async function dropEndedDays(db: Database, before: number): Promise<number> {
  let dropped = 0
  for (const { day, from, to } of await partitionDays(db)) {
    if (day + DAY_MS > before) break
    // A task of that day may have been scheduled for later, or still wait for its last device.
    const alive = await db.pool.query(
      `SELECT 1 FROM task WHERE id >= $1 AND id < $2
         AND (finished_at IS NULL OR finished_at > to_timestamp($3)) LIMIT 1`,
      [from, to, before / 1000],
    )
    if (alive.rowCount) continue
    for (const table of ['counter', 'failure', 'task_memory', 'slice'])
      await deleteInChunks(db, table, 'task_id', from, to)
    await deleteInChunks(db, 'task', 'id', from, to)
    // Last: the day is found by its partitions, so that one whose rows could not all be deleted is taken up again.
    await dropPartitions(db, day)
    dropped++
  }
  return dropped
}

/** A busy day has millions: one statement for all of them would outlast the time limit of statements. */
async function deleteInChunks(
  db: Database,
  table: string,
  column: string,
  from: number,
  to: number,
): Promise<void> {
  for (let left = true; left; ) {
    const { rowCount } = await db.pool.query(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM ${table} WHERE ${column} >= $1 AND ${column} < $2 LIMIT ${CHUNK}))`,
      [from, to],
    )
    // Not by a full chunk: a row that changes meanwhile is passed over.
    left = rowCount !== 0
  }
}

async function deleteAged(db: Database, days: number, now: number): Promise<number> {
  const aged: [text: string, days: number][] = [
    ['DELETE FROM retired_token WHERE retired_at < $1', 30],
    ['DELETE FROM token_window WHERE minute < $1', 1],
    ['DELETE FROM login_failure WHERE window_start < $1', 1],
    ['DELETE FROM audit WHERE at < $1', Math.max(days, 365)],
  ]
  let rows = 0
  for (const [text, kept] of aged) {
    const { rowCount } = await db.pool.query(text, [new Date(now - kept * DAY_MS)])
    rows += rowCount ?? 0
  }
  return rows
}
