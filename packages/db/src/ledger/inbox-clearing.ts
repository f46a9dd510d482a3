import { ownReasons, type Reason } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { type Days, inDays, runWithin, searchWithin } from '../store/days.ts'
import { openDays } from '../store/open-days.ts'
import type { Runner } from '../store/statement.ts'
import { addChecksSql, addCountersSql, after } from './counter-rows.ts'
import { addFailuresSql, reasonLiteral } from './failure-rows.ts'
import { addRecordsSql } from './inbox-records.ts'
import { addEventsSql } from './outbox-rows.ts'
import { isTold, tellingTasksSql } from './task-events.ts'

/** Maximum number of messages stored for a device; older ones expire. */
export const inboxSize = 100

/** Number of messages removed from inboxes; the unsent ones were still pending. */
export type Cleared = { removed: number; unsent: number }
type ClearedRow = [removed: number, unsent: number]

/** Removes up to `max` expired messages. */
export async function expireInbox(db: Database, max: number): Promise<Cleared> {
  const [row] = await searchWithin<ClearedRow>(db, await openDays(db), 'expire-inbox', expireSql, [max])
  return { removed: row![0], unsent: row![1] }
}

/** Removes up to `max` messages of tasks that are being cancelled. */
export async function cancelInbox(db: Database, max: number): Promise<Cleared> {
  return clear(db.pool, await openDays(db), 'cancel-inbox', cancelSql, max)
}

/** Expires all but the newest `inboxSize` messages of these devices. */
export async function trimInboxes(db: Database, deviceIds: readonly number[]): Promise<Cleared> {
  return clear(db.pool, await openDays(db), 'trim-inbox', trimSql, deviceIds)
}

/**
 * Empties the inboxes of devices that were removed or get another owner. `days` are those of `openDays`, asked for before the transaction
 * begins: it takes a connection of the pool.
 */
export function clearInboxesOf(runner: Runner, days: Days, deviceIds: readonly number[]): Promise<Cleared> {
  return clear(runner, days, 'clear-inbox', disownSql, deviceIds)
}

/** Empties the inboxes of devices that are gone. */
export async function emptyInboxes(db: Database, deviceIds: readonly number[]): Promise<Cleared> {
  return clearInboxesOf(db.pool, await openDays(db), deviceIds)
}

async function clear(
  runner: Runner,
  days: Days,
  name: string,
  sql: string,
  value: unknown,
): Promise<Cleared> {
  const [row] = await runWithin<ClearedRow>(runner, days, name, sql, [value])
  return { removed: row![0], unsent: row![1] }
}

/**
 * Deletes the messages that `due` locks. One that was never written to a connection was pending, so it is counted under `fate`;
 * one that was written is already counted as sent. Both are kept in a record.
 */
function clearSql(due: string, fate: 'expired' | 'cancelled', reason: Reason): string {
  const why = reasonLiteral(reason)
  const letter = { expired: 'x', cancelled: 'c' }[fate]
  const events = `SELECT task_id, 'native' AS channel, 'device.expired' AS kind, (${why})[1] AS code, (${why})[2] AS text, device_id
    FROM gone WHERE sent_at IS NULL AND ${isTold}`
  return `WITH due AS MATERIALIZED (
  ${due}
), gone AS (
  DELETE FROM inbox i USING due WHERE i.task_id = due.task_id AND i.device_id = due.device_id AND ${inDays('i.task_id')}
  RETURNING i.task_id, i.device_id, i.sent_at, i.is_copy
), records AS (
  ${addRecordsSql(
    `SELECT task_id, device_id, CASE WHEN sent_at IS NULL THEN '${letter}' ELSE 's' END AS letter FROM gone WHERE NOT is_copy`,
    { fate, reason },
  )}
), failures AS (
  ${addFailuresSql(`
    SELECT task_id, 'native', '${fate}', (${why})[1], (${why})[2], count(*), (array_agg(device_id ORDER BY device_id))[1:10]
    FROM gone WHERE sent_at IS NULL GROUP BY task_id ORDER BY task_id`)}
), counted AS (
  ${addCountersSql(
    [fate],
    `SELECT task_id, 'native' AS channel, 1 AS ${fate} FROM gone WHERE sent_at IS NULL`,
    after('records', 'failures'),
  )}
  RETURNING 1
), checks AS (
  ${addChecksSql('SELECT task_id FROM gone')}
)${fate === 'expired' ? `, telling AS MATERIALIZED (${tellingTasksSql('gone')}), told AS (${addEventsSql(events, after('counted'))})` : ''}
SELECT count(*)::int, (count(*) FILTER (WHERE sent_at IS NULL))::int FROM gone`
}

const expireSql = clearSql(
  `SELECT task_id, device_id FROM inbox WHERE ${inDays('task_id')} AND expires_at <= now() ORDER BY expires_at LIMIT $1
  FOR UPDATE SKIP LOCKED`,
  'expired',
  ownReasons.expired_in_inbox,
)

const cancelSql = clearSql(
  `SELECT i.task_id, i.device_id FROM task t JOIN inbox i ON i.task_id = t.id
  WHERE ${inDays('t.id')} AND ${inDays('i.task_id')} AND t.cancelling AND t.state IN ('accepted', 'planning', 'sending') LIMIT $1 FOR UPDATE OF i SKIP LOCKED`,
  'cancelled',
  ownReasons.task_cancelled,
)

const trimSql = clearSql(
  `SELECT i.task_id, i.device_id FROM inbox i JOIN (
    SELECT task_id, device_id, row_number() OVER (PARTITION BY device_id ORDER BY task_id DESC) AS nth
    FROM inbox WHERE device_id = ANY($1::bigint[]) AND ${inDays('task_id')}
  ) p USING (task_id, device_id) WHERE ${inDays('i.task_id')} AND p.nth > ${inboxSize} ORDER BY 1, 2 FOR UPDATE OF i SKIP LOCKED`,
  'expired',
  ownReasons.inbox_full,
)

const disownSql = clearSql(
  `SELECT task_id, device_id FROM inbox WHERE device_id = ANY($1::bigint[]) AND ${inDays('task_id')}
  ORDER BY task_id, device_id FOR UPDATE`,
  'expired',
  ownReasons.inbox_cleared,
)

/**
 * Returns up to a thousand devices with ids above `afterId` that have more than `inboxSize` messages. Finding all of them reads
 * the whole inbox, so this is called rarely; a device that connects is trimmed at once.
 */
export async function overfullInboxes(db: Database, afterId: number): Promise<number[]> {
  const rows = await runWithin<[number]>(
    db.pool,
    await openDays(db),
    'overfull-inboxes',
    `SELECT device_id FROM inbox WHERE ${inDays('task_id')} AND device_id > $1 GROUP BY device_id HAVING count(*) > ${inboxSize}
     ORDER BY device_id LIMIT 1000`,
    [afterId],
  )
  return rows.map(([deviceId]) => deviceId)
}

/** Longer than a statement is repeated after the device was read. */
const LATE = `interval '10 minutes'`

/**
 * Returns up to a thousand devices that were erased a short time ago and have messages: a statement that had read the device before wrote
 * them afterwards.
 */
export async function inboxesOfErased(db: Database): Promise<number[]> {
  const rows = await runWithin<[number]>(
    db.pool,
    await openDays(db),
    'inboxes-of-erased',
    `SELECT DISTINCT i.device_id FROM erased_device e JOIN inbox i ON i.device_id = e.device_id
     WHERE e.erased_at > now() - ${LATE} AND ${inDays('i.task_id')} LIMIT 1000`,
    [],
  )
  return rows.map(([deviceId]) => deviceId)
}

/** Returns up to a thousand devices with ids above `afterId` that have messages but do not exist any more. Reads the whole inbox. */
export async function inboxesOfRemoved(db: Database, afterId: number): Promise<number[]> {
  const rows = await runWithin<[number]>(
    db.pool,
    await openDays(db),
    'inboxes-of-removed',
    `SELECT DISTINCT device_id FROM inbox i WHERE ${inDays('task_id')} AND device_id > $1
       AND NOT EXISTS (SELECT 1 FROM device d WHERE d.id = i.device_id) ORDER BY device_id LIMIT 1000`,
    [afterId],
  )
  return rows.map(([deviceId]) => deviceId)
}
