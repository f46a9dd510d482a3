import { addChecksSql } from '../ledger/counter-rows.ts'
import { addTaskEventsSql } from '../ledger/task-events.ts'
import type { Database } from '../store/database.ts'
import { byDays, daysOf, groupByDays, inDays, runWithin, searchWithin } from '../store/days.ts'
import { openDays } from '../store/open-days.ts'
import { inTransaction, type Runner, run } from '../store/statement.ts'
import { finishPlanning } from './planning.ts'

/** Checks per call, and open tasks per step of the walk. */
const MAX_CHECKED = 1000

type Check = [id: number, taskId: number]

const open = `state IN ('planning', 'sending')`
/** The same for tasks that are found by their ids: Postgres would search the index of open tasks, which has all that wait. */
const isOpen = `state NOT IN ('accepted', 'finished', 'cancelled', 'bundled')`
/** Nothing is left to plan of the task `t`, and every batch is settled. */
const decidedSql = `(t.state = 'sending' OR t.cancelling)
  AND NOT EXISTS (SELECT 1 FROM batch b WHERE b.task_id = t.id AND ${inDays('b.task_id')} AND b.state <> 'settled')`
/** No message of the task `t` waits in an inbox, neither for its device nor for its turn on another channel. */
const emptiedSql = `NOT EXISTS (SELECT 1 FROM inbox i WHERE i.task_id = t.id AND ${inDays('i.task_id')}
    AND (i.sent_at IS NULL OR i.fallback_at IS NOT NULL))`
/** The messages of the task `t` wait only for their devices, and it is not known yet. */
const beginsToWaitSql = `NOT t.cancelling AND t.finished_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.task_id = t.id AND ${inDays('i.task_id')} AND i.fallback_at IS NOT NULL)`
const changesSql = `${decidedSql} AND (${emptiedSql} OR ${beginsToWaitSql})`

/**
 * Finishes tasks of which a check is enqueued and nothing is left, or only messages that wait for their devices (`isWaitingSql`). Whether
 * the task ends now or only waits, `finished_at` is the time of the first of the two, and `task.finished` is emitted then; a task that is
 * cancelled while it waits is told as cancelled too. `ended_at` is when a task that waited has ended. The check of a task that has something left is deleted too: what ends
 * it enqueues another. The tasks are locked by one statement and looked at by the next, which also sees what a planner committed before
 * the lock. The check of a task that is locked by somebody else is kept. If the tasks are of many days, those of few at a time are one
 * transaction: its locks end together. Returns the number of checks that were deleted.
 */
export async function finishTasks(db: Database): Promise<number> {
  let deleted = 0
  let left: Check[][] = []
  do {
    const [next, ...others] = left
    const { looked, later } = await inTransaction(db, async (runner) => {
      const checks = await takeChecks(runner, next)
      const [some = [], ...later] = groupByDays(checks, ([, taskId]) => taskId)
      return { looked: await finishChecked(runner, some), later }
    })
    deleted += looked
    left = [...later, ...others]
  } while (left.length > 0)
  return deleted
}

/** The oldest checks that nobody else has taken, or those of `known`. */
function takeChecks(runner: Runner, known: readonly Check[] | undefined): Promise<Check[]> {
  const [name, condition] = known
    ? ['take-known-checks', 'WHERE id = ANY($1::bigint[])']
    : ['take-checks', '']
  return run<Check>(
    runner,
    name,
    `SELECT id, task_id FROM task_check ${condition} ORDER BY id LIMIT ${MAX_CHECKED} FOR UPDATE SKIP LOCKED`,
    known ? [known.map(([id]) => id)] : [],
  )
}

async function finishChecked(runner: Runner, checks: readonly Check[]): Promise<number> {
  if (checks.length === 0) return 0
  const taskIds = [...new Set(checks.map(([, taskId]) => taskId))]
  const days = daysOf(taskIds)
  const kept = await runWithin<[taskId: number]>(
    runner,
    days,
    'lock-checked',
    `WITH locked AS MATERIALIZED (
       SELECT id FROM task WHERE id = ANY($1::bigint[]) AND ${inDays('id')} AND ${isOpen} ORDER BY id FOR UPDATE SKIP LOCKED
     )
     SELECT t.id FROM task t WHERE t.id = ANY($1::bigint[]) AND ${inDays('t.id')} AND t.${isOpen} AND t.id NOT IN (SELECT id FROM locked)`,
    [taskIds],
  )
  const isKept = new Set(kept.map(([taskId]) => taskId))
  const looked = checks.filter(([, taskId]) => !isKept.has(taskId))
  await runWithin(
    runner,
    days,
    'finish-tasks',
    `WITH looked AS MATERIALIZED (
       SELECT t.id, t.finished_at IS NULL AS is_first, ${emptiedSql} AS emptied FROM task t
       WHERE t.id = ANY($1::bigint[]) AND ${inDays('t.id')} AND t.${isOpen} AND ${changesSql}
     ), changed AS (
       UPDATE task t SET state = CASE WHEN NOT l.emptied THEN t.state WHEN t.cancelling THEN 'cancelled' ELSE 'finished' END,
         finished_at = CASE WHEN t.cancelling THEN now() ELSE coalesce(t.finished_at, now()) END,
         ended_at = CASE WHEN NOT l.is_first THEN now() END
       FROM looked l WHERE t.id = l.id AND ${inDays('t.id')}
       RETURNING t.id, t.app_id, t.campaign, t.events, t.unreachable, t.cancelling, t.planned_at, l.is_first
     ), slices AS (
       DELETE FROM slice WHERE task_id IN (SELECT id FROM changed WHERE planned_at IS NULL)
     ), told AS (
       ${addTaskEventsSql('changed t', 't.is_first OR t.cancelling')}
     )
     DELETE FROM task_check WHERE id = ANY($2::bigint[])`,
    [taskIds.filter((taskId) => !isKept.has(taskId)), looked.map(([id]) => id)],
  )
  return looked.length
}

/**
 * One step of a walk over all open tasks, for what nothing enqueued a check of: tasks that a program of the previous release settled, and
 * those without slices whose planner died before the end of their planning. It only reads tasks that wait, and a limited number per
 * step. Returns where the next step begins; undefined at the end.
 */
export async function walkOpenTasks(db: Database, after: number): Promise<number | undefined> {
  const rows = await runWithin<[id: number, planning: boolean]>(
    db.pool,
    await openDays(db),
    'walk-open-tasks',
    `SELECT id, state = 'planning' FROM task WHERE ${inDays('id')} AND ${open} AND id > $1 ORDER BY id LIMIT ${MAX_CHECKED}`,
    [after],
  )
  await enqueueChecks(db, rows)
  return rows.length < MAX_CHECKED ? undefined : rows.at(-1)![0]
}

/**
 * The same for tasks that are open a minute after their deadline: everything of them has expired by then, so there are few, and none waits
 * for its turn in the walk, which takes hours if a million tasks are open.
 */
export async function checkLateTasks(db: Database): Promise<void> {
  const rows = await searchWithin<[id: number, planning: boolean]>(
    db,
    await openDays(db),
    'late-tasks',
    `SELECT id, state = 'planning' FROM task WHERE ${inDays('id')} AND ${open} AND deadline < now() - interval '1 minute'
     ORDER BY deadline LIMIT ${MAX_CHECKED}`,
    [],
  )
  await enqueueChecks(db, rows)
}

async function enqueueChecks(db: Database, tasks: [id: number, planning: boolean][]): Promise<void> {
  const planning = tasks.filter(([, isPlanning]) => isPlanning).map(([id]) => id)
  if (planning.length > 0) await finishPlanning(db, planning)
  for (const ids of byDays(tasks.map(([id]) => id)))
    await runWithin(
      db.pool,
      daysOf(ids),
      'check-open-tasks',
      addChecksSql(
        `SELECT t.id AS task_id FROM task t WHERE t.id = ANY($1::bigint[]) AND ${inDays('t.id')} AND t.${isOpen} AND ${changesSql}`,
      ),
      [ids],
    )
}
