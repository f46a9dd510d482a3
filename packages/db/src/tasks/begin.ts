import type { Lane, Plan } from '@herald/domain'
import {
  batchRecord,
  batchRow,
  deliveryWindowSql,
  idList,
  insertBatchesSql,
  insertCopiesSql,
  insertInboxSql,
  timeOrNowSql,
  waitingStateSql,
} from '../ledger/batch-rows.ts'
import { addChecksSql, isWide, targetRecord, targetRows } from '../ledger/counter-rows.ts'
import type { Database } from '../store/database.ts'
import { type Days, daysOf, groupByDays, inDays, runWithin, searchWithin } from '../store/days.ts'
import { areBuilt } from '../store/late-indexes.ts'
import { noteBatchesOf, olderDays, openDays, presentDays } from '../store/open-days.ts'
import { run } from '../store/statement.ts'
import { applicationsInTurnSql } from './application-turns.ts'
import { firstReadAt } from './audience.ts'
import { bundlesOf, insertBundlesSql, type Single, singleOf, withoutFewWaiting } from './bundles.ts'
import { type PlannedTask, PlanningFailed, plannedTask, taskColumns, taskFields } from './planned-task.ts'

/** A broadcast is planned in this many slices, so at most this many planners work on it at once. */
const SLICES = 8
/** Ids per page of a slice. Each page starts new batches on every channel, so narrow pages make up to twice as many batches. */
const FIRST_WIDTH = 16_000
/** Longer than a group takes; the tasks of a planner that died are begun by another after this time. */
const BEGIN_LEASE_SECONDS = 15
/** Applications and oldest due tasks that a planner looks at per group. */
const MAX_LOOKED_AT = 64
/** Applications and begin times that it looks at, once the index of these is built, and applications of the walk then. */
const MAX_TURNS = 32
const WALKED_BESIDE = 8

export type DueTurn = {
  lane: Lane
  /** The applications after this one come first. */
  after: string
  max: number
  except: readonly number[]
}

/** `laneFixed`: its lane does not depend on the size of its audience. */
export type DueTask = PlannedTask & { laneFixed: boolean; paused: boolean }

export type DueTasks = {
  tasks: DueTask[]
  /** Tasks whose stored data cannot be read. */
  failed: PlanningFailed[]
  lease: { lane: Lane; appIds: string[]; until: string }
  /** `after` of the next turn. */
  after: string
}

/**
 * Takes up to `max` due tasks of several applications, the same number of each. Other planners leave these applications alone until
 * `giveBackDue` or the end of the lease. Nothing is locked; `beginTasks` checks that the tasks still wait. Returns undefined when
 * no task is due.
 */
export async function takeDueTasks(db: Database, turn: DueTurn): Promise<DueTasks | undefined> {
  const { lane } = turn
  const days = await daysWithDue(db)
  const [name, text] = (await areBuilt(db, ['task_due_turn']))
    ? (['take-due-by-turn', takeDueByTurnSql] as const)
    : (['take-due', takeDueSql] as const)
  const rows = await searchWithin(db, days, name, text, [lane, turn.after, turn.except, turn.max])
  if (rows.length === 0) return undefined
  const [until, after] = rows[0]!.slice(-2) as [string, string | null]
  const tasks: DueTask[] = []
  const failed: PlanningFailed[] = []
  const appIds = new Set<string>()
  for (const row of rows) {
    const { taskId, appId } = taskFields.read(row)
    appIds.add(appId)
    try {
      const [laneFixed, paused] = row.slice(-4) as [boolean, boolean]
      tasks.push({ ...plannedTask(row), laneFixed, paused })
    } catch (error) {
      failed.push(new PlanningFailed(taskId, error))
    }
  }
  return { tasks, failed, lease: { lane, appIds: [...appIds], until }, after: after ?? '' }
}

/** How long a look at older days is used: there may be thirty, and the statement that takes tasks costs ten times as much with them. */
const LOOK_MS = 5000
/** The last look: until when it is used, and when the first task of an older day is due, by the clock of this process. */
const looks = new WeakMap<Database['pool'], { until: number; dueAt: number }>()

/** The days in which tasks may be due: the present ones, and all others with open tasks when the first of these is due. */
async function daysWithDue(db: Database): Promise<Days> {
  const now = performance.now()
  let look = looks.get(db.pool)
  if (!look || now >= look.until) {
    look = { until: now + LOOK_MS, dueAt: now + (await firstDueMs(db)) }
    looks.set(db.pool, look)
  }
  return now < look.dueAt ? presentDays(db) : openDays(db)
}

/** Milliseconds until the first task of an older day is due. */
async function firstDueMs(db: Database): Promise<number> {
  const { open } = await olderDays(db)
  if (!open) return Number.POSITIVE_INFINITY
  const rows = await searchWithin<[number | null]>(db, open, 'first-due', firstDueSql, [])
  return rows[0]?.[0] ?? Number.POSITIVE_INFINITY
}

const firstDueSql = `SELECT (extract(epoch FROM begin_at - now()) * 1000)::float8 FROM task
  WHERE ${inDays('id')} AND state = 'accepted' ORDER BY begin_at LIMIT 1`

/** Compared and sorted as rows: otherwise Postgres may use task_due_turn, and read the due tasks of all applications to find those of one. */
const dueOf = (app: string) =>
  `(t.app_id, t.begin_at) >= (${app}, '-infinity'::timestamptz) AND (t.app_id, t.begin_at) <= (${app}, now())`

const waiting = `t.state = 'accepted' AND t.lane = $1 AND NOT t.cancelling AND t.id <> ALL($3::bigint[])`

// walk: the next applications with waiting tasks, one descent of the index task_turn each. oldest: those of the tasks that are due
// first, in case that none of the applications in `walk` has a due task. Both are limited, so the cost does not depend on how many
// tasks wait or how many applications have some. candidates: not with EXISTS, for which Postgres may read all due tasks and join them.
// If there are fewer places than applications with due tasks, the next turn begins with the first that got none. Every application that
// is leased gets a task: without one it would wait for the end of the lease.
function takeSql(oldest: string, walked: number): string {
  return `
WITH RECURSIVE ${applicationsInTurnSql('walk', waiting, walked)}, ${oldest}, candidates AS MATERIALIZED (
  SELECT c.app_id, c.nth FROM (
    SELECT app_id, min(nth) AS nth FROM (
      SELECT app_id, nth FROM walk UNION ALL SELECT app_id, ${walked} + 1 FROM oldest
    ) a GROUP BY app_id
  ) c CROSS JOIN LATERAL (SELECT FROM task t WHERE ${inDays('t.id')} AND ${waiting} AND ${dueOf('c.app_id')} ORDER BY t.app_id, t.begin_at LIMIT 1) due
  WHERE NOT EXISTS (SELECT 1 FROM begin_lease l WHERE l.app_id = c.app_id AND l.lane = $1 AND l.until > now())
  ORDER BY c.nth LIMIT $4
), leased AS (
  INSERT INTO begin_lease AS l (app_id, lane, until)
  SELECT app_id, $1, now() + interval '${BEGIN_LEASE_SECONDS} seconds' FROM candidates ORDER BY app_id
  ON CONFLICT (app_id, lane) DO UPDATE SET until = excluded.until WHERE l.until <= now()
  RETURNING app_id, until
)
SELECT ${Object.keys(taskColumns)
    .map((name) => `t."${name}"`)
    .join(', ')}, t.lane_fixed, t.paused, leased.until::text, (
    SELECT CASE WHEN count(*) < $4 THEN (SELECT w.app_id FROM walk w WHERE w.nth = ${walked})
      ELSE max(c.app_id) FILTER (WHERE c.nth <= ${walked}) END FROM candidates c)
FROM leased CROSS JOIN LATERAL (
  SELECT ${Object.entries(taskColumns)
    .map(([name, sql]) => `${sql} AS "${name}"`)
    .join(', ')}, t.lane_fixed, t.paused
  FROM task t WHERE ${inDays('t.id')} AND ${waiting} AND ${dueOf('leased.app_id')}
  ORDER BY t.app_id, t.begin_at LIMIT (SELECT $4 / NULLIF(count(*), 0) FROM leased)
) t`
}

/** Until the index task_due_turn is built: those of one application may hide others, which only the walk finds. */
const takeDueSql = takeSql(
  `oldest AS (
  SELECT t.app_id FROM task t
  WHERE ${inDays('t.id')} AND t.state = 'accepted' AND t.begin_at <= now() AND NOT t.cancelling AND t.id <> ALL($3::bigint[])
  ORDER BY t.begin_at LIMIT ${MAX_LOOKED_AT}
)`,
  MAX_LOOKED_AT,
)
const due = `${inDays('t.id')} AND ${waiting} AND t.begin_at <= now()`
/**
 * The applications of the first begin times, one descent of the index task_due_turn for each pair, however many tasks begin then. So the
 * walk is needed only for applications behind tasks of many different times.
 */
const takeDueByTurnSql = takeSql(
  `oldest AS (
  (SELECT t.begin_at, t.app_id, 1 AS nth FROM task t WHERE ${due} ORDER BY t.begin_at, t.app_id LIMIT 1)
  UNION ALL
  SELECT n.begin_at, n.app_id, o.nth + 1 FROM oldest o CROSS JOIN LATERAL (
    SELECT t.begin_at, t.app_id FROM task t WHERE ${due} AND (t.begin_at, t.app_id) > (o.begin_at, o.app_id)
    ORDER BY t.begin_at, t.app_id LIMIT 1
  ) n WHERE o.nth < ${MAX_TURNS}
)`,
  WALKED_BESIDE,
)

/** Other planners may take the due tasks of these applications again. */
export async function giveBackDue(db: Database, { lane, appIds, until }: DueTasks['lease']): Promise<void> {
  await run(
    db.pool,
    'give-back-due',
    `UPDATE begin_lease SET until = now() WHERE lane = $1 AND app_id = ANY($2::text[]) AND until = $3::timestamptz`,
    [lane, appIds, until],
  )
}

/**
 * A due task and the plan of its audience; without a plan the audience is large and is divided into slices. With `single` it may wait in
 * a bundle with others. `readAt` is that of `SmallAudiences`.
 */
export type TaskToBegin = { taskId: number; plan?: Plan; single?: Single; readAt?: number }

/** Undefined if the task needs a batch. */
export function singleToBegin({ paused, laneFixed, ...task }: DueTask, plan: Plan): Single | undefined {
  return paused ? undefined : singleOf({ ...task, lane: laneFixed ? task.lane : 'high' }, plan)
}

/**
 * Begins tasks with one statement, hence one fsync. Those that another planner began, or that were cancelled, are left
 * out. Batches and bundles wait for the feeder: many reminders for the same minute are a backlog like any other, and only the feeder keeps
 * the windows and the turns of the applications. Scheduled tasks may be of many days; then there is a statement for some days at a time.
 * Returns the ids of the tasks that were begun.
 */
export async function beginTasks(db: Database, tasks: readonly TaskToBegin[]): Promise<Set<number>> {
  const begun = new Set<number>()
  for (const some of groupByDays(tasks, ({ taskId }) => taskId)) {
    const ids = await beginOf(db, some)
    await noteBatchesOf(db, ids)
    for (const id of ids) begun.add(id)
  }
  return begun
}

/** `tasks` are of few days. */
async function beginOf(db: Database, tasks: readonly TaskToBegin[]): Promise<number[]> {
  const taskIds = tasks.map(({ taskId }) => taskId)
  const singles = withoutFewWaiting(tasks.map(({ single }) => single && { ...single, waits: true }))
  const bundles = bundlesOf(taskIds, singles)
  const input = JSON.stringify(tasks.map((task, i) => beginRow(task, singles[i], bundles[i])))
  const values = [input, firstReadAt(tasks)]
  const rows = await runWithin<[number]>(db.pool, daysOf(taskIds), 'begin-tasks', beginSql, values)
  return rows.map(([taskId]) => taskId)
}

function beginRow({ taskId, plan }: TaskToBegin, single: Single | undefined, bundle: number | undefined) {
  if (single)
    return {
      id: taskId,
      large: false,
      wide: false,
      unreachable: plan!.unreachable,
      bundle,
      single_lane: single.lane,
      single_channel: single.channel,
      device_id: single.deviceId,
      certificate_id: single.certificateId,
    }
  return {
    id: taskId,
    large: plan === undefined,
    wide: plan === undefined || isWide(plan),
    unreachable: plan?.unreachable ?? 0,
    batches: plan?.batches.map(batchRow) ?? [],
    inbox: idList(plan?.inbox ?? []),
    copies: idList(plan?.copies ?? []),
    targets: plan ? targetRows(plan) : [],
  }
}

const plannedAt = timeOrNowSql('$2')

// No later step joins `input`: Postgres expects one row of `begun`, and would compare each of 500 with each.
// waiting: a task that was changed after it was taken, so that it needs a batch, is left to the next group.
// placed: the bundle is named by a task that is in it, because one that is left out may name another later.
const beginSql = `
WITH input AS MATERIALIZED (
  SELECT * FROM jsonb_to_recordset($1::jsonb)
    AS r (id bigint, large boolean, wide boolean, unreachable bigint, batches jsonb, inbox text, copies text, targets jsonb,
      bundle bigint, single_lane text, single_channel text, device_id bigint, certificate_id bigint)
), waiting AS MATERIALIZED (
  SELECT t.id, i.bundle FROM input i JOIN task t ON t.id = i.id
  WHERE ${inDays('t.id')} AND t.state = 'accepted' AND NOT t.cancelling AND (i.bundle IS NULL OR (NOT t.paused AND t.speed IS NULL
    AND CASE WHEN t.lane_fixed THEN t.lane ELSE 'high' END = i.single_lane))
  ORDER BY t.id FOR UPDATE OF t SKIP LOCKED
), placed AS MATERIALIZED (
  SELECT id, CASE WHEN bundle IS NOT NULL THEN min(id) OVER (PARTITION BY bundle) END AS bundle FROM waiting
), begun AS (
  UPDATE task SET state = CASE WHEN w.bundle IS NOT NULL THEN 'bundled' WHEN i.large THEN 'planning' ELSE 'sending' END,
    bundle = w.bundle,
    lane = CASE WHEN lane_fixed THEN lane WHEN i.large THEN 'normal' ELSE 'high' END,
    deadline = LEAST(now() + ${deliveryWindowSql}, show_end), planned_at = CASE WHEN NOT i.large THEN now() END,
    unreachable = i.unreachable, wide = i.wide, speed_at = now()
  FROM placed w JOIN input i USING (id) WHERE task.id = w.id AND ${inDays('task.id')}
  RETURNING task.id, task.app_id, task.lane, task.deadline, task.paused, task.speed, task.bundle, i.large, i.batches, i.inbox, i.copies,
    i.targets, i.single_channel, i.device_id, i.certificate_id
), batches AS (
  ${insertBatchesSql({
    from: `begun t, jsonb_to_recordset(t.batches) AS b (${batchRecord})`,
    task: 't',
    taskId: 't.id',
    state: waitingStateSql('t'),
    plannedAt,
  })}
), bundles AS (
  ${insertBundlesSql(plannedAt)}
  FROM (SELECT *, single_channel AS channel, true AS waits FROM begun WHERE bundle IS NOT NULL) b GROUP BY 1, 2, 3
), inboxes AS (
  ${insertInboxSql('t', plannedAt, 'begun t, unnest(t.inbox::bigint[]) AS d (id)')}
), copies AS (
  ${insertCopiesSql('t', plannedAt, 'begun t, unnest(t.copies::bigint[]) AS d (id)')}
), slices AS (
  INSERT INTO slice (task_id, no, hi, cursor, width)
  SELECT t.id, n, LEAST(e.lo + n * s.span, e.hi), e.lo + (n - 1) * s.span, ${FIRST_WIDTH}
  FROM begun t
  CROSS JOIN LATERAL (
    SELECT (SELECT d.id FROM device d WHERE d.app_id = t.app_id ORDER BY d.id LIMIT 1) AS lo,
      (SELECT d.id FROM device d WHERE d.app_id = t.app_id ORDER BY d.id DESC LIMIT 1) + 1 AS hi
  ) e
  CROSS JOIN LATERAL (SELECT (e.hi - e.lo + ${SLICES - 1}) / ${SLICES} AS span) s
  CROSS JOIN generate_series(1, ${SLICES}) n
  WHERE t.large AND e.lo + (n - 1) * s.span < e.hi
), counted AS (
  INSERT INTO counter (task_id, channel, target, ranged, spread)
  SELECT t.id, n.channel, n.target, n.target, n.spread
  FROM begun t, jsonb_to_recordset(t.targets) AS n (${targetRecord})
), checks AS (
  ${addChecksSql("SELECT t.id AS task_id FROM begun t WHERE NOT t.large AND t.batches = '[]'")}
)
SELECT id FROM begun`
