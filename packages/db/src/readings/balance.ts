import { type Channel, publicName } from '@herald/domain'
import { pendingSql } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'

export type Imbalance = {
  taskId: number
  channel: string
  target: number
  sent: number
  failed: number
  moved: number
  expired: number
  cancelled: number
  pending: number
}

/**
 * Checks that target = sent + failed + moved + expired + cancelled + pending for every task and channel, with pending counted from
 * the status of open batches and from the inbox. One statement, hence one snapshot. Returns the rows that violate it.
 */
export async function findImbalances(db: Database, taskIds?: number[]): Promise<Imbalance[]> {
  const { rows } = await db.pool.query<Omit<Imbalance, 'channel'> & { channel: Channel }>(balanceSql, [
    taskIds ?? null,
  ])
  return rows.map((row) => ({ ...row, channel: publicName(row.channel) }))
}

export const balanceSql = `
WITH pending AS (
  SELECT task_id, channel, sum(open) AS open FROM (
    SELECT task_id, channel, ${pendingSql('status')} AS open FROM batch
    WHERE state <> 'settled' AND ($1::bigint[] IS NULL OR task_id = ANY($1))
    UNION ALL
    SELECT task_id, 'native', 1 FROM inbox WHERE sent_at IS NULL AND ($1::bigint[] IS NULL OR task_id = ANY($1))
  ) o GROUP BY 1, 2
), counted AS (
  SELECT * FROM counter WHERE $1::bigint[] IS NULL OR task_id = ANY($1)
)
SELECT task_id AS "taskId", channel, coalesce(target, 0) AS target, coalesce(sent, 0) AS sent, coalesce(failed, 0) AS failed,
  coalesce(moved, 0) AS moved, coalesce(expired, 0) AS expired, coalesce(cancelled, 0) AS cancelled,
  coalesce(open, 0)::bigint AS pending
FROM counted FULL JOIN pending USING (task_id, channel)
WHERE coalesce(target, 0)
  <> coalesce(sent, 0) + coalesce(failed, 0) + coalesce(moved, 0) + coalesce(expired, 0) + coalesce(cancelled, 0) + coalesce(open, 0)`

export type BalanceSize = { tasks: number; rows: number; targets: number; pending: number }

/** Returns how much `findImbalances` checks. */
export async function countBalanced(db: Database): Promise<BalanceSize> {
  const { rows } = await db.pool.query<BalanceSize>(
    `SELECT count(DISTINCT task_id) AS tasks, count(*) AS rows, coalesce(sum(target), 0)::bigint AS targets,
       coalesce(sum(target - sent - failed - moved - expired - cancelled), 0)::bigint AS pending FROM counter`,
  )
  return rows[0]!
}
