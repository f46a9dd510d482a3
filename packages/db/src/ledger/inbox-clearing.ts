import type { Database } from '../store/database.ts'
import { type Runner, run } from '../store/statement.ts'
import { addUpFailuresSql } from './failure-rows.ts'

/** Maximum number of messages kept for a device; older ones expire. */
export const inboxSize = 100

/** Messages that left the inbox; the unsent ones were still pending. */
export type Cleared = { removed: number; unsent: number }

/** Removes up to `most` messages whose time is over. */
export function expireInbox(db: Database, most: number): Promise<Cleared> {
  return clear(db.pool, 'expire-inbox', expireSql, most)
}

/** Removes up to `most` messages of tasks that are being cancelled. */
export function cancelInbox(db: Database, most: number): Promise<Cleared> {
  return clear(db.pool, 'cancel-inbox', cancelSql, most)
}

/** Expires what the newest hundred push out of the inboxes of these devices. */
export function trimInboxes(db: Database, deviceIds: readonly number[]): Promise<Cleared> {
  return clear(db.pool, 'trim-inbox', trimSql, deviceIds)
}

/** Empties the inboxes of devices whose owner is gone. */
export function clearInboxesOf(runner: Runner, deviceIds: readonly number[]): Promise<Cleared> {
  return clear(runner, 'clear-inbox', disownSql, deviceIds)
}

async function clear(runner: Runner, name: string, sql: string, value: unknown): Promise<Cleared> {
  const [row] = await run<[removed: number, unsent: number]>(runner, name, sql, [value])
  return { removed: row![0], unsent: row![1] }
}

/**
 * A copy that was never written to a connection was pending and gets a fate; one that was is sent and stays so. `due` locks
 * its rows; failures and counters come last and sorted, like in every settle.
 */
function clearSql(due: string, fate: 'expired' | 'cancelled', reason: string): string {
  return `WITH due AS MATERIALIZED (
  ${due}
), gone AS (
  DELETE FROM inbox i USING due WHERE i.task_id = due.task_id AND i.device_id = due.device_id
  RETURNING i.task_id, i.device_id, i.sent_at
), why AS (
  INSERT INTO failure AS f (task_id, channel, fate, reason, count, samples)
  SELECT task_id, 'native', '${fate}', '${reason}', count(*), (array_agg(device_id ORDER BY device_id))[1:10]
  FROM gone WHERE sent_at IS NULL GROUP BY task_id ORDER BY task_id
  ${addUpFailuresSql}
  RETURNING 1
), counted AS (
  INSERT INTO counter AS c (task_id, channel, ${fate})
  SELECT task_id, 'native', count(*) FROM gone WHERE sent_at IS NULL AND (SELECT count(*) FROM why) >= 0
  GROUP BY task_id ORDER BY task_id
  ON CONFLICT (task_id, channel) DO UPDATE SET ${fate} = c.${fate} + excluded.${fate}
)
SELECT count(*)::int, (count(*) FILTER (WHERE sent_at IS NULL))::int FROM gone`
}

const expireSql = clearSql(
  'SELECT task_id, device_id FROM inbox WHERE expires_at <= now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED',
  'expired',
  'its time ran out while it waited for the device to connect',
)

const cancelSql = clearSql(
  `SELECT i.task_id, i.device_id FROM task t JOIN inbox i ON i.task_id = t.id
  WHERE t.cancelling AND t.state IN ('accepted', 'planning', 'sending') LIMIT $1 FOR UPDATE OF i SKIP LOCKED`,
  'cancelled',
  'its task was cancelled',
)

const trimSql = clearSql(
  `SELECT i.task_id, i.device_id FROM inbox i JOIN (
    SELECT task_id, device_id, row_number() OVER (PARTITION BY device_id ORDER BY task_id DESC) AS place
    FROM inbox WHERE device_id = ANY($1::bigint[])
  ) p USING (task_id, device_id) WHERE p.place > ${inboxSize} ORDER BY 1, 2 FOR UPDATE OF i SKIP LOCKED`,
  'expired',
  'newer messages took its place in the inbox',
)

const disownSql = clearSql(
  'SELECT task_id, device_id FROM inbox WHERE device_id = ANY($1::bigint[]) ORDER BY task_id, device_id FOR UPDATE',
  'expired',
  'the device was removed or belongs to another user now',
)

/**
 * Up to a thousand devices, the next ones after `after`, that stay away while more than their inbox holds is stored for them.
 * All of them together read the whole inbox, so they are asked for seldom; a device that comes is trimmed at once.
 */
export async function overfullInboxes(db: Database, after: number): Promise<number[]> {
  const rows = await run<[number]>(
    db.pool,
    'overfull-inboxes',
    `SELECT device_id FROM inbox WHERE device_id > $1 GROUP BY device_id HAVING count(*) > ${inboxSize}
     ORDER BY device_id LIMIT 1000`,
    [after],
  )
  return rows.map(([deviceId]) => deviceId)
}
