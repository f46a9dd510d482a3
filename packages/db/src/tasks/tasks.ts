import { type Channel, type Lane, publicName, type TaskState, taskStates } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'
import { run } from '../store/statement.ts'

/** All tasks of an application, or only those sent for one of its groups. */
export type TaskScope = { appId: string; groupId?: number }

export type TaskCounters = {
  taskId: number
  /** By public channel name; channels without a target are left out. */
  counters: Record<string, { target: number; sent: number; received: number }>
}

/** Returns statistics in the order of `ids`. Unknown ids and those of other applications are left out. */
export async function taskDetails(
  db: Database,
  scope: TaskScope,
  ids: (number | bigint)[],
): Promise<TaskCounters[]> {
  const rows = await run<
    [id: number, channel: Channel | null, target: number, sent: number, received: number]
  >(
    db.pool,
    'task-details',
    `SELECT t.id, c.channel, c.target, c.sent, c.received FROM task t LEFT JOIN counter c ON c.task_id = t.id
     WHERE t.id = ANY($1::bigint[]) AND t.app_id = $2 AND ($3::bigint IS NULL OR t.group_id = $3)`,
    [ids.map(String), scope.appId, scope.groupId ?? null],
  )
  const byId = new Map<number, TaskCounters>()
  for (const [taskId, channel, target, sent, received] of rows) {
    const entry = byId.get(taskId) ?? { taskId, counters: {} }
    byId.set(taskId, entry)
    if (channel) entry.counters[publicName(channel)] = { target, sent, received }
  }
  return ids.flatMap((id) => byId.get(Number(id)) ?? [])
}

export type TaskView = {
  taskId: number
  state: TaskState | 'paused' | 'cancelling' | 'scheduled'
  createdAt: Date
  beginAt: Date
  finishedAt: Date | null
  requestId: string | null
  groupId: number | null
  title: string | null
  lane: Lane
  speed: number | null
  target: number
  sent: number
  received: number
  failed: number
  expired: number
  cancelled: number
  unreachable: number
  /** Targets that are neither sent nor ended otherwise. */
  pending: number
  /** Devices per second since the start, until the end of a finished task. */
  rate: number
  /** Seconds until nothing is pending at that rate. */
  eta: number | null
}

export type TaskPage = { before?: number; limit: number; state?: TaskState }

export async function listTasks(db: Database, scope: TaskScope, page: TaskPage): Promise<TaskView[]> {
  // A literal, because the indexes of open tasks are partial: with a parameter all tasks of the application would be read.
  const state = taskStates.find((known) => known === page.state)
  const { rows } = await db.pool.query<
    Omit<TaskView, 'pending' | 'rate' | 'eta'> & { moved: number; seconds: number }
  >(
    `SELECT t.id AS "taskId", CASE WHEN t.state IN ('finished', 'cancelled') THEN t.state WHEN t.cancelling THEN 'cancelling'
         WHEN t.paused THEN 'paused' WHEN t.state = 'accepted' AND t.begin_at > now() THEN 'scheduled' ELSE t.state END AS state,
       t.created_at AS "createdAt", t.begin_at AS "beginAt", t.finished_at AS "finishedAt", t.request_id AS "requestId",
       t.group_id AS "groupId", t.message->>'title' AS title, t.lane, t.speed, t.unreachable,
       coalesce(c.target, 0)::bigint AS target, coalesce(c.sent, 0)::bigint AS sent, coalesce(c.received, 0)::bigint AS received,
       coalesce(c.failed, 0)::bigint AS failed, coalesce(c.moved, 0)::bigint AS moved,
       coalesce(c.expired, 0)::bigint AS expired, coalesce(c.cancelled, 0)::bigint AS cancelled,
       extract(epoch FROM coalesce(t.finished_at, now()) - t.begin_at)::float8 AS seconds
     FROM task t LEFT JOIN LATERAL (
       SELECT sum(target) AS target, sum(sent) AS sent, sum(received) AS received, sum(failed) AS failed,
         sum(moved) AS moved, sum(expired) AS expired, sum(cancelled) AS cancelled
       FROM counter WHERE task_id = t.id
     ) c ON true
     WHERE t.app_id = $1 AND ($2::bigint IS NULL OR t.group_id = $2) AND ($3::bigint IS NULL OR t.id < $3)
       ${state ? `AND t.state = '${state}'` : ''}
     ORDER BY t.id DESC LIMIT $4`,
    [scope.appId, scope.groupId ?? null, page.before ?? null, page.limit],
  )
  return rows.map(({ moved, seconds, ...row }) => {
    const pending = row.target - row.sent - row.failed - moved - row.expired - row.cancelled
    const rate = seconds > 0 ? (row.target - pending) / seconds : 0
    // A device that moved is a target of both channels; callers count it once.
    return {
      ...row,
      target: row.target - moved,
      pending,
      rate,
      eta: pending === 0 ? 0 : rate > 0 ? pending / rate : null,
    }
  })
}

export type ControlResult = 'ok' | 'unknown' | 'finished'

const taskChanges = {
  'cancel-task': 'cancelling = true, check_at = now()',
  'pause-task': 'paused = true',
  // The bucket of the speed limit starts empty; otherwise the time spent paused would allow a burst.
  'resume-task': 'paused = false, speed_tokens = 0, speed_at = now(), check_at = now()',
}

async function changeTask(
  db: Database,
  scope: TaskScope,
  id: number | bigint,
  change: keyof typeof taskChanges,
): Promise<ControlResult> {
  const [row] = await retrying(() =>
    run<[boolean]>(
      db.pool,
      change,
      `WITH t AS (
         SELECT id, state FROM task WHERE id = $1 AND app_id = $2 AND ($3::bigint IS NULL OR group_id = $3) FOR NO KEY UPDATE
       ), changed AS (
         UPDATE task SET ${taskChanges[change]} FROM t WHERE task.id = t.id AND t.state IN ('accepted', 'planning', 'sending') RETURNING task.id
       )
       SELECT EXISTS (SELECT 1 FROM changed) FROM t`,
      [String(id), scope.appId, scope.groupId ?? null],
    ),
  )
  if (!row) return 'unknown'
  return row[0] ? 'ok' : 'finished'
}

/** Attempts in progress are completed; the planner ends everything else as cancelled. */
export function cancelTask(db: Database, scope: TaskScope, id: number | bigint): Promise<ControlResult> {
  return changeTask(db, scope, id, 'cancel-task')
}

/** After the commit no batch of the task can be claimed; the planner puts released ones back. */
export function pauseTask(db: Database, scope: TaskScope, id: number | bigint): Promise<ControlResult> {
  return changeTask(db, scope, id, 'pause-task')
}

/**
 * Batches that are still released are put back first: their jobs may have been used up during the pause, which would be noticed
 * only a minute later.
 */
export async function resumeTask(
  db: Database,
  scope: TaskScope,
  id: number | bigint,
): Promise<ControlResult> {
  await retrying(() =>
    run(
      db.pool,
      'hold-released',
      `UPDATE batch SET state = 'held' FROM task t
       WHERE t.id = $1 AND t.app_id = $2 AND ($3::bigint IS NULL OR t.group_id = $3) AND t.paused
         AND batch.task_id = $1 AND batch.state = 'released'`,
      [String(id), scope.appId, scope.groupId ?? null],
    ),
  )
  return changeTask(db, scope, id, 'resume-task')
}

export type FailureGroup = {
  channel: string
  /** failed, moved (to another channel), expired or cancelled. */
  fate: string
  /** Null for rows written by the version before codes, which have only the text. */
  code: string | null
  reason: string
  count: number
  samples: { deviceId: number; deviceGuid: string | null }[]
}

/** Returns the failures by channel and reason, most frequent first; undefined if the task is unknown. */
export async function taskFailures(
  db: Database,
  scope: TaskScope,
  id: number | bigint,
): Promise<FailureGroup[] | undefined> {
  const known = await run(
    db.pool,
    'task-known',
    'SELECT 1 FROM task WHERE id = $1 AND app_id = $2 AND ($3::bigint IS NULL OR group_id = $3)',
    [String(id), scope.appId, scope.groupId ?? null],
  )
  if (known.length === 0) return undefined
  const rows = await run<[Channel, string, string | null, string, number, number[], (string | null)[]]>(
    db.pool,
    'task-failures',
    `SELECT f.channel, f.fate, CASE WHEN f.text IS NOT NULL THEN f.reason END, coalesce(f.text, f.reason), f.count, f.samples,
       ARRAY(SELECT d.guid FROM unnest(f.samples) WITH ORDINALITY s (id, n) LEFT JOIN device d ON d.id = s.id ORDER BY s.n)
     FROM failure f WHERE f.task_id = $1 ORDER BY f.count DESC, f.channel, f.reason`,
    [String(id)],
  )
  return rows.map(([channel, fate, code, reason, count, samples, guids]) => ({
    channel: publicName(channel),
    fate,
    code,
    reason,
    count,
    samples: samples.map((deviceId, i) => ({ deviceId, deviceGuid: guids[i] ?? null })),
  }))
}
