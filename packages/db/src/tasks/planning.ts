import {
  type Lane,
  type Message,
  type MessageClass,
  type Plan,
  type SequenceWord,
  type Strategy,
  targetsOf,
} from '@herald/domain'
import { batchRecord, batchRow, handOverTime, idList } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'
import { isTransient } from '../store/errors.ts'
import { inTransaction, type Runner, run } from '../store/statement.ts'
import { decodeAudience } from './accept.ts'
import { type AudienceScope, deviceIdBounds } from './audience.ts'

/** What planning and sending need to know of a task; none of it changes after the accept but the lane. */
export type PlannedTask = AudienceScope & {
  taskId: number
  strategy: Strategy
  sequence: SequenceWord[]
  message: Message
  messageClass?: MessageClass
  lane: Lane
  speed?: number
  ttl: number
  /** When (Unix ms, by the database's clock) it was accepted, or was to begin if that is later. */
  beginAt: number
}

type TaskRow = [
  id: number,
  appId: string,
  groupId: number | null,
  audience: unknown,
  strategy: Strategy,
  sequence: SequenceWord[],
  message: Message,
  messageClass: MessageClass | null,
  lane: Lane,
  speed: number | null,
  ttl: number,
  beginAt: number,
]
const taskColumns = `t.id, t.app_id, t.group_id, t.audience, t.strategy, t.sequence, t.message, t.message_class, t.lane, t.speed,
  t.ttl, (extract(epoch FROM t.begin_at) * 1000)::float8`

function plannedTask(row: TaskRow): PlannedTask {
  const [
    taskId,
    appId,
    groupId,
    audience,
    strategy,
    sequence,
    message,
    messageClass,
    lane,
    speed,
    ttl,
    beginAt,
  ] = row
  return {
    taskId,
    appId,
    groupId: groupId ?? undefined,
    audience: decodeAudience(audience),
    strategy,
    sequence,
    message,
    messageClass: messageClass ?? undefined,
    lane,
    speed: speed ?? undefined,
    ttl,
    beginAt,
  }
}

export async function tasksById(runner: Runner, ids: number[]): Promise<PlannedTask[]> {
  const rows = await run<TaskRow>(
    runner,
    'tasks-by-id',
    `SELECT ${taskColumns} FROM task t WHERE t.id = ANY($1::bigint[])`,
    [ids],
  )
  return rows.map(plannedTask)
}

/** Slices of one broadcast: as many planners can work on it at once. */
const SLICES = 8
/** Each page ends every channel's last batch, however full: narrow pages over nine channels make twice the batches. */
const FIRST_WIDTH = 16_000
const MOST_WIDTH = 4_194_304

/** A task that could not be planned, so that the caller can leave it alone for a while. */
export class PlanningFailed extends Error {
  readonly taskId: number
  constructor(taskId: number, cause: unknown) {
    super(`task ${taskId} could not be planned: ${(cause as Error)?.message}`, { cause })
    this.taskId = taskId
  }
}

/** What went wrong with one task's own data must not be read as trouble of the planner, nor Postgres' as the task's. */
async function blaming<T>(taskId: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isTransient(error) ? error : new PlanningFailed(taskId, error)
  }
}

/** A task whose planning has begun; with a plan, it is done with it. */
export type Begun = { taskId: number; plan?: Plan }

/**
 * Takes one task whose time has come, none of `but`, and lets `decide` plan it: a plan (small audience) is committed with the
 * beginning, undefined cuts the application's devices into slices. Nobody else sees the task meanwhile; a crash leaves it as
 * it was. Answers undefined when nothing is due.
 */
export async function beginDueTask(
  db: Database,
  but: readonly number[],
  decide: (task: PlannedTask) => Promise<Plan | undefined>,
): Promise<Begun | undefined> {
  return inTransaction(db, async (runner) => {
    const [row] = await run<TaskRow>(
      runner,
      'due-task',
      `SELECT ${taskColumns} FROM task t
       WHERE t.state = 'accepted' AND t.begin_at <= now() AND NOT t.cancelling AND t.id <> ALL($1::bigint[])
       ORDER BY t.begin_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
      [but],
    )
    if (!row) return undefined
    const task = plannedTask(row)
    const { taskId } = task
    const plan = await blaming(taskId, () => decide(task))
    const lane = `CASE WHEN lane_fixed THEN lane ELSE $2 END`
    const deadline = `LEAST(now() + ${handOverTime}, show_end)`
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

/** Without a plan it held too many devices, and was halved. */
export type PlannedPage = { plan?: Plan; last: boolean }

/**
 * Takes one open slice of a task that is none of `but`, lets `decide` plan the devices of its next page, and commits batches,
 * targets and the cursor together. `decide` answers undefined when the page held too many devices; the page is then halved.
 * The row lock keeps other planners off the slice; they skip it. Slices of different tasks are taken at random, so that no
 * broadcast waits for another's end. Answers undefined when no slice is open.
 */
export async function planPage(
  db: Database,
  but: readonly number[],
  decide: (page: SlicePage, runner: Runner) => Promise<{ plan: Plan; devices: number } | undefined>,
): Promise<PlannedPage | undefined> {
  return inTransaction(db, async (runner) => {
    const [row] = await run<[...TaskRow, no: number, cursor: number, hi: number, width: number]>(
      runner,
      'open-slice',
      // Chosen by itself: messages of all tasks that are being planned would be sorted along, for every page.
      `SELECT ${taskColumns}, s.no, s.cursor, s.hi, s.width FROM (
         SELECT s.* FROM slice s JOIN task t ON t.id = s.task_id
         WHERE s.cursor < s.hi AND t.state = 'planning' AND NOT t.cancelling AND t.id <> ALL($1::bigint[])
         ORDER BY t.lane, random() LIMIT 1 FOR UPDATE OF s SKIP LOCKED
       ) s JOIN task t ON t.id = s.task_id`,
      [but],
    )
    if (!row) return undefined
    const [no, cursor, hi, width] = row.slice(-4) as [number, number, number, number]
    const task = plannedTask(row.slice(0, -4) as TaskRow)
    const end = Math.min(hi, cursor + width)
    const planned = await blaming(task.taskId, () => decide({ task, lo: cursor, hi: end }, runner))
    if (!planned) {
      await run(
        runner,
        'narrow-slice',
        `UPDATE slice SET width = GREATEST(1, width / 2) WHERE task_id = $1 AND no = $2`,
        [task.taskId, no],
      )
      return { last: false }
    }
    const wider = planned.devices < 1000 ? Math.min(MOST_WIDTH, width * 2) : width
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
 * Batches, inbox rows and targets of a plan, in the caller's transaction. The key share lock keeps the task from being
 * finished or cancelled before the batches are visible; if it is already, nothing is inserted.
 */
async function insertPlan(runner: Runner, taskId: number, plan: Plan): Promise<void> {
  await run(
    runner,
    'insert-plan',
    `WITH t AS MATERIALIZED (SELECT * FROM task WHERE id = $1 AND state IN ('planning', 'sending') FOR KEY SHARE),
     batches AS (
       INSERT INTO batch (task_id, app_id, channel, certificate_id, topic, node, lane, state, size, recipients, status, tried, deadline)
       SELECT t.id, t.app_id, b.channel, b.certificate_id, b.topic, b.node, t.lane,
         CASE WHEN t.paused THEN 'held' WHEN t.speed IS NOT NULL THEN 'paced' ELSE 'ready' END,
         b.size, b.recipients::bigint[], repeat('.', b.size), b.tried::text[], t.deadline
       FROM t, jsonb_to_recordset($2::jsonb) AS b (${batchRecord})
     ), boxed AS (
       INSERT INTO inbox (task_id, device_id, app_id, expires_at)
       SELECT t.id, d.id, t.app_id, t.deadline FROM t, unnest($3::bigint[]) AS d (id)
     ), lost AS (
       UPDATE task SET unreachable = unreachable + $5 WHERE id IN (SELECT id FROM t) AND $5 > 0
     )
     INSERT INTO counter AS c (task_id, channel, target)
     SELECT t.id, n.key, n.value::bigint FROM t, jsonb_each_text($4::jsonb) n ORDER BY n.key
     ON CONFLICT (task_id, channel) DO UPDATE SET target = c.target + excluded.target`,
    [
      taskId,
      JSON.stringify(plan.batches.map(batchRow)),
      idList(plan.inbox),
      JSON.stringify(Object.fromEntries(targetsOf(plan))),
      plan.unreachable,
    ],
  )
}

/** Tasks whose last slice is planned go on to sending; slices of those that were cancelled meanwhile would be looked for for ever. */
export async function closePlanning(db: Database): Promise<number> {
  const rows = await run(
    db.pool,
    'close-planning',
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
