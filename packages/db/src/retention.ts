import type { Database } from './database.ts'
import { dropPartitions, ensurePartitions, partitionDays } from './partitions.ts'

export type RetentionReport = { droppedDays: number; rows: number }

const DAY_MS = 86_400_000

/**
 * Lets go of what grows: days whose tasks all ended over `days` ago lose their partitions and task rows at once; smaller
 * tables lose rows by age. One process at a time; others return at once.
 */
export async function applyRetention(db: Database, days: number, now = Date.now()): Promise<RetentionReport> {
  const client = await db.pool.connect()
  try {
    const lock = await client.query<{ locked: boolean }>(
      `SELECT pg_try_advisory_lock(hashtext('herald retention')) AS locked`,
    )
    if (!lock.rows[0]!.locked) return { droppedDays: 0, rows: 0 }
    try {
      await ensurePartitions(db, now)
      const report = { droppedDays: 0, rows: 0 }
      for (const { day, from, to } of await partitionDays(db)) {
        if (day + DAY_MS > now - days * DAY_MS) break
        // A task of that day may have been scheduled for later, or still wait for its last device.
        const alive = await db.pool.query(
          `SELECT 1 FROM task WHERE id >= $1 AND id < $2
             AND (finished_at IS NULL OR finished_at > to_timestamp($3)) LIMIT 1`,
          [from, to, (now - days * DAY_MS) / 1000],
        )
        if (alive.rowCount) continue
        await dropPartitions(db, day)
        for (const table of ['counter', 'failure', 'task_memory', 'slice']) {
          await db.pool.query(`DELETE FROM ${table} WHERE task_id >= $1 AND task_id < $2`, [from, to])
        }
        await db.pool.query('DELETE FROM task WHERE id >= $1 AND id < $2', [from, to])
        report.droppedDays++
      }
      const cutoff = new Date(now - days * DAY_MS)
      const aged: [string, Date][] = [
        [`DELETE FROM retired_token WHERE retired_at < $1`, new Date(now - 30 * DAY_MS)],
        [`DELETE FROM token_window WHERE minute < $1`, new Date(now - DAY_MS)],
        [`DELETE FROM login_failure WHERE window_start < $1`, new Date(now - DAY_MS)],
        [`DELETE FROM audit WHERE at < $1`, new Date(now - Math.max(days, 365) * DAY_MS)],
        [
          `DELETE FROM gateway_node WHERE lease_until < $1 AND NOT EXISTS (SELECT 1 FROM presence WHERE node = gateway_node.id)`,
          cutoff,
        ],
      ]
      for (const [text, before] of aged) report.rows += (await db.pool.query(text, [before])).rowCount ?? 0
      return report
    } finally {
      await client.query(`SELECT pg_advisory_unlock(hashtext('herald retention'))`)
    }
  } finally {
    client.release()
  }
}
