import { type Lane, ownReasons, type Plan } from '@herald/domain'
import {
  batchRecord,
  batchRow,
  deliveryWindowSql,
  idList,
  insertBatchesSql,
  insertCopiesSql,
  insertInboxSql,
  waitingStateSql,
} from '../ledger/batch-rows.ts'
import { addChecksSql, addCountersSql, after, targetRecord, targetRows } from '../ledger/counter-rows.ts'
import type { Database } from '../store/database.ts'
import { byDays, type Days, daysBetween, daysOf, inDays, runWithin, searchWithin } from '../store/days.ts'
import { isTransient } from '../store/errors.ts'
import { fields, run } from '../store/statement.ts'
import { applicationsInTurnSql } from './application-turns.ts'
import { type PlannedTask, PlanningFailed, plannedTask, taskColumns } from './planned-task.ts'

const MAX_WIDTH = 4_194_304
/** Pages with fewer devices get wider: each page starts new batches on every channel, and small batches cost as much as full ones. */
const WIDE_ENOUGH = 10_000
/**
 * Longer than a page takes, so that planners do not read the same page; a planner that died delays its slice by this time. If a
 * page takes longer, two planners read it and the cursor decides which of them commits it.
 */
const SLICE_LEASE_SECONDS = 15
/** The slice is drawn from this many broadcasts of an application, and searched in this many applications. */
const MAX_LOOKED_AT = 64

/** Which slice comes next: one of the first application after `after` that has an open slice in this lane. */
export type PageTurn = { lane: Lane; after: string; except: readonly number[] }

export type SlicePage = { task: PlannedTask; no: number; lo: number; hi: number }

/** Without a plan nothing was added: the page had too many devices and was halved, or another planner was first. */
export type PlannedPage = { taskId: number; appId: string; plan?: Plan; last: boolean }

type Slice = { no: number; cursor: number; hi: number; width: number; until: string }
const sliceFields = fields<PlannedTask & Slice>({
  ...taskColumns,
  no: 's.no',
  cursor: 's.cursor',
  hi: 's.hi',
  width: 's.width',
  until: 's.planning_until::text',
})

/**
 * Takes an open slice, lets `decide` plan the devices of its next page, and commits batches, targets and the cursor together.
 * `decide` returns undefined if the page has too many devices; the page is then halved. No lock is held in between: the commit
 * checks that the cursor is where it was. Returns undefined when no slice is open.
 */
export async function planPage(
  db: Database,
  turn: PageTurn,
  decide: (page: SlicePage) => Promise<{ plan: Plan; devices: number } | undefined>,
): Promise<PlannedPage | undefined> {
  const days = await daysOfSlices(db)
  if (!days) return undefined
  const [row] = await searchWithin(db, days, 'lease-slice', leaseSliceSql, [
    turn.lane,
    turn.after,
    turn.except,
  ])
  if (!row) return undefined
  const slice = sliceFields.read(row)
  const { taskId, appId, cursor, hi, width } = slice
  const end = Math.min(hi, cursor + width)
  try {
    const planned = await decide({ task: plannedTask(row), no: slice.no, lo: cursor, hi: end })
    if (!planned) {
      await narrow(db, slice)
      return { taskId, appId, last: false }
    }
    const wider = planned.devices < WIDE_ENOUGH ? Math.min(MAX_WIDTH, width * 2) : width
    const committed = await commitPage(db, slice, { cursor: end, width: wider }, planned.plan)
    return { taskId, appId, plan: committed ? planned.plan : undefined, last: committed && end === hi }
  } catch (error) {
    // Otherwise the slice would wait until the lease ends. If Postgres is not there either, it does.
    await giveBack(db, slice).catch(() => {})
    throw isTransient(error) ? error : new PlanningFailed(taskId, error)
  }
}

/** Tasks may wait in thirty days, but those with slices are mostly of the present one. */
async function daysOfSlices(db: Database): Promise<Days | undefined> {
  const sql = 'SELECT min(task_id), max(task_id) FROM slice'
  const [row] = await run<[first: number | null, last: number | null]>(db.pool, 'slices', sql, [])
  const [first, last] = row!
  return first === null || last === null ? undefined : daysBetween(first, last)
}

const inPlanning = `t.state = 'planning' AND t.lane = $1 AND NOT t.cancelling AND t.id <> ALL($3::bigint[])`

// apps: the next applications; all but the first are read only if planners have leases on all slices of those before. Each is one
// descent of the index task_turn, however many broadcasts it has. chosen: one of its oldest broadcasts at random, so that none waits
// for the end of another, and its first free slice. The lease is not flushed to disk: the page's commit alone must survive a crash.
const leaseSliceSql = `
WITH RECURSIVE ${applicationsInTurnSql('apps', inPlanning, MAX_LOOKED_AT)}, chosen AS MATERIALIZED (
  SELECT s.task_id, s.no FROM apps a
  CROSS JOIN LATERAL (
    SELECT o.id FROM (
      SELECT t.id FROM task t WHERE ${inDays('t.id')} AND ${inPlanning} AND t.app_id = a.app_id ORDER BY t.begin_at LIMIT ${MAX_LOOKED_AT}
    ) o ORDER BY random()
  ) b
  CROSS JOIN LATERAL (
    SELECT s.task_id, s.no FROM slice s
    WHERE s.task_id = b.id AND s.cursor < s.hi AND (s.planning_until IS NULL OR s.planning_until <= now())
    ORDER BY s.no LIMIT 1 FOR UPDATE SKIP LOCKED
  ) s
  LIMIT 1
)
UPDATE slice s SET planning_until = now() + interval '${SLICE_LEASE_SECONDS} seconds'
FROM chosen c JOIN task t ON t.id = c.task_id AND ${inDays('t.id')}
WHERE s.task_id = c.task_id AND s.no = c.no
RETURNING ${sliceFields.sql}, set_config('synchronous_commit', 'off', true)`

type LeasedSlice = PlannedTask & Slice

async function narrow(db: Database, { taskId, no, cursor, width }: LeasedSlice): Promise<void> {
  await run(
    db.pool,
    'narrow-slice',
    `UPDATE slice SET width = GREATEST(1, width / 2), planning_until = NULL
     WHERE task_id = $1 AND no = $2 AND cursor = $3 AND width = $4`,
    [taskId, no, cursor, width],
  )
}

async function giveBack(db: Database, { taskId, no, until }: LeasedSlice): Promise<void> {
  await run(
    db.pool,
    'give-back-slice',
    `UPDATE slice SET planning_until = NULL WHERE task_id = $1 AND no = $2 AND planning_until = $3::timestamptz`,
    [taskId, no, until],
  )
}

/**
 * Moves the cursor and inserts the batches, inbox rows and targets of its page, if the cursor is still where the page began. The
 * key share lock prevents that the task is finished or cancelled before the batches are visible; if it has ended already, nothing
 * is inserted. Returns whether the page was inserted.
 */
async function commitPage(
  db: Database,
  { taskId, no, cursor, until }: LeasedSlice,
  next: { cursor: number; width: number },
  plan: Plan,
): Promise<boolean> {
  const [row] = await runWithin<[boolean]>(db.pool, daysOf([taskId]), 'commit-page', commitPageSql, [
    taskId,
    no,
    cursor,
    next.cursor,
    next.width,
    JSON.stringify(plan.batches.map(batchRow)),
    idList(plan.inbox),
    JSON.stringify(targetRows(plan)),
    plan.unreachable,
    idList(plan.copies ?? []),
    until,
  ])
  return row![0]
}

/** When the slice was leased, which is just before its page was read. */
const plannedAt = `($11::timestamptz - interval '${SLICE_LEASE_SECONDS} seconds')`

const commitPageSql = `
WITH locked AS MATERIALIZED (
  SELECT * FROM task WHERE id = $1 AND ${inDays('id')} AND state IN ('planning', 'sending') FOR KEY SHARE
), moved AS MATERIALIZED (
  UPDATE slice SET cursor = $4, width = $5, planning_until = NULL
  WHERE task_id = (SELECT id FROM locked) AND no = $2 AND cursor = $3
  RETURNING task_id
), t AS MATERIALIZED (
  SELECT l.* FROM locked l JOIN moved m ON m.task_id = l.id
), batches AS (
  ${insertBatchesSql({
    from: `t, jsonb_to_recordset($6::jsonb) AS b (${batchRecord})`,
    task: 't',
    taskId: 't.id',
    state: waitingStateSql('t'),
    plannedAt,
  })}
  RETURNING 1
), inboxes AS (
  ${insertInboxSql('t', plannedAt, 't, unnest($7::bigint[]) AS d (id)')}
  RETURNING 1
), copies AS (
  ${insertCopiesSql('t', plannedAt, 't, unnest($10::bigint[]) AS d (id)')}
  RETURNING 1
), unreachable AS (
  UPDATE task SET unreachable = unreachable + $9 WHERE id IN (SELECT id FROM t) AND ${inDays('id')} AND $9 > 0
  RETURNING 1
), counted AS (
  ${addCountersSql(
    ['target', 'ranged', 'spread'],
    `SELECT t.id AS task_id, n.channel, n.target, n.target AS ranged, n.spread FROM t, jsonb_to_recordset($8::jsonb) AS n (${targetRecord})`,
    after('batches', 'inboxes', 'copies', 'unreachable'),
  )}
)
SELECT EXISTS (SELECT 1 FROM t)`

/**
 * Moves those of the tasks to `sending` whose slices are all planned. A planner calls it after the last page of a slice; if it dies in
 * between, `finishPlanned` does. Returns how many were moved.
 */
export async function finishPlanning(db: Database, taskIds: readonly number[]): Promise<number> {
  let moved = 0
  for (const ids of byDays(taskIds)) moved += await finishPlanningOf(db, ids)
  return moved
}

/** `taskIds` are of few days. */
async function finishPlanningOf(db: Database, taskIds: readonly number[]): Promise<number> {
  const rows = await runWithin(
    db.pool,
    daysOf(taskIds),
    'finish-planning',
    `WITH done AS MATERIALIZED (
       SELECT t.id FROM task t WHERE ${inDays('t.id')} AND t.id = ANY($1::bigint[]) AND t.state = 'planning'
         AND NOT EXISTS (SELECT 1 FROM slice s WHERE s.task_id = t.id AND s.cursor < s.hi)
       FOR UPDATE SKIP LOCKED
     ), gone AS (
       DELETE FROM slice WHERE task_id IN (SELECT id FROM done)
     ), planned AS (
       UPDATE task SET state = 'sending', planned_at = now() WHERE ${inDays('id')} AND id IN (SELECT id FROM done)
       RETURNING id AS task_id
     ), checks AS (
       ${addChecksSql('SELECT task_id FROM planned')}
     )
     SELECT task_id FROM planned`,
    [taskIds],
  )
  return rows.length
}

/** The same for all tasks that are being planned. It reads the slices of open broadcasts: eight of each. */
export async function finishPlanned(db: Database): Promise<void> {
  const rows = await run<[taskId: number]>(
    db.pool,
    'planned-tasks',
    'SELECT task_id FROM slice GROUP BY task_id HAVING bool_and(cursor >= hi) LIMIT 1000',
    [],
  )
  if (rows.length > 0)
    await finishPlanning(
      db,
      rows.map(([taskId]) => taskId),
    )
}

const unplanned = ownReasons.planning_failed

/**
 * Ends the planning of a task that cannot be planned, if its deadline has passed: without this it would be tried forever. What was
 * planned of it is kept. The reason is recorded for 0 devices of the native channel: how many there are is not known.
 */
export async function expireUnplanned(db: Database, taskId: number): Promise<boolean> {
  const deadline = `COALESCE(deadline, LEAST(begin_at + ${deliveryWindowSql}, show_end))`
  const rows = await runWithin(
    db.pool,
    daysOf([taskId]),
    'expire-unplanned',
    `WITH locked AS MATERIALIZED (
       SELECT id FROM task
       WHERE id = $1 AND ${inDays('id')} AND state IN ('accepted', 'planning') AND ${deadline} <= now() FOR UPDATE
     ), expired AS (
       UPDATE task SET state = 'sending', deadline = ${deadline}, planned_at = now()
       WHERE id = (SELECT id FROM locked) AND ${inDays('id')} RETURNING id
     ), gone AS (DELETE FROM slice WHERE task_id IN (SELECT id FROM expired)), failures AS (
       INSERT INTO failure (task_id, channel, fate, reason, text, count, samples)
       SELECT id, 'native', 'expired', $2, $3, 0, '{}' FROM expired ON CONFLICT DO NOTHING
     ), checks AS (
       ${addChecksSql('SELECT id AS task_id FROM expired')}
     )
     SELECT id FROM expired`,
    [taskId, unplanned.code, unplanned.text],
  )
  return rows.length > 0
}
