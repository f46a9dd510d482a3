import { type Channel, type Lane, publicName, type ShownTaskState, shownTaskStates } from '@herald/domain'
import { addAuditSql, type By } from '../ledger/audit-rows.ts'
import {
  countersSql,
  finishedAtSql,
  inRangeOfBundles,
  isWaitingSql,
  memberSql,
  stateSql,
} from '../ledger/bundled-tasks.ts'
import { addChecksSql, INDEXED_SIZE } from '../ledger/counter-rows.ts'
import { endOfTasks, oldestTaskId, windowsBack } from '../store/all-days.ts'
import type { Database } from '../store/database.ts'
import {
  byDays,
  dayOfId,
  daysOf,
  groupByKeptDays,
  type IdRange,
  inDays,
  inRange,
  runWithin,
} from '../store/days.ts'
import { retryingStatement } from '../store/errors.ts'
import { firstTaskIdAt, IDS_PER_DAY } from '../store/partitions.ts'
import { leaveBundle } from './leave-bundle.ts'

/** All tasks of an application, or only those sent for one of its groups. */
export type TaskScope = { appId: string; groupId?: number }

/** The condition that a task is in a scope. `appId` and `groupId` are parameters of the statement; without a group the second is NULL. */
export function inScopeSql(task: string, appId: string, groupId: string): string {
  return `${task}.app_id = ${appId} AND (${groupId}::bigint IS NULL OR ${task}.group_id = ${groupId})`
}

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
  const byId = new Map<number, TaskCounters>()
  for (const some of await groupByKeptDays(db.pool, ids, Number)) {
    const rows = await runWithin<
      [id: number, channel: Channel | null, target: number, sent: number, received: number]
    >(
      db.pool,
      daysOf(some),
      'task-details',
      `SELECT t.id, c.channel, sum(c.target)::bigint, sum(c.sent)::bigint, sum(c.received)::bigint FROM task t ${memberSql('t')}
       LEFT JOIN LATERAL (${countersSql('t')}) c ON true
       WHERE t.id = ANY($1::bigint[]) AND ${inDays('t.id')} AND ${inScopeSql('t', '$2', '$3')} GROUP BY 1, 2`,
      [some.map(String), scope.appId, scope.groupId ?? null],
    )
    for (const [taskId, channel, target, sent, received] of rows) {
      const entry = byId.get(taskId) ?? { taskId, counters: {} }
      byId.set(taskId, entry)
      if (channel) entry.counters[publicName(channel)] = { target, sent, received }
    }
  }
  return ids.flatMap((id) => byId.get(Number(id)) ?? [])
}

export type TaskView = {
  taskId: number
  state: ShownTaskState
  createdAt: Date
  beginAt: Date
  finishedAt: Date | null
  requestId: string | null
  groupId: number | null
  campaign: string | null
  /** Who sent it, as in the audit; null for tasks of a release that did not record it. */
  actor: string | null
  title: string | null
  lane: Lane
  speed: number | null
  target: number
  sent: number
  received: number
  clicked: number
  failed: number
  expired: number
  cancelled: number
  unreachable: number
  /** Targets that are neither sent nor ended otherwise. */
  pending: number
  /** Messages of a finished task that wait in the inboxes of devices that are offline. */
  waiting: number
  /** Devices per second since the start, until the end of a finished task. */
  rate: number
  /** Seconds until nothing is pending at that rate. */
  eta: number | null
}

export type TaskPage = {
  before?: number
  limit: number
  /** As shown. */
  state?: ShownTaskState
  campaign?: string
  taskIds?: readonly number[]
  /** When it was accepted, Unix ms: from this time on, and before that one. */
  from?: number
  to?: number
  /** Text in the title, in any case. */
  title?: string
  actor?: string
  /** Minimum number of targets. */
  minTarget?: number
  /** Only tasks for all devices or for tags, for more than 64 devices, or with a start of their own. */
  broadcasts?: boolean
}

/** No index has these, so tasks are read and compared. */
const compared = ['title', 'actor', 'minTarget', 'broadcasts'] as const
/** Maximum number of tasks that a call compares: an application may have millions. */
const MAX_COMPARED = 20_000

export async function listTasks(db: Database, scope: TaskScope, page: TaskPage): Promise<TaskView[]> {
  return (await searchTasks(db, scope, page)).list
}

/** `next` is set if the call ended before the page was full, because of the number of tasks that it compared: continue before that one. */
export async function searchTasks(
  db: Database,
  scope: TaskScope,
  page: TaskPage,
): Promise<{ list: TaskView[]; next?: number }> {
  // A literal, because the indexes of open tasks are partial: with a parameter all tasks of the application would be read.
  const state = shownTaskStates.find((known) => known === page.state)
  const filter = { ...page, state }
  const rows: ListedRow[] = []
  let first = page.from === undefined ? undefined : firstTaskIdAt(page.from)
  let upto = page.before
  if (page.to !== undefined) upto = Math.min(upto ?? Number.MAX_SAFE_INTEGER, firstTaskIdAt(page.to))
  if (upto === undefined && !page.taskIds) upto = await endOfTasks(db)
  let next: number | undefined
  let left = compared.some((name) => page[name] !== undefined) ? MAX_COMPARED : undefined
  for (const days of page.taskIds ? [] : windowsBack()) {
    const last = dayOfId(Math.min(upto ?? Number.POSITIVE_INFINITY, firstTaskIdAt(Date.now())))
    let from = (last - days + 1) * IDS_PER_DAY
    const isLast = first !== undefined && from <= first
    if (isLast) from = first!
    if (left !== undefined) {
      const span = await idsOf(db, scope, { from, upto }, left)
      left -= span.count
      if (left === 0 && span.min !== undefined) next = from = span.min
    }
    const range = { from, upto }
    const within = { tasks: inRange(range), bundles: inRangeOfBundles(range) }
    rows.push(...(await listDays(db, scope, within, filter, page.limit - rows.length)))
    if (rows.length >= page.limit) next = undefined
    if (rows.length >= page.limit || isLast || next !== undefined) break
    upto = from
    first = Math.max(first ?? 0, await oldestTaskId(db))
    if (first >= upto) break
  }
  for (const taskIds of byDays(page.taskIds ?? []).reverse()) {
    const asked = taskIds.filter((id) => id >= (first ?? 0) && id < (upto ?? Number.POSITIVE_INFINITY))
    const { of } = daysOf(asked)
    const within = { tasks: of, bundles: of }
    rows.push(...(await listDays(db, scope, within, { ...filter, taskIds: asked }, page.limit - rows.length)))
    if (rows.length >= page.limit) break
  }
  const list = rows.map(({ moved, seconds, ...row }) => {
    // A device that moved is a target of both channels; callers count it once.
    const target = row.target - moved
    const done = row.sent + row.failed + row.expired + row.cancelled
    const pending = target - done
    const rate = seconds > 0 ? done / seconds : 0
    return { ...row, target, pending, rate, eta: etaOf({ ...row, pending, rate }) }
  })
  return { list, next }
}

/** Seconds, 0 after the end. Nobody knows when a device will connect, when a paused task is resumed, or how many are not planned yet. */
function etaOf(task: Pick<TaskView, 'state' | 'pending' | 'rate' | 'waiting'>): number | null {
  if (task.waiting > 0) return null
  if (task.state === 'finished' || task.state === 'cancelled') return 0
  if (task.state !== 'sending') return null
  return task.pending === 0 ? 0 : task.rate > 0 ? task.pending / task.rate : null
}

/** The lowest of the newest `limit` ids in [from, upto), by the index of an application's tasks. */
async function idsOf(
  db: Database,
  scope: TaskScope,
  range: IdRange,
  limit: number,
): Promise<{ min?: number; count: number }> {
  const { rows } = await db.pool.query<{ min: number | null; count: number }>(
    `SELECT min(id)::bigint AS min, count(*)::int AS count FROM (
       SELECT id FROM task WHERE app_id = $1 AND ${inRange(range)('id')} ORDER BY id DESC LIMIT $2) t`,
    [scope.appId, limit],
  )
  return { min: rows[0]!.min ?? undefined, count: rows[0]!.count }
}

type TaskFilter = Omit<TaskPage, 'before' | 'limit' | 'from' | 'to'>

/** Conditions on a column with ids of tasks, and of their bundles. */
type Within = Record<'tasks' | 'bundles', (column: string) => string>
type ListedRow = Omit<TaskView, 'pending' | 'rate' | 'eta'> & { moved: number; seconds: number }

/** The newest first. */
async function listDays(
  db: Database,
  scope: TaskScope,
  within: Within,
  { state, campaign, taskIds, title, actor, minTarget, broadcasts }: TaskFilter,
  limit: number,
): Promise<ListedRow[]> {
  const listed: ListedRow[] = []
  const values: unknown[] = [scope.appId, scope.groupId ?? null, limit]
  const also: string[] = []
  if (campaign !== undefined) also.push(`t.campaign = $${values.push(campaign)}`)
  if (taskIds !== undefined) also.push(`t.id = ANY ($${values.push(taskIds)}::bigint[])`)
  if (title !== undefined)
    also.push(`strpos(lower(t.message->>'title'), lower($${values.push(title)}::text)) > 0`)
  if (actor !== undefined) also.push(`t.actor = $${values.push(actor)}`)
  if (minTarget !== undefined) {
    // Counters are read only of tasks that may be large enough.
    if (minTarget > INDEXED_SIZE) also.push('t.wide')
    also.push(`coalesce(c.target, 0) - coalesce(c.moved, 0) >= $${values.push(minTarget)}::bigint`)
  }
  if (broadcasts)
    also.push(`(t.wide OR t.audience->>'kind' IN ('all', 'tag') OR t.message->>'showBegin' IS NOT NULL)`)
  for (const condition of inState(state, within)) {
    const { rows } = await db.pool.query<ListedRow>(
      listSql(within, [condition, ...also].join(' AND ')),
      values,
    )
    listed.push(...rows)
  }
  return listed.sort((a, b) => b.taskId - a.taskId).slice(0, limit)
}

function listSql(within: Within, condition: string): string {
  const ended = 'sent + failed + moved + expired + cancelled'
  return `SELECT t.id AS "taskId", CASE WHEN t.state IN ('finished', 'cancelled') THEN t.state WHEN t.cancelling THEN 'cancelling'
         WHEN t.paused THEN 'paused' WHEN t.state = 'accepted' AND t.begin_at > now() THEN 'scheduled' ELSE ${stateSql('t')} END AS state,
       t.created_at AS "createdAt", t.begin_at AS "beginAt", ${finishedAtSql('t')} AS "finishedAt", t.request_id AS "requestId",
       t.group_id AS "groupId", t.campaign, t.actor, t.message->>'title' AS title, t.lane, t.speed, t.unreachable,
       coalesce(c.target, 0)::bigint AS target, coalesce(c.sent, 0)::bigint AS sent, coalesce(c.received, 0)::bigint AS received,
       coalesce(c.clicked, 0)::bigint AS clicked, CASE WHEN ${isWaitingSql('t')} THEN coalesce(c.waiting, 0) ELSE 0 END::bigint AS waiting,
       coalesce(c.failed, 0)::bigint AS failed, coalesce(c.moved, 0)::bigint AS moved,
       coalesce(c.expired, 0)::bigint AS expired, coalesce(c.cancelled, 0)::bigint AS cancelled,
       extract(epoch FROM coalesce(${finishedAtSql('t')}, now()) - t.begin_at)::float8 AS seconds
     FROM task t ${memberSql('t', within.bundles('b.task_id'))} LEFT JOIN LATERAL (
       SELECT sum(target) AS target, sum(sent) AS sent, sum(received) AS received, sum(clicked) AS clicked, sum(failed) AS failed,
         sum(target - (${ended})) FILTER (WHERE channel = 'native') AS waiting, sum(moved) AS moved, sum(expired) AS expired, sum(cancelled) AS cancelled
       FROM (${countersSql('t', within.tasks('c.task_id'))}) c
     ) c ON true
     WHERE ${inScopeSql('t', '$1', '$2')} AND ${within.tasks('t.id')} AND ${condition}
     ORDER BY t.id DESC LIMIT $3`
}

/**
 * The conditions of a state as it is shown; the rows of several are merged. Those of 'sending' are two because each has an index: one of open tasks, and
 * one of bundles that are not settled, of which there are few.
 */
function inState(state: ShownTaskState | undefined, within: Within): string[] {
  const free = 'NOT t.paused AND NOT t.cancelling'
  // As in the index of tasks that are paused or cancelled.
  const controlled = `(t.paused OR t.cancelling) AND t.state IN ('accepted', 'planning', 'sending')`
  switch (state) {
    case undefined:
      return ['true']
    case 'scheduled':
      return [`t.state = 'accepted' AND t.begin_at > now() AND ${free}`]
    case 'accepted':
      return [`t.state = 'accepted' AND t.begin_at <= now() AND ${free}`]
    case 'planning':
      return [`t.state = 'planning' AND ${free}`]
    case 'sending': {
      const open = `SELECT unnest(o.tasks) FROM bundle o WHERE o.state <> 'settled' AND ${within.bundles('o.task_id')}`
      return [
        `t.state = 'sending' AND t.finished_at IS NULL AND ${free}`,
        `t.id = ANY (ARRAY(${open})) AND t.state = 'bundled' AND m.letter = '.'`,
      ]
    }
    case 'paused':
      return [`${controlled} AND t.paused AND NOT t.cancelling`]
    case 'cancelling':
      return [`${controlled} AND t.cancelling`]
    case 'finished':
      return [
        `(t.state = 'finished' OR ${isWaitingSql('t')} AND NOT t.paused OR t.state = 'bundled' AND m.letter = 's')`,
      ]
    case 'cancelled':
      return [`t.state = 'cancelled'`]
  }
}

export type ControlResult = 'ok' | 'unknown' | 'finished'

const taskChanges = {
  'cancel-task': { set: 'cancelling = true', isNew: 'NOT t.cancelling', action: 'task.cancel' },
  'pause-task': { set: 'paused = true', isNew: 'NOT t.paused', action: 'task.pause' },
  // The bucket of the speed limit starts empty; otherwise the time spent paused would allow a burst.
  'resume-task': {
    set: 'paused = false, speed_tokens = 0, speed_at = now()',
    isNew: 't.paused',
    action: 'task.resume',
  },
} as const

async function changeTask(
  db: Database,
  scope: TaskScope,
  id: number | bigint,
  change: keyof typeof taskChanges,
  by?: By,
  left = false,
): Promise<ControlResult> {
  const { set, isNew, action } = taskChanges[change]
  const [row] = await retryingStatement(() =>
    runWithin<[changed: boolean, state: string]>(
      db.pool,
      daysOf([id]),
      change,
      `WITH t AS (
         SELECT id, state, cancelling, paused FROM task WHERE id = $1 AND ${inDays('id')} AND ${inScopeSql('task', '$2', '$3')} FOR NO KEY UPDATE
       ), changed AS (
         UPDATE task SET ${set} FROM t
         WHERE task.id = t.id AND ${inDays('task.id')} AND t.state IN ('accepted', 'planning', 'sending')
           ${change === 'cancel-task' ? '' : 'AND NOT t.cancelling'} RETURNING task.id
       ), noted AS (
         ${addAuditSql(action, {
           appId: '$2',
           detail: `jsonb_build_object('task_id', t.id)`,
           from: `t JOIN changed USING (id) WHERE ${isNew}`,
           actor: '$4',
           address: '$5',
         })}
       )${change === 'cancel-task' ? `, checks AS (${addChecksSql('SELECT id AS task_id FROM changed')})` : ''}
       SELECT EXISTS (SELECT 1 FROM changed), state FROM t`,
      [String(id), scope.appId, scope.groupId ?? null, by?.actor ?? null, by?.address ?? null],
    ),
  )
  if (!row) return 'unknown'
  // A bundle cannot hold a change. If the task does not leave, it has been sent, or somebody else let it leave just now.
  if (row[1] === 'bundled' && !left && ((await leaveBundle(db, id)) || !(await isBundled(db, id))))
    return changeTask(db, scope, id, change, by, true)
  return row[0] ? 'ok' : 'finished'
}

async function isBundled(db: Database, id: number | bigint): Promise<boolean> {
  const rows = await runWithin(
    db.pool,
    daysOf([id]),
    'task-bundled',
    `SELECT 1 FROM task WHERE id = $1 AND ${inDays('id')} AND state = 'bundled'`,
    [String(id)],
  )
  return rows.length > 0
}

/** Attempts in progress are completed; the planner ends everything else as cancelled. */
export function cancelTask(
  db: Database,
  scope: TaskScope,
  id: number | bigint,
  by?: By,
): Promise<ControlResult> {
  return changeTask(db, scope, id, 'cancel-task', by)
}

/** After the commit no batch of the task can be claimed; the planner puts released ones back. */
export function pauseTask(
  db: Database,
  scope: TaskScope,
  id: number | bigint,
  by?: By,
): Promise<ControlResult> {
  return changeTask(db, scope, id, 'pause-task', by)
}

/**
 * Batches that are still released are put back first: their jobs may have been used up during the pause, which would be noticed
 * only a minute later.
 */
export async function resumeTask(
  db: Database,
  scope: TaskScope,
  id: number | bigint,
  by?: By,
): Promise<ControlResult> {
  await retryingStatement(() =>
    runWithin(
      db.pool,
      daysOf([id]),
      'hold-released',
      `UPDATE batch SET state = 'held' FROM task t
       WHERE t.id = $1 AND ${inDays('t.id')} AND ${inScopeSql('t', '$2', '$3')} AND t.paused
         AND batch.task_id = $1 AND ${inDays('batch.task_id')} AND batch.state = 'released'`,
      [String(id), scope.appId, scope.groupId ?? null],
    ),
  )
  return changeTask(db, scope, id, 'resume-task', by)
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
  const known = await runWithin(
    db.pool,
    daysOf([id]),
    'task-known',
    `SELECT 1 FROM task WHERE id = $1 AND ${inDays('id')} AND ${inScopeSql('task', '$2', '$3')}`,
    [String(id), scope.appId, scope.groupId ?? null],
  )
  if (known.length === 0) return undefined
  const rows = await runWithin<[Channel, string, string | null, string, number, number[], (string | null)[]]>(
    db.pool,
    daysOf([id]),
    'task-failures',
    `SELECT f.channel, f.fate, CASE WHEN f.text IS NOT NULL THEN f.reason END, coalesce(f.text, f.reason), f.count, f.samples,
       ARRAY(SELECT d.guid FROM unnest(f.samples) WITH ORDINALITY s (id, n) LEFT JOIN device d ON d.id = s.id ORDER BY s.n)
     FROM failure f WHERE f.task_id = $1 AND ${inDays('f.task_id')} ORDER BY f.count DESC, f.channel, f.reason`,
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
