import type { Channel, Plan, Reason } from '@herald/domain'
import { type BatchRow, batchRow, idList } from '../ledger/batch-rows.ts'
import { reasonRows, reasonsSql } from '../ledger/failure-rows.ts'
import type { Database } from '../store/database.ts'
import { inTransaction, type Runner, run } from '../store/statement.ts'
import { type PlannedTask, tasksById } from '../tasks/planning.ts'
import { nextBatchesSql } from '../tasks/settle-sql.ts'

/** Recipients of one task whose time to acknowledge is over, all in the same situation. */
export type DueFallback = {
  task: PlannedTask
  /** Written to a connection: stays sent, and its copy stays until a vendor has accepted it. */
  sent: boolean
  tried: Channel[]
  /** Ascending. */
  recipients: number[]
}

export type FallbackPlan = { plan: Plan; reasons: Reason[] }

/**
 * Takes up to `most` messages whose device did not acknowledge in time and gives them to the next channel, as `decide` plans
 * it, in one commit. Who is in none of its batches has no other channel: the message stays in the inbox. A device that is in
 * one leaves the inbox if nothing was written to it (moved), and keeps its copy otherwise. `decide` answers undefined when it
 * cannot tell: those are asked about again later. Answers how many were looked at, and how many left the channel unsent.
 */
export async function fallBackDue(
  db: Database,
  most: number,
  decide: (due: DueFallback, runner: Runner) => Promise<FallbackPlan | undefined>,
): Promise<{ looked: number; moved: number }> {
  return inTransaction(db, async (runner) => {
    const rows = await lockDue(runner, most)
    if (rows.length === 0) return { looked: 0, moved: 0 }
    const inputs: FallbackInput[] = []
    const undecided = new Set<string>()
    for (const group of groupDue(rows, await lockOpenTasks(runner, rows))) {
      const plan = await decide(group, runner)
      if (plan) inputs.push(inputOf(group, plan))
      else for (const id of group.recipients) undecided.add(`${group.task.taskId}/${id}`)
    }
    const isUndecided = ([taskId, deviceId]: DueRow) => undecided.has(`${taskId}/${deviceId}`)
    const decided = rows.filter((row) => !isUndecided(row))
    const [moved] = await run<[number]>(runner, 'fall-back', fallBackSql, [
      decided.map(([taskId]) => taskId),
      decided.map(([, deviceId]) => deviceId),
      decided.map(([, , , , received]) => received),
      JSON.stringify(inputs),
    ])
    if (undecided.size > 0) await askLater(runner, rows.filter(isUndecided))
    return { looked: rows.length, moved: moved![0] }
  })
}

type DueRow = [
  taskId: number,
  deviceId: number,
  sent: boolean,
  tried: Channel[],
  received: boolean,
  /** Not given to another user since it was planned. */
  theirs: boolean,
]

function lockDue(runner: Runner, most: number): Promise<DueRow[]> {
  return run<DueRow>(
    runner,
    'due-fallbacks',
    `SELECT i.task_id, i.device_id, i.sent_at IS NOT NULL, i.tried,
       EXISTS (SELECT 1 FROM receipt r WHERE r.task_id = i.task_id AND r.device_id = i.device_id),
       EXISTS (SELECT 1 FROM device d WHERE d.id = i.device_id AND d.moved_at <= i.planned_at)
     FROM inbox i WHERE i.fallback_at <= now() ORDER BY i.fallback_at LIMIT $1 FOR UPDATE OF i SKIP LOCKED`,
    [most],
  )
}

/** The lock keeps the tasks from being finished before the new batches are visible. */
async function lockOpenTasks(runner: Runner, due: DueRow[]): Promise<Map<number, PlannedTask>> {
  const open = await run<[number]>(
    runner,
    'open-tasks',
    `SELECT id FROM task WHERE id = ANY($1::bigint[]) AND state IN ('planning', 'sending') AND NOT cancelling
     ORDER BY id FOR KEY SHARE`,
    [[...new Set(due.map(([taskId]) => taskId))]],
  )
  const ids = open.map(([id]) => id)
  return new Map((await tasksById(runner, ids)).map((task) => [task.taskId, task]))
}

function groupDue(rows: DueRow[], tasks: ReadonlyMap<number, PlannedTask>): Iterable<DueFallback> {
  const groups = new Map<string, DueFallback>()
  for (const [taskId, deviceId, sent, tried, received, theirs] of rows) {
    const task = tasks.get(taskId)
    if (!task || received || !theirs) continue
    const key = `${taskId} ${sent} ${tried}`
    const group = groups.get(key) ?? { task, sent, tried, recipients: [] }
    groups.set(key, group)
    group.recipients.push(deviceId)
  }
  for (const { recipients } of groups.values()) recipients.sort((a, b) => a - b)
  return groups.values()
}

async function askLater(runner: Runner, rows: DueRow[]): Promise<void> {
  await run(
    runner,
    'fall-back-later',
    `UPDATE inbox i SET fallback_at = now() + interval '10 seconds'
     FROM unnest($1::bigint[], $2::bigint[]) AS l (task_id, device_id)
     WHERE i.task_id = l.task_id AND i.device_id = l.device_id`,
    [rows.map(([taskId]) => taskId), rows.map(([, deviceId]) => deviceId)],
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

// The rows were locked by the select before; what was acknowledged by another way leaves the inbox as sent.
const fallBackSql = `
WITH due AS MATERIALIZED (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::boolean[]) AS d (task_id, device_id, received)
), done AS MATERIALIZED (
  SELECT t.id AS task_id, t.app_id, 'native' AS channel, t.lane, t.deadline, now() AS planned_at,
    t.paused, t.speed, 0 AS id, r.leaving, r.fallback, r.reasons
  FROM jsonb_to_recordset($4::jsonb) AS r (t bigint, leaving text, fallback jsonb, reasons jsonb) JOIN task t ON t.id = r.t
), leaving AS MATERIALIZED (
  SELECT d.task_id, x.id AS device_id FROM done d CROSS JOIN LATERAL unnest(d.leaving::bigint[]) AS x (id)
), gone AS (
  DELETE FROM inbox i USING due LEFT JOIN leaving l ON l.task_id = due.task_id AND l.device_id = due.device_id
  WHERE i.task_id = due.task_id AND i.device_id = due.device_id AND (due.received OR l.device_id IS NOT NULL)
  RETURNING i.task_id, i.sent_at, due.received
), stay AS (
  UPDATE inbox i SET fallback_at = NULL FROM due LEFT JOIN leaving l ON l.task_id = due.task_id AND l.device_id = due.device_id
  WHERE i.task_id = due.task_id AND i.device_id = due.device_id AND NOT due.received AND l.device_id IS NULL
  RETURNING 1
), next_batches AS (
  ${nextBatchesSql}
), why AS (
  ${reasonsSql}
), counted AS (
  INSERT INTO counter AS c (task_id, channel, target, sent, moved)
  SELECT task_id, channel, sum(target), sum(sent), sum(moved) FROM (
    SELECT task_id, channel, size AS target, 0 AS sent, 0 AS moved FROM next_batches
    UNION ALL SELECT task_id, 'native', 0, (received AND sent_at IS NULL)::int, (NOT received)::int FROM gone
  ) deltas
  WHERE (SELECT count(*) FROM stay) >= 0 AND (SELECT count(*) FROM why) >= 0
  GROUP BY task_id, channel ORDER BY task_id, channel
  ON CONFLICT (task_id, channel) DO UPDATE SET target = c.target + excluded.target, sent = c.sent + excluded.sent,
    moved = c.moved + excluded.moved
  RETURNING 1
)
SELECT count(*)::int FROM gone WHERE NOT received AND (SELECT count(*) FROM counted) >= 0`
