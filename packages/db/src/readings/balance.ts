import { type Channel, publicName } from '@herald/domain'
import { pendingSql } from '../ledger/batch-rows.ts'
import { memberSql } from '../ledger/bundled-tasks.ts'
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
 * the status of open batches and from the inbox. One statement, hence one snapshot. Returns the rows that violate it, and tasks in the state
 * 'bundled' whose bundle has no result for them.
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
), bundled AS (
  SELECT t.id AS task_id, m.channel, m.letter FROM task t ${memberSql('t', 'true')}
  WHERE t.state = 'bundled' AND ($1::bigint[] IS NULL OR t.id = ANY($1))
), counted AS (
  SELECT task_id, channel, target, sent, failed, moved, expired, cancelled FROM counter
  WHERE ($1::bigint[] IS NULL OR task_id = ANY($1)) AND task_id NOT IN (SELECT task_id FROM bundled)
)
SELECT task_id AS "taskId", channel, coalesce(target, 0) AS target, coalesce(sent, 0) AS sent, coalesce(failed, 0) AS failed,
  coalesce(moved, 0) AS moved, coalesce(expired, 0) AS expired, coalesce(cancelled, 0) AS cancelled,
  coalesce(open, 0)::bigint AS pending
FROM counted FULL JOIN pending USING (task_id, channel)
WHERE coalesce(target, 0)
  <> coalesce(sent, 0) + coalesce(failed, 0) + coalesce(moved, 0) + coalesce(expired, 0) + coalesce(cancelled, 0) + coalesce(open, 0)
UNION ALL
SELECT task_id, coalesce(channel, 'native'), 1, 0, 0, 0, 0, 0, 0 FROM bundled WHERE letter IS NULL OR letter NOT IN ('.', 's')`

export type BalanceSize = { tasks: number; rows: number; targets: number; pending: number }

/** Returns how much `findImbalances` checks. */
export async function countBalanced(db: Database): Promise<BalanceSize> {
  const { rows } = await db.pool.query<BalanceSize>(
    `SELECT count(DISTINCT task_id) AS tasks, count(*) AS rows, coalesce(sum(target), 0)::bigint AS targets,
       coalesce(sum(pending), 0)::bigint AS pending FROM (
       SELECT task_id, target, target - sent - failed - moved - expired - cancelled AS pending FROM counter WHERE target > 0
       UNION ALL SELECT t.id, 1, CASE WHEN substr(b.status, m.n::int, 1) = '.' THEN 1 ELSE 0 END
       FROM bundle b CROSS JOIN LATERAL unnest(b.tasks) WITH ORDINALITY AS m (id, n) JOIN task t ON t.id = m.id AND t.state = 'bundled'
     ) counted`,
  )
  return rows[0]!
}
