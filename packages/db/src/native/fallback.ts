import { type Channel, ownReasons, type Plan, type ReasonCount } from '@herald/domain'
import { type BatchRow, batchRow, idList } from '../ledger/batch-rows.ts'
import { addChecksSql, addCountersSql, after } from '../ledger/counter-rows.ts'
import { reasonRows, reasonsSql } from '../ledger/failure-rows.ts'
import { addRecordsSql } from '../ledger/inbox-records.ts'
import { movedAfterSql } from '../ledger/moved-devices.ts'
import { addEventsSql } from '../ledger/outbox-rows.ts'
import { isTold, tellingTasksSql } from '../ledger/task-events.ts'
import type { Database } from '../store/database.ts'
import { beginSearch, type Days, daysOf, inDays, runWithin } from '../store/days.ts'
import { noteBatchesOf, openDays } from '../store/open-days.ts'
import { fields, inTransaction, type Runner } from '../store/statement.ts'
import { type PlannedTask, tasksById, type UnreadableTask } from '../tasks/planned-task.ts'
import { nextBatchesSql } from '../tasks/settle-sql.ts'

/** Recipients of a task that did not acknowledge in time, grouped by `sent` and `tried`. */
export type DueFallback = {
  task: PlannedTask
  /** The message was written to a connection: it stays counted as sent, and in the inbox until a vendor accepts it. */
  sent: boolean
  tried: Channel[]
  /** Ascending. */
  recipients: number[]
}

export type FallbackPlan = { plan: Plan; reasons: ReasonCount[] }

/**
 * Locks up to `max` messages whose device did not acknowledge in time, lets `decide` plan the next channel for them, and writes
 * the result in one transaction. For each message one of these applies:
 * - it has a receipt by now: it leaves the inbox and counts as sent;
 * - it is in a batch of the plan and was not sent: it leaves the inbox and counts as moved;
 * - it is in a batch of the plan and was sent: it goes to the next channel too, and stays in the inbox without a time limit;
 * - it is in no batch, so it has no other channel, or its task cannot be read: it stays in the inbox without a time limit;
 * - `decide` returned undefined for it: it is tried again in ten seconds.
 * Returns how many were locked, and how many moved.
 */
export async function fallBackDue(
  db: Database,
  max: number,
  decide: (due: DueFallback, runner: Runner) => Promise<FallbackPlan | undefined>,
  onUnreadable: (error: UnreadableTask) => void = () => {},
): Promise<{ locked: number; moved: number }> {
  const open = await openDays(db)
  const tasks = new Set<number>()
  const fallen = await inTransaction(
    db,
    async (runner) => {
      const rows = await lockDue(runner, open, max)
      if (rows.length === 0) return { locked: 0, moved: 0 }
      const inputs: FallbackInput[] = []
      const undecided = new Set<string>()
      for (const group of groupDue(rows, await lockOpenTasks(runner, rows, onUnreadable))) {
        const plan = await decide(group, runner)
        if (plan) inputs.push(inputOf(group, plan))
        else for (const id of group.recipients) undecided.add(`${group.task.taskId}/${id}`)
      }
      const isUndecided = ({ taskId, deviceId }: DueRow) => undecided.has(`${taskId}/${deviceId}`)
      const decided = rows.filter((row) => !isUndecided(row))
      for (const { t } of inputs) tasks.add(t)
      const [moved] = await runWithin<[number]>(runner, daysIn(decided), 'fall-back', fallBackSql, [
        decided.map((row) => row.taskId),
        decided.map((row) => row.deviceId),
        decided.map((row) => row.received),
        JSON.stringify(inputs),
      ])
      if (undecided.size > 0) await postpone(runner, rows.filter(isUndecided))
      return { locked: rows.length, moved: moved![0] }
    },
    beginSearch,
  )
  await noteBatchesOf(db, tasks)
  return fallen
}

const daysIn = (rows: readonly DueRow[]) => daysOf(rows.map(({ taskId }) => taskId))

type DueRow = Pick<DueFallback, 'sent' | 'tried'> & {
  taskId: number
  deviceId: number
  received: boolean
  /** The device has no other user than when the message was planned. */
  sameOwner: boolean
}
const due = fields<DueRow>({
  taskId: 'i.task_id',
  deviceId: 'i.device_id',
  sent: 'i.sent_at IS NOT NULL',
  tried: 'i.tried',
  received: `EXISTS (SELECT 1 FROM receipt r WHERE r.task_id = i.task_id AND r.device_id = i.device_id AND ${inDays('r.task_id')})`,
  sameOwner: `EXISTS (SELECT 1 FROM device d WHERE d.id = i.device_id AND NOT ${movedAfterSql('d', 'i.planned_at')})`,
})

async function lockDue(runner: Runner, days: Days, max: number): Promise<DueRow[]> {
  const rows = await runWithin(
    runner,
    days,
    'due-fallbacks',
    `SELECT ${due.sql} FROM inbox i WHERE ${inDays('i.task_id')} AND i.fallback_at <= now()
     ORDER BY i.fallback_at LIMIT $1 FOR UPDATE OF i SKIP LOCKED`,
    [max],
  )
  return rows.map(due.read)
}

/** The lock prevents that the tasks are finished before the new batches are visible. */
async function lockOpenTasks(
  runner: Runner,
  rows: DueRow[],
  onUnreadable: (error: UnreadableTask) => void,
): Promise<Map<number, PlannedTask>> {
  const open = await runWithin<[number]>(
    runner,
    daysIn(rows),
    'open-tasks',
    `SELECT id FROM task WHERE id = ANY($1::bigint[]) AND ${inDays('id')} AND state IN ('planning', 'sending') AND NOT cancelling
     ORDER BY id FOR KEY SHARE`,
    [[...new Set(rows.map(({ taskId }) => taskId))]],
  )
  const ids = open.map(([id]) => id)
  return new Map((await tasksById(runner, ids, onUnreadable)).map((task) => [task.taskId, task]))
}

function groupDue(rows: DueRow[], tasks: ReadonlyMap<number, PlannedTask>): Iterable<DueFallback> {
  const groups = new Map<string, DueFallback>()
  for (const { taskId, deviceId, sent, tried, received, sameOwner } of rows) {
    const task = tasks.get(taskId)
    if (!task || received || !sameOwner) continue
    const key = `${taskId} ${sent} ${tried}`
    const group = groups.get(key) ?? { task, sent, tried, recipients: [] }
    groups.set(key, group)
    group.recipients.push(deviceId)
  }
  for (const { recipients } of groups.values()) recipients.sort((a, b) => a - b)
  return groups.values()
}

async function postpone(runner: Runner, rows: DueRow[]): Promise<void> {
  await runWithin(
    runner,
    daysIn(rows),
    'fall-back-later',
    `UPDATE inbox i SET fallback_at = now() + interval '10 seconds'
     FROM unnest($1::bigint[], $2::bigint[]) AS l (task_id, device_id)
     WHERE i.task_id = l.task_id AND i.device_id = l.device_id AND ${inDays('i.task_id')}`,
    [rows.map((row) => row.taskId), rows.map((row) => row.deviceId)],
  )
}

type FallbackInput = { t: number; leaving: string; fallback: BatchRow[]; reasons: unknown }

function inputOf({ task, sent }: DueFallback, { plan, reasons }: FallbackPlan): FallbackInput {
  const leaving = sent ? [] : plan.batches.flatMap(({ recipients }) => recipients)
  return {
    t: task.taskId,
    leaving: idList(leaving),
    fallback: plan.batches.map(batchRow),
    reasons: reasonRows(reasons),
  }
}

// due: the rows locked by `lockDue`, except postponed ones. done: per group of recipients the task and the plan. leaving: recipients
// that move. gone: deletes messages that moved or have a receipt; records: keeps which. stay: clears the time limit of the others.
// told: a message that has a receipt and was not counted as sent; moving is no event.
const fallBackSql = `
WITH due AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::boolean[]) AS d (task_id, device_id, received)
), done AS MATERIALIZED (
  SELECT t.id AS task_id, t.app_id, 'native' AS channel, t.lane, t.deadline, now() AS planned_at,
    t.paused, t.speed, 0 AS id, r.leaving, r.fallback, r.reasons
  FROM jsonb_to_recordset($4::jsonb) AS r (t bigint, leaving text, fallback jsonb, reasons jsonb)
  JOIN task t ON t.id = r.t AND ${inDays('t.id')}
), leaving AS MATERIALIZED (
  SELECT d.task_id, x.id AS device_id FROM done d CROSS JOIN LATERAL unnest(d.leaving::bigint[]) AS x (id)
), gone AS (
  DELETE FROM inbox i USING due LEFT JOIN leaving l ON l.task_id = due.task_id AND l.device_id = due.device_id
  WHERE i.task_id = due.task_id AND i.device_id = due.device_id AND ${inDays('i.task_id')} AND (due.received OR l.device_id IS NOT NULL)
  RETURNING i.task_id, i.device_id, i.sent_at, due.received
), records AS (
  ${addRecordsSql(`SELECT task_id, device_id, CASE WHEN received THEN 's' ELSE 'm' END AS letter FROM gone`, {
    fate: 'moved',
    reason: ownReasons.device_not_reached,
  })}
), stay AS (
  UPDATE inbox i SET fallback_at = NULL FROM due LEFT JOIN leaving l ON l.task_id = due.task_id AND l.device_id = due.device_id
  WHERE i.task_id = due.task_id AND i.device_id = due.device_id AND ${inDays('i.task_id')} AND NOT due.received AND l.device_id IS NULL
  RETURNING 1
), next_batches AS (
  ${nextBatchesSql}
), failures AS (
  ${reasonsSql}
), counted AS (
  ${addCountersSql(
    ['target', 'ranged', 'spread', 'sent', 'moved'],
    `SELECT task_id, channel, size AS target, size AS ranged, spread, 0 AS sent, 0 AS moved FROM next_batches
    UNION ALL SELECT task_id, 'native', 0, 0, 0, (received AND sent_at IS NULL)::int, (NOT received)::int FROM gone`,
    after('records', 'stay', 'failures'),
  )}
  RETURNING 1
), checks AS (
  ${addChecksSql('SELECT task_id FROM due')}
), telling AS MATERIALIZED (
  ${tellingTasksSql('gone')}
), told AS (
  ${addEventsSql(
    `SELECT task_id, 'native' AS channel, 'device.sent' AS kind, NULL::text AS code, NULL::text AS text, device_id
    FROM gone WHERE received AND sent_at IS NULL AND ${isTold}`,
    after('counted'),
  )}
)
SELECT count(*)::int FROM gone WHERE NOT received AND ${after('counted')}`
