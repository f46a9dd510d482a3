import { type Channel, publicName } from '@herald/domain'
import { pendingSql } from '../ledger/batch-rows.ts'
import { memberSql } from '../ledger/bundled-tasks.ts'
import { dayWindows } from '../store/all-days.ts'
import type { Database } from '../store/database.ts'
import { byDays, type Days, daysOf, inDays, textWithin } from '../store/days.ts'
import { aboutTasks } from './about-tasks.ts'

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
 * the status of open batches and from the inbox. All rows of a task are read by one statement, hence from one snapshot. Returns the rows that
 * violate it, and tasks in the state 'bundled' whose bundle has no result for them.
 */
export async function findImbalances(db: Database, taskIds?: number[]): Promise<Imbalance[]> {
  const found: Imbalance[] = []
  const check = async (days: Days, ids?: number[]) => {
    const { text, values } = balanceOf(ids)
    const { rows } = await db.pool.query<Omit<Imbalance, 'channel'> & { channel: Channel }>(
      textWithin(days, text),
      values,
    )
    found.push(...rows.map((row) => ({ ...row, channel: publicName(row.channel) })))
  }
  if (taskIds) for (const ids of byDays(taskIds)) await check(daysOf(ids), ids)
  else for await (const days of dayWindows(db)) await check(days)
  return found
}

const balanceOf = aboutTasks(
  (isWanted) => `
WITH pending AS (
  SELECT task_id, channel, sum(open) AS open FROM (
    SELECT task_id, channel, ${pendingSql('status')} AS open FROM batch
    WHERE state <> 'settled' AND ${inDays('task_id')} AND ${isWanted('task_id')}
    UNION ALL
    SELECT task_id, 'native', 1 FROM inbox WHERE sent_at IS NULL AND ${inDays('task_id')} AND ${isWanted('task_id')}
  ) o GROUP BY 1, 2
), bundled AS (
  SELECT t.id AS task_id, m.channel, m.letter FROM task t ${memberSql('t')}
  WHERE t.state = 'bundled' AND ${inDays('t.id')} AND ${isWanted('t.id')}
), counted AS (
  SELECT c.task_id, c.channel, c.target, c.sent, c.failed, c.moved, c.expired, c.cancelled FROM counter c
  WHERE ${inDays('c.task_id')} AND ${isWanted('c.task_id')}
    AND NOT EXISTS (SELECT FROM bundled d WHERE d.task_id = c.task_id)
)
SELECT task_id AS "taskId", channel, coalesce(target, 0) AS target, coalesce(sent, 0) AS sent, coalesce(failed, 0) AS failed,
  coalesce(moved, 0) AS moved, coalesce(expired, 0) AS expired, coalesce(cancelled, 0) AS cancelled,
  coalesce(open, 0)::bigint AS pending
FROM counted FULL JOIN pending USING (task_id, channel)
WHERE coalesce(target, 0)
  <> coalesce(sent, 0) + coalesce(failed, 0) + coalesce(moved, 0) + coalesce(expired, 0) + coalesce(cancelled, 0) + coalesce(open, 0)
UNION ALL
SELECT task_id, coalesce(channel, 'native'), 1, 0, 0, 0, 0, 0, 0 FROM bundled WHERE letter IS NULL OR letter NOT IN ('.', 's')`,
)

export type BalanceSize = { tasks: number; rows: number; targets: number; pending: number }

/** Returns how much `findImbalances` checks. */
export async function countBalanced(db: Database): Promise<BalanceSize> {
  const size: BalanceSize = { tasks: 0, rows: 0, targets: 0, pending: 0 }
  for await (const days of dayWindows(db)) {
    const { rows } = await db.pool.query<BalanceSize>(textWithin(days, sizeSql))
    for (const name of ['tasks', 'rows', 'targets', 'pending'] as const) size[name] += rows[0]![name]
  }
  return size
}

const sizeSql = `SELECT count(DISTINCT task_id) AS tasks, count(*) AS rows, coalesce(sum(target), 0)::bigint AS targets,
    coalesce(sum(pending), 0)::bigint AS pending FROM (
    SELECT task_id, target, target - sent - failed - moved - expired - cancelled AS pending FROM counter
    WHERE target > 0 AND ${inDays('task_id')}
    UNION ALL SELECT t.id, 1, CASE WHEN substr(b.status, m.n::int, 1) = '.' THEN 1 ELSE 0 END
    FROM bundle b CROSS JOIN LATERAL unnest(b.tasks) WITH ORDINALITY AS m (id, n)
    JOIN task t ON t.id = m.id AND t.state = 'bundled' AND ${inDays('t.id')} WHERE ${inDays('b.task_id')}
  ) counted`
