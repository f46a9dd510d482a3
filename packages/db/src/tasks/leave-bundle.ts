import { after } from '../ledger/counter-rows.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { retrying } from '../store/errors.ts'
import { batchDays } from '../store/open-days.ts'

/**
 * A bundle has only results that need no other row: everything but "accepted" makes a task leave its bundle. It then has a batch with
 * the id 0, a counter and the state 'sending', and all other code handles it like a task that was never in a bundle.
 */

/** The state of the batch that a task gets. `waiting` begins again; `sending` belongs to the claim of its bundle, as version 1. */
type LeavingAs = 'waiting' | 'sending'

/**
 * The columns of `leaving` for task `n` of the bundle `b`. `lost` is 1 if its lease has ended: its version is then above that of the claim,
 * which can no longer write.
 */
export function leavingColumns(as: LeavingAs, lost: 0 | 1 = 0, wait = '0'): string {
  const claimed = as === 'sending'
  return `b.task_id AS bundle, b.tasks[n] AS task_id, b.recipients[n] AS device_id, b.certificates[n] AS certificate_id,
    b.channel, b.lane, b.badges[n] AS badge, b.planned_at, '${claimed ? 'sending' : 'ready'}' AS state,
    ${claimed ? 1 : 2 * lost} AS version, ${claimed ? 1 : lost} AS attempts, ${lost} AS lost,
    ${claimed ? 'b.lease_until' : 'NULL::timestamptz'} AS lease_until, ${claimed ? 'b.worker' : 'NULL::text'} AS worker,
    now() + make_interval(secs => ${wait}) AS not_before`
}

// The locks are taken in the order of all statements: bundles (the step before), tasks, counters.
export const leaveSteps = `left_tasks AS (
  UPDATE task t SET state = 'sending' FROM leaving l
  WHERE t.id = l.task_id AND t.id = ANY(ARRAY(SELECT task_id FROM leaving)) AND ${inDays('t.id')} AND t.state = 'bundled'
  RETURNING t.id, t.app_id, t.deadline
), left_batches AS (
  INSERT INTO batch (task_id, id, app_id, channel, certificate_id, lane, state, version, attempts, lost, size, recipients, status, badges,
    deadline, planned_at, not_before, lease_until, worker)
  SELECT l.task_id, 0, t.app_id, l.channel, l.certificate_id, l.lane, l.state, l.version, l.attempts, l.lost, 1, ARRAY[l.device_id], '.',
    CASE WHEN l.badge IS NOT NULL THEN ARRAY[l.badge] END, t.deadline, l.planned_at, l.not_before, l.lease_until, l.worker
  FROM leaving l JOIN left_tasks t ON t.id = l.task_id
  RETURNING task_id
), left_counters AS (
  INSERT INTO counter AS c (task_id, channel, target, ranged)
  SELECT task_id, channel, 1, 1 FROM leaving WHERE ${after('left_batches')} ORDER BY 1, 2
  ON CONFLICT (task_id, channel) DO UPDATE SET target = c.target + 1, ranged = c.ranged + 1
  RETURNING task_id
)`

/** `status` with the letters of `wanted` at the places that are pending. */
export function mergedSql(status: string, wanted: string): string {
  return `(SELECT string_agg(CASE WHEN substr(${status}, n, 1) = '.' THEN substr(${wanted}, n, 1) ELSE substr(${status}, n, 1) END, '' ORDER BY n)
    FROM generate_series(1, length(${status})) n)`
}

/** Closes the bundles of the step `ended`, whose pending tasks have left. Their claim, if any, can no longer write. */
function endBundlesSql(ended: string, columns: string): string {
  return `WITH ${ended}, leaving AS MATERIALIZED (
  SELECT ${columns} FROM ended b CROSS JOIN LATERAL generate_series(1, b.size) n WHERE substr(b.status, n, 1) = '.'
), closed AS (
  UPDATE bundle b SET state = 'settled', status = replace(e.status, '.', 'm'), lease_until = NULL, worker = NULL, settled_at = now()
  FROM ended e WHERE b.task_id = e.task_id AND b.task_id = ANY(ARRAY(SELECT task_id FROM ended)) AND ${inDays('b.task_id')} RETURNING 1
), ${leaveSteps}
SELECT count(*)::int FROM left_counters`
}

const MAX_BUNDLES = 50

const lostSql = endBundlesSql(
  `ended AS MATERIALIZED (
  SELECT * FROM bundle b WHERE ${inDays('b.task_id')} AND b.state = 'sending' AND b.lease_until < $1::timestamptz
  ORDER BY b.lease_until LIMIT ${MAX_BUNDLES} FOR UPDATE SKIP LOCKED
)`,
  leavingColumns('waiting', 1),
)

/**
 * Ends bundles whose lease had expired at `time` (see `leaseTime`): their pending tasks get batches that wait, each alone in its job, because
 * one of them may be the reason.
 */
export async function endLostBundles(db: Database, time: string): Promise<number> {
  return end(db, 'end-lost-bundles', lostSql, [time])
}

const lateSql = endBundlesSql(
  `ended AS MATERIALIZED (
  SELECT * FROM bundle b WHERE ${inDays('b.task_id')} AND b.state = 'released' AND b.deadline <= now()
  LIMIT ${MAX_BUNDLES} FOR UPDATE SKIP LOCKED
)`,
  leavingColumns('waiting'),
)

/** Ends bundles that no worker took before the first deadline of their tasks. Those tasks then expire, and the others wait as batches. */
export async function endLateBundles(db: Database): Promise<number> {
  return end(db, 'end-late-bundles', lateSql, [])
}

async function end(db: Database, name: string, sql: string, values: unknown[]): Promise<number> {
  const [row] = await runWithin<[number]>(db.pool, await batchDays(db), name, sql, values)
  return row![0]
}

// A bundle whose last pending task has left is settled.
const changedSql = `changed AS (
  UPDATE bundle b SET status = s.status, state = CASE WHEN position('.' IN s.status) > 0 THEN b.state ELSE 'settled' END,
    settled_at = now()
  FROM (
    SELECT h.task_id, string_agg(CASE WHEN l.n IS NOT NULL THEN 'm' ELSE substr(h.status, g.i, 1) END, '' ORDER BY g.i) AS status
    FROM held h CROSS JOIN LATERAL generate_series(1, h.size) g (i) LEFT JOIN leaving l ON l.bundle = h.task_id AND l.n = g.i
    WHERE EXISTS (SELECT 1 FROM leaving l WHERE l.bundle = h.task_id) GROUP BY 1
  ) s WHERE b.task_id = s.task_id AND b.task_id = ANY(ARRAY(SELECT task_id FROM held)) AND ${inDays('b.task_id')} RETURNING 1
)`

const leaveReleasedSql = `WITH held AS MATERIALIZED (
  SELECT b.* FROM bundle b WHERE ${inDays('b.task_id')} AND b.task_id = ANY($1::bigint[]) AND b.state = 'released' ORDER BY b.task_id FOR UPDATE
), leaving AS MATERIALIZED (
  SELECT n, ${leavingColumns('waiting', 0, '$3')} FROM held b CROSS JOIN LATERAL generate_series(1, b.size) n
  WHERE substr(b.status, n, 1) = '.' AND b.certificates[n] = ANY($2::bigint[])
), ${changedSql}, ${leaveSteps}
SELECT count(*)::int FROM left_counters WHERE ${after('changed')}`

/** Lets the tasks of these certificates leave bundles that are not claimed, to be released again after `seconds`. */
export async function leaveReleased(
  db: Database,
  bundles: readonly number[],
  certificateIds: readonly (number | string)[],
  seconds: number,
): Promise<void> {
  await runWithin(db.pool, daysOf(bundles), 'leave-released', leaveReleasedSql, [
    bundles,
    certificateIds,
    seconds,
  ])
}

/**
 * Lets a task leave its bundle if it is pending, so that it can be changed. While it is being sent its batch belongs to the same claim, which
 * writes the result there. Returns whether it left.
 */
export async function leaveBundle(db: Database, taskId: number | bigint): Promise<boolean> {
  const [row] = await retrying(() =>
    runWithin<[number]>(db.pool, daysOf([taskId]), 'leave-bundle', leaveTaskSql, [String(taskId)]),
  )
  return row![0] > 0
}

const columnsOfState = (['waiting', 'sending'] as const).map(
  (as) =>
    `SELECT n, ${leavingColumns(as)} FROM found b WHERE b.state = '${as === 'sending' ? 'sending' : 'released'}'`,
)

const leaveTaskSql = `WITH held AS MATERIALIZED (
  SELECT b.* FROM bundle b WHERE b.task_id = (SELECT bundle FROM task WHERE id = $1 AND ${inDays('id')} AND state = 'bundled')
    AND ${inDays('b.task_id')} FOR UPDATE
), found AS MATERIALIZED (
  SELECT h.*, array_position(h.tasks, $1::bigint) AS n FROM held h
  WHERE substr(h.status, array_position(h.tasks, $1::bigint), 1) = '.'
), leaving AS MATERIALIZED (
  ${columnsOfState.join(' UNION ALL ')}
), ${changedSql}, ${leaveSteps}
SELECT count(*)::int FROM left_counters WHERE ${after('changed')}`
