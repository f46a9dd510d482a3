import { addChecksSql } from '../ledger/counter-rows.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, openDays, runWithin, searchWithin } from '../store/days.ts'
import { inTransaction, run } from '../store/statement.ts'
import { finishPlanning } from './planning.ts'

/** Checks per transaction, and open tasks per step of the walk. */
const MAX_CHECKED = 1000

const open = `state IN ('planning', 'sending')`
/** The same for tasks that are found by their ids: Postgres would search the index of open tasks, which has all that wait. */
const isOpen = `state NOT IN ('accepted', 'finished', 'cancelled', 'bundled')`
/** Nothing is left to plan or to send of the task `t`, nor waits in the inbox. */
const endedSql = `(t.state = 'sending' OR t.cancelling)
  AND NOT EXISTS (SELECT 1 FROM batch b WHERE b.task_id = t.id AND ${inDays('b.task_id')} AND b.state <> 'settled')
  AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.task_id = t.id AND ${inDays('i.task_id')}
    AND (i.sent_at IS NULL OR i.fallback_at IS NOT NULL))`

/**
 * Finishes tasks of which a check is enqueued and nothing is left. The check of a task that has something left is deleted too: what ends
 * it enqueues another. The tasks are locked by one statement and looked at by the next, which also sees what a planner committed before
 * the lock. The check of a task that is locked by somebody else is kept. Returns the number of checks that were deleted.
 */
export async function finishTasks(db: Database): Promise<number> {
  return inTransaction(db, async (runner) => {
    const checks = await run<[id: number, taskId: number]>(
      runner,
      'take-checks',
      `SELECT id, task_id FROM task_check ORDER BY id LIMIT ${MAX_CHECKED} FOR UPDATE SKIP LOCKED`,
      [],
    )
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
      `WITH finished AS (
         UPDATE task t SET state = CASE WHEN t.cancelling THEN 'cancelled' ELSE 'finished' END, finished_at = now()
         WHERE t.id = ANY($1::bigint[]) AND ${inDays('t.id')} AND t.${isOpen} AND ${endedSql} RETURNING t.id, t.planned_at
       ), slices AS (
         DELETE FROM slice WHERE task_id IN (SELECT id FROM finished WHERE planned_at IS NULL)
       )
       DELETE FROM task_check WHERE id = ANY($2::bigint[])`,
      [taskIds.filter((taskId) => !isKept.has(taskId)), looked.map(([id]) => id)],
    )
    return looked.length
  })
}

/**
 * One step of a walk over all open tasks, for what nothing enqueued a check of: tasks that a program of the release before settled, and
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
  const ids = tasks.map(([id]) => id)
  if (ids.length === 0) return
  await runWithin(
    db.pool,
    daysOf(ids),
    'check-open-tasks',
    addChecksSql(
      `SELECT t.id AS task_id FROM task t WHERE t.id = ANY($1::bigint[]) AND ${inDays('t.id')} AND t.${isOpen} AND ${endedSql}`,
    ),
    [ids],
  )
}
