import {
  type Lane,
  type Message,
  type MessageClass,
  type Plan,
  type SequenceWord,
  type Strategy,
  targetsOf,
} from '@herald/domain'
import {
  batchRecord,
  batchRow,
  deliveryWindowSql,
  idList,
  insertBatchesSql,
  waitingStateSql,
} from '../ledger/batch-rows.ts'
import { addCountersSql } from '../ledger/counter-rows.ts'
import type { Database } from '../store/database.ts'
import { isTransient } from '../store/errors.ts'
import { fields, inTransaction, type Runner, run } from '../store/statement.ts'
import { decodeAudience } from './accept.ts'
import { type AudienceScope, deviceIdBounds } from './audience.ts'

/** What planning and sending need of a task. Only the lane may change after the accept. */
export type PlannedTask = AudienceScope & {
  taskId: number
  strategy: Strategy
  sequence: SequenceWord[]
  message: Message
  messageClass?: MessageClass
  lane: Lane
  speed?: number
  ttl: number
  /** When it was accepted, or its start if that is later; Unix ms by the database's clock. */
  beginAt: number
}

const taskColumns: Record<keyof PlannedTask, string> = {
  taskId: 't.id',
  appId: 't.app_id',
  groupId: 't.group_id',
  audience: 't.audience',
  strategy: 't.strategy',
  sequence: 't.sequence',
  message: 't.message',
  messageClass: 't.message_class',
  lane: 't.lane',
  speed: 't.speed',
  ttl: 't.ttl',
  beginAt: '(extract(epoch FROM t.begin_at) * 1000)::float8',
}
const taskFields = fields<PlannedTask>(taskColumns)

function plannedTask(row: unknown[]): PlannedTask {
  const { audience, groupId, messageClass, speed, ...task } = taskFields.read(row)
  return {
    ...task,
    audience: decodeAudience(audience),
    groupId: groupId ?? undefined,
    messageClass: messageClass ?? undefined,
    speed: speed ?? undefined,
  }
}

export async function tasksById(runner: Runner, ids: number[]): Promise<PlannedTask[]> {
  const rows = await run(
    runner,
    'tasks-by-id',
    `SELECT ${taskFields.sql} FROM task t WHERE t.id = ANY($1::bigint[])`,
    [ids],
  )
  return rows.map(plannedTask)
}

/** A broadcast is planned in this many slices, so at most this many planners work on it at once. */
const SLICES = 8
/** Ids per page of a slice. Each page starts new batches on every channel, so narrow pages make up to twice as many batches. */
const FIRST_WIDTH = 16_000
const MAX_WIDTH = 4_194_304

/** One task could not be planned; the caller skips it for a while. */
export class PlanningFailed extends Error {
  readonly taskId: number
  constructor(taskId: number, cause: unknown) {
    super(`task ${taskId} could not be planned: ${(cause as Error)?.message}`, { cause })
    this.taskId = taskId
  }
}

/** Errors caused by a task's own data become PlanningFailed; transient errors of Postgres are not the task's fault. */
async function asPlanningFailure<T>(taskId: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isTransient(error) ? error : new PlanningFailed(taskId, error)
  }
}

/** A task whose planning has started; with a plan it has also ended. */
export type BegunTask = { taskId: number; plan?: Plan }

/**
 * Locks one due task that is not in `except`, and lets `decide` plan it. A plan (small audience) is committed together with the
 * task's new state; undefined (large audience) divides the application's devices into slices. A crash leaves the task as it was.
 * Returns undefined when no task is due.
 */
export async function beginDueTask(
  db: Database,
  except: readonly number[],
  decide: (task: PlannedTask) => Promise<Plan | undefined>,
): Promise<BegunTask | undefined> {
  return inTransaction(db, async (runner) => {
    const [row] = await run(
      runner,
      'due-task',
      `SELECT ${taskFields.sql} FROM task t
       WHERE t.state = 'accepted' AND t.begin_at <= now() AND NOT t.cancelling AND t.id <> ALL($1::bigint[])
       ORDER BY t.begin_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
      [except],
    )
    if (!row) return undefined
    const task = plannedTask(row)
    const { taskId } = task
    const plan = await asPlanningFailure(taskId, () => decide(task))
    const lane = `CASE WHEN lane_fixed THEN lane ELSE $2 END`
    const deadline = `LEAST(now() + ${deliveryWindowSql}, show_end)`
    if (plan) {
      await run(
        runner,
        'begin-small',
        `UPDATE task SET state = 'sending', lane = ${lane}, deadline = ${deadline}, planned_at = now(), speed_at = now()
         WHERE id = $1`,
        [taskId, 'high'],
      )
      await insertPlan(runner, taskId, plan)
      return { taskId, plan }
    }
    await run(
      runner,
      'begin-large',
      `UPDATE task SET state = 'planning', lane = ${lane}, deadline = ${deadline}, speed_at = now() WHERE id = $1`,
      [taskId, 'normal'],
    )
    const { lo, hi } = await deviceIdBounds(runner, task.appId)
    const span = Math.max(1, Math.ceil((hi - lo) / SLICES))
    const starts = Array.from({ length: SLICES }, (_, i) => lo + i * span).filter((start) => start < hi)
    await run(
      runner,
      'slices',
      `INSERT INTO slice (task_id, no, hi, cursor, width)
       SELECT $1, s.no, LEAST(s.lo + $3, $4), s.lo, ${FIRST_WIDTH} FROM unnest($2::bigint[]) WITH ORDINALITY AS s (lo, no)`,
      [taskId, starts, span, hi],
    )
    return { taskId }
  })
}

export type SlicePage = { task: PlannedTask; lo: number; hi: number }

/** Without a plan the page had too many devices and was halved. */
export type PlannedPage = { plan?: Plan; last: boolean }

type Slice = { no: number; cursor: number; hi: number; width: number }
const sliceFields = fields<PlannedTask & Slice>({
  ...taskColumns,
  no: 's.no',
  cursor: 's.cursor',
  hi: 's.hi',
  width: 's.width',
})

/**
 * Locks one open slice of a task that is not in `except`, lets `decide` plan the devices of its next page, and commits batches,
 * targets and the cursor together. `decide` returns undefined if the page has too many devices; the page is then halved. Other
 * planners skip a locked slice. The slice is chosen at random, so that no broadcast waits for the end of another. Returns
 * undefined when no slice is open.
 */
export async function planPage(
  db: Database,
  except: readonly number[],
  decide: (page: SlicePage, runner: Runner) => Promise<{ plan: Plan; devices: number } | undefined>,
): Promise<PlannedPage | undefined> {
  return inTransaction(db, async (runner) => {
    const [row] = await run(
      runner,
      'open-slice',
      // The slice is chosen in a subquery; otherwise the messages of all tasks in planning would be sorted with it.
      `SELECT ${sliceFields.sql} FROM (
         SELECT s.* FROM slice s JOIN task t ON t.id = s.task_id
         WHERE s.cursor < s.hi AND t.state = 'planning' AND NOT t.cancelling AND t.id <> ALL($1::bigint[])
         ORDER BY t.lane, random() LIMIT 1 FOR UPDATE OF s SKIP LOCKED
       ) s JOIN task t ON t.id = s.task_id`,
      [except],
    )
    if (!row) return undefined
    const { no, cursor, hi, width } = sliceFields.read(row)
    const task = plannedTask(row)
    const end = Math.min(hi, cursor + width)
    const planned = await asPlanningFailure(task.taskId, () => decide({ task, lo: cursor, hi: end }, runner))
    if (!planned) {
      await run(
        runner,
        'narrow-slice',
        `UPDATE slice SET width = GREATEST(1, width / 2) WHERE task_id = $1 AND no = $2`,
        [task.taskId, no],
      )
      return { last: false }
    }
    const wider = planned.devices < 1000 ? Math.min(MAX_WIDTH, width * 2) : width
    await insertPlan(runner, task.taskId, planned.plan)
    await run(
      runner,
      'move-cursor',
      `UPDATE slice SET cursor = $3, width = $4 WHERE task_id = $1 AND no = $2`,
      [task.taskId, no, end, wider],
    )
    return { plan: planned.plan, last: end === hi }
  })
}

/**
 * Inserts the batches, inbox rows and targets of a plan. The key share lock prevents that the task is finished or cancelled before
 * the batches are visible; if it has ended already, nothing is inserted.
 */
async function insertPlan(runner: Runner, taskId: number, plan: Plan): Promise<void> {
  await run(
    runner,
    'insert-plan',
    `WITH t AS MATERIALIZED (SELECT * FROM task WHERE id = $1 AND state IN ('planning', 'sending') FOR KEY SHARE),
     batches AS (
       ${insertBatchesSql({
         from: `t, jsonb_to_recordset($2::jsonb) AS b (${batchRecord})`,
         task: 't',
         taskId: 't.id',
         state: waitingStateSql('t'),
       })}
     ), inboxes AS (
       INSERT INTO inbox (task_id, device_id, app_id, expires_at)
       SELECT t.id, d.id, t.app_id, t.deadline FROM t, unnest($3::bigint[]) AS d (id)
     ), unreachable AS (
       UPDATE task SET unreachable = unreachable + $5 WHERE id IN (SELECT id FROM t) AND $5 > 0
     )
     ${addCountersSql(
       ['target'],
       `SELECT t.id AS task_id, n.key AS channel, n.value::bigint AS target FROM t, jsonb_each_text($4::jsonb) n`,
     )}`,
    [
      taskId,
      JSON.stringify(plan.batches.map(batchRow)),
      idList(plan.inbox),
      JSON.stringify(Object.fromEntries(targetsOf(plan))),
      plan.unreachable,
    ],
  )
}

/** Moves tasks whose slices are all planned to `sending`, and deletes the slices of these and of cancelled tasks. */
export async function finishPlanning(db: Database): Promise<number> {
  const rows = await run(
    db.pool,
    'finish-planning',
    `WITH done AS (
       SELECT t.id FROM task t WHERE t.state = 'planning'
         AND NOT EXISTS (SELECT 1 FROM slice s WHERE s.task_id = t.id AND s.cursor < s.hi)
       FOR UPDATE SKIP LOCKED
     ), gone AS (DELETE FROM slice WHERE task_id IN (SELECT id FROM done)),
     ended AS (DELETE FROM slice s USING task t WHERE t.id = s.task_id AND t.state IN ('finished', 'cancelled'))
     UPDATE task SET state = 'sending', planned_at = now(), check_at = now() WHERE id IN (SELECT id FROM done) RETURNING id`,
    [],
  )
  return rows.length
}
