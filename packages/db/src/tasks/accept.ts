import { retryWithBackoff, sleep } from '@herald/async'
import type { Audience, NewTask, Plan } from '@herald/domain'
import { hashOf } from '../devices/push-tokens.ts'
import {
  type BatchRow,
  batchRecord,
  batchRow,
  deliveryWindowSql,
  idList,
  insertBatchesSql,
  insertCopiesSql,
  insertInboxSql,
  type ReleasedBatch,
  releasedBundle,
  textList,
  timeOrNowSql,
} from '../ledger/batch-rows.ts'
import { addChecksSql, isWide, targetRecord, targetRows } from '../ledger/counter-rows.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { isConflict, isInDoubt, isTransient, retrying } from '../store/errors.ts'
import { run } from '../store/statement.ts'
import { firstReadAt } from './audience.ts'
import { bundlesOf, insertBundlesSql, type Single, singleOf, withoutFewWaiting } from './bundles.ts'
import { findRequestsSql, requestSteps } from './requests.ts'

export type TaskToAccept = {
  task: NewTask
  /** Undefined: the planner resolves the audience later, because it is large or the task starts later. */
  plan?: Plan
  /** Whether a batch is released at once, so that the caller enqueues its job; others are left to the feeder. */
  mayRelease(batch: Plan['batches'][number]): boolean
  /** Whether a task to one device may share a row with others (bundles.ts). */
  mayBundle?: boolean
  /** The same if it is left to the feeder. */
  mayWaitInBundle?(batch: Plan['batches'][number]): boolean
  /** That of `SmallAudiences`. */
  readAt?: number
}

export type AcceptedTask = {
  taskId: number
  /** False: the request id was used before, and taskId is that of the earlier task. */
  fresh: boolean
  released: ReleasedBatch[]
}

/** The connection was lost during the commit and Postgres did not come back in time: the tasks may or may not exist. */
export class AcceptInDoubt extends Error {}

/** All tasks were written except those whose request id was used before, and the ids of the earlier tasks could not be read. */
export class PartlyAccepted extends Error {
  readonly accepted: readonly (AcceptedTask | undefined)[]
  constructor(accepted: readonly (AcceptedTask | undefined)[], cause: unknown) {
    super('some tasks could not be looked up by their request id', { cause })
    this.accepted = accepted
  }
}

/** How long a caller waits for Postgres to come back after the connection was lost during the commit. */
const IN_DOUBT_MS = 10_000
/** How long a commit is repeated that deadlocks with others. */
const CONFLICT_MS = 2_000

/**
 * Commits tasks and the batches of small audiences in one statement, hence with one fsync. The caller enqueues jobs for the
 * `released` batches; if it crashes first, the planner does. Returns results in the order of `entries`.
 */
export async function acceptTasks(db: Database, entries: TaskToAccept[]): Promise<AcceptedTask[]> {
  // Sorted by request id, so that two commits with several ids in common wait for each other instead of deadlocking.
  const order = entries
    .map((entry, ord) => ({ entry, ord, key: requestKey(entry.task) }))
    .sort((a, b) => compare(a.key, b.key))
  const results: AcceptedTask[] = new Array(entries.length)
  const singles = withoutFewWaiting(order.map(({ entry }) => bundledSingle(entry)))
  const rows = order.map(({ entry, ord }, i) => taskRow(entry, ord, singles[i]))
  const { inserted, bundles, ids } = await insertOnce(db, rows, firstReadAt(entries))
  for (const [ord, taskId, released] of inserted) {
    results[ord] = { taskId, fresh: true, released: (released ?? []).map((batch) => ({ ...batch, taskId })) }
  }
  for (const bundle of bundles) results[bundle.ord]!.released.push(bundle.released)
  const missing = order.flatMap(({ entry, ord }, i) => (results[ord] ? [] : { entry, ord, drawn: ids[i] }))
  if (missing.length > 0) {
    const tasks = missing.map(({ entry }) => entry.task)
    const found = await retrying(() => findRequests(db, tasks)).catch((error: unknown) => {
      throw new PartlyAccepted(results, error)
    })
    missing.forEach(({ ord, drawn }, i) => {
      const taskId = found[i]
      if (taskId === undefined)
        throw new PartlyAccepted(
          results,
          new Error('a task was neither inserted nor found by its request id'),
        )
      // With the id that was drawn for it, the task is of the attempt whose reply was lost; the planner will enqueue its batches.
      results[ord] = { taskId, fresh: taskId === drawn, released: [] }
    })
  }
  return results
}

type InsertedRow = [ord: number, id: number, released: ReleasedJson[] | null, bundledAt?: number | null]
/** `ord` is one of the tasks of each bundle. */
type Inserted = { inserted: InsertedRow[]; bundles: { ord: number; released: ReleasedBatch }[] }

/**
 * Inserts the tasks once, even if the connection is lost during the commit. Their ids are drawn before the statement, so it can
 * be repeated: if the ids are then taken, the lost attempt was committed. If all tasks have request ids, a repetition inserts nothing
 * instead; their request ids then belong to the ids that were drawn. Returns these too.
 */
async function insertOnce(
  db: Database,
  tasks: TaskRow[],
  readAt: number | undefined,
): Promise<Inserted & { ids: readonly number[] }> {
  let ids = await newTaskIds(db, tasks.length)
  const withRequests = tasks.some((task) => task.request_id !== undefined)
  const insert = async (): Promise<Inserted> => {
    const bundles = bundlesOf(
      ids,
      tasks.map((task) => task.single),
    )
    const inserted = bundles.every((bundle) => bundle !== undefined)
      ? await insertBundled(db, tasks, ids, bundles, withRequests, readAt)
      : await insertPlanned(db, tasks, ids, bundles, withRequests, readAt)
    return { inserted, bundles: releasedBundles(tasks, bundles, inserted) }
  }
  for (let draws = 1; ; draws++) {
    try {
      // A deadlock with another commit was rolled back, so it is repeated. So is one that met a program of the previous release, which
      // used the same request id and does not know the table of them: the next attempt sees its task.
      const written = await retryWithBackoff(insert, {
        isTransient: (error) => isConflict(error) || isRequestTaken(error),
        forMs: CONFLICT_MS,
      })
      return { ...written, ids }
    } catch (error) {
      if (isInDoubt(error)) return { ...(await repeatInDoubt(error)), ids }
      // If the server's clock was set back, ids repeat. Nothing was written in this case; other ids are drawn.
      if (!isIdTaken(error) || draws > 3) throw error
      ids = await newTaskIds(db, tasks.length)
    }
  }

  async function repeatInDoubt(cause: unknown): Promise<Inserted> {
    await sleep(100 + 100 * Math.random())
    try {
      return await retryWithBackoff(insert, { isTransient, forMs: IN_DOUBT_MS, firstMs: 150, maxMs: 150 })
    } catch (error) {
      if (isIdTaken(error)) return findWritten(db, tasks, ids).catch(throwInDoubt)
      return throwInDoubt(cause)
    }
  }
}

function isIdTaken(error: unknown): boolean {
  const { code, constraint } = error as { code?: string; constraint?: string }
  return code === '23505' && /^task_(\d{8}_|before_)?pkey$/.test(constraint ?? '')
}

function isRequestTaken(error: unknown): boolean {
  const { code, constraint } = error as { code?: string; constraint?: string }
  return code === '23505' && /^task_(before_)?request$/.test(constraint ?? '')
}

function throwInDoubt(cause: unknown): never {
  throw new AcceptInDoubt('it is unknown whether the tasks were written', { cause })
}

async function newTaskIds(db: Database, count: number): Promise<number[]> {
  const rows = await run<[number]>(
    db.pool,
    'task-ids',
    'SELECT next_task_id() FROM generate_series(1, $1::int)',
    [count],
  )
  return rows.map(([id]) => id)
}

/** Inserts tasks of which some are not in a bundle. */
async function insertPlanned(
  db: Database,
  tasks: readonly TaskRow[],
  ids: readonly number[],
  bundles: readonly (number | undefined)[],
  withRequests: boolean,
  readAt: number | undefined,
): Promise<InsertedRow[]> {
  const kind = tasks.every(isBatched) ? 'batched' : 'any'
  const rows = JSON.stringify(tasks.map((task, i) => storedRow(task, ids[i]!, bundles[i])))
  return run<InsertedRow>(
    db.pool,
    `accept${kind === 'any' ? '' : `-${kind}`}${withRequests ? '-requests' : ''}`,
    acceptPlannedSql[kind][withRequests ? 'requests' : 'tasks'],
    [rows, readAt],
  )
}

/** Inserts tasks that are all in bundles. What consecutive tasks have in common is sent and read once. */
async function insertBundled(
  db: Database,
  tasks: readonly TaskRow[],
  ids: readonly number[],
  bundles: readonly (number | undefined)[],
  withRequests: boolean,
  readAt: number | undefined,
): Promise<InsertedRow[]> {
  const shared: SharedPart[] = []
  const numbers: number[] = []
  for (let i = 0; i < tasks.length; i++) {
    const part = sharedPart(tasks[i]!, bundles[i]!)
    if (shared.length === 0 || !isSame(shared.at(-1)!, part)) shared.push({ ...part, n: shared.length })
    numbers.push(shared.length - 1)
  }
  const [row] = await run<[freshIds: string | null, at: number]>(
    db.pool,
    `accept-bundled${withRequests ? '-requests' : ''}`,
    acceptBundledSql[withRequests ? 'requests' : 'tasks'],
    [
      JSON.stringify(shared),
      idList(numbers),
      idList(ids),
      withRequests ? textList(tasks.map((task) => task.request_id)) : null,
      jsonTexts(tasks.map((task) => task.audience)),
      jsonTexts(tasks.map((task) => task.message)),
      idList(tasks.map((task) => task.single!.deviceId)),
      readAt,
    ],
  )
  const [freshIds, at] = row!
  const fresh = freshIds === null ? undefined : new Set(freshIds.split(',').map(Number))
  return tasks.flatMap(({ ord }, i): InsertedRow[] =>
    !fresh || fresh.has(ids[i]!) ? [[ord, ids[i]!, null, at]] : [],
  )
}

/**
 * An array literal of JSON texts. They have no control characters, so the escapes of JSON are those of the literal: a backslash before
 * quotation marks and backslashes. The driver would look at each character of each text in JavaScript.
 */
function jsonTexts(texts: readonly string[]): string {
  return `{${JSON.stringify(texts).slice(1, -1)}}`
}

/** Returns the tasks of a commit whose reply was lost, without their released batches: the planner will enqueue those. */
async function findWritten(
  db: Database,
  tasks: { ord: number }[],
  ids: readonly number[],
): Promise<Inserted> {
  const rows = await retrying(() =>
    runWithin<[number]>(
      db.pool,
      daysOf(ids),
      'tasks-written',
      `SELECT id FROM task WHERE id = ANY($1::bigint[]) AND ${inDays('id')}`,
      [idList(ids)],
    ),
  )
  const written = new Set(rows.map(([id]) => id))
  const inserted = tasks.flatMap(({ ord }, i): InsertedRow[] =>
    written.has(ids[i]!) ? [[ord, ids[i]!, null]] : [],
  )
  return { inserted, bundles: [] }
}

/** The bundles that were written and released: of their tasks those that are fresh. */
function releasedBundles(
  tasks: readonly TaskRow[],
  bundles: readonly (number | undefined)[],
  inserted: readonly InsertedRow[],
): Inserted['bundles'] {
  if (!tasks.some(({ single }) => single && !single.waits)) return []
  const position = new Map(tasks.map(({ ord }, i) => [ord, i]))
  const written = new Map<number, { ord: number; at: number; singles: Single[] }>()
  for (const [ord, , , bundledAt] of inserted) {
    const i = position.get(ord)!
    const bundle = bundles[i]
    if (bundle === undefined || tasks[i]!.single!.waits) continue
    const known = written.get(bundle)
    if (known) known.singles.push(tasks[i]!.single!)
    else written.set(bundle, { ord, at: bundledAt ?? 0, singles: [tasks[i]!.single!] })
  }
  return [...written].map(([taskId, { ord, at, singles }]) => ({
    ord,
    released: releasedBundle({
      taskId,
      channel: singles[0]!.channel,
      lane: singles[0]!.lane,
      size: singles.length,
      releasedAt: at,
      certificateIds: singles.map(({ certificateId }) => certificateId),
    }),
  }))
}

type ReleasedJson = Omit<ReleasedBatch, 'taskId'>

/** The statements of a kind of commit: with `requests` some task has a request id, and only tasks whose id is new are inserted. */
function forms(sql: (steps: string, condition: string) => string): { tasks: string; requests: string } {
  return {
    tasks: sql('', 'true'),
    requests: sql(
      `, ${requestSteps('timed')}`,
      '(request_id IS NULL OR id IN (SELECT task_id FROM fresh_request))',
    ),
  }
}

/**
 * A step costs time also if it has no rows: Postgres opens its table, and calls its triggers. So the two usual kinds of commits have
 * statements without the steps that they do not need: single pushes in bundles, and single pushes in batches, which are left to the feeder.
 */
const acceptPlannedSql = {
  batched: forms((steps, condition) => plannedSql(steps, condition, false)),
  any: forms((steps, condition) => plannedSql(steps, condition, true)),
}
const acceptBundledSql = forms(bundledSql)

/** Returns one row: the ids of the inserted tasks, or null if that is all of them. */
function bundledSql(steps: string, condition: string): string {
  return `
WITH shared AS MATERIALIZED (
  SELECT s.*, s.sequence::text[] AS channels, to_timestamp(s.show_end) AS show_end_at,
    LEAST(GREATEST(now(), to_timestamp(s.show_begin)) + ${deliveryWindowSql}, to_timestamp(s.show_end)) AS deadline
  FROM json_to_recordset($1::json) AS s (n int, app_id text, group_id bigint, strategy text, sequence text, message_class text, lane text,
    lane_fixed boolean, ttl int, show_begin double precision, show_end double precision, unreachable bigint, bundle bigint, channel text,
    certificate_id bigint, waits boolean, campaign text, actor text, address text)
), timed AS MATERIALIZED (
  SELECT r.id, r.request_id, r.audience, r.message, r.device_id, s.*
  FROM unnest($2::int[], $3::bigint[], $4::text[], $5::json[], $6::json[], $7::bigint[]) AS r (n, id, request_id, audience, message, device_id)
  JOIN shared s USING (n)
)${steps}, inserted AS (
  INSERT INTO task (id, app_id, group_id, request_id, state, audience, strategy, sequence, message, message_class, lane,
    lane_fixed, ttl, begin_at, show_end, deadline, planned_at, unreachable, speed_at, bundle, campaign, events, actor, address, wide)
  SELECT id, app_id, group_id, request_id, 'bundled', audience, strategy, channels, message, message_class, lane,
    lane_fixed, ttl, GREATEST(now(), to_timestamp(show_begin)), show_end_at, deadline, now(), unreachable, now(), bundle, campaign, 0, actor,
    address, false
  FROM timed WHERE ${condition}
  RETURNING id
), bundles AS (
  ${insertBundlesSql(timeOrNowSql('$8'))}
  FROM timed JOIN inserted USING (id) GROUP BY 1, 2, 3
)
SELECT CASE WHEN count(*) < cardinality($3::bigint[]) THEN coalesce(string_agg(id::text, ','), '') END,
  (extract(epoch FROM now()) * 1000)::float8
FROM inserted`
}

/** Without `all`, every task has batches and no inbox. */
function plannedSql(steps: string, condition: string, all: boolean): string {
  const plannedAt = timeOrNowSql('$2')
  return `
WITH input AS MATERIALIZED (
  SELECT r.*, GREATEST(now(), to_timestamp(r.show_begin)) AS begin_at,
    to_timestamp(r.show_end) AS show_end_at
  FROM json_to_recordset($1::json) AS r (ord int, id bigint, app_id text, group_id bigint, request_id text, state text, audience text,
    strategy text, sequence text, message text, message_class text, lane text, lane_fixed boolean, speed int, ttl int,
    show_begin double precision, show_end double precision, unreachable bigint, batches json, inbox text, copies text, targets json,
    bundle bigint, channel text, device_id bigint, certificate_id bigint, waits boolean, campaign text, events smallint, actor text, address text, wide boolean)
), timed AS (
  SELECT *, CASE WHEN state <> 'accepted' THEN LEAST(begin_at + ${deliveryWindowSql}, show_end_at) END AS deadline FROM input
)${steps}, inserted AS (
  INSERT INTO task (id, app_id, group_id, request_id, state, audience, strategy, sequence, message, message_class, lane,
    lane_fixed, speed, ttl, begin_at, show_end, deadline, planned_at, unreachable, speed_at, bundle, campaign, events, actor, address, wide)
  SELECT id, app_id, group_id, request_id, state, audience::json, strategy, sequence::text[], message::json, message_class,
    lane, lane_fixed, speed, ttl, begin_at, show_end_at, deadline, CASE WHEN state <> 'accepted' THEN now() END, unreachable, now(), bundle,
    campaign, events, actor, address, wide
  FROM timed WHERE ${condition}
  RETURNING id
), fresh AS (
  SELECT t.* FROM timed t JOIN inserted USING (id)
), batches AS (
  ${insertBatchesSql({
    from: `fresh f, json_to_recordset(f.batches) AS b (state text, ${batchRecord})`,
    task: 'f',
    taskId: 'f.id',
    state: 'b.state',
    plannedAt,
    extra: ['released_at', "CASE WHEN b.state = 'released' THEN now() END"],
  })}
  RETURNING task_id, id, channel, certificate_id, node, lane, size, state
), counted AS (
  INSERT INTO counter (task_id, channel, target, ranged, spread)
  SELECT f.id, t.channel, t.target, t.target, t.spread FROM fresh f, json_to_recordset(f.targets) AS t (${targetRecord})
)${
    all
      ? `, bundles AS (
  ${insertBundlesSql(plannedAt)}
  FROM fresh WHERE bundle IS NOT NULL GROUP BY 1, 2, 3
), inboxes AS (
  ${insertInboxSql('f', plannedAt, 'fresh f, unnest(f.inbox::bigint[]) AS d (id)')}
), copies AS (
  ${insertCopiesSql('f', plannedAt, 'fresh f, unnest(f.copies::bigint[]) AS d (id)')}
), checks AS (
  ${addChecksSql("SELECT id AS task_id FROM fresh WHERE state = 'sending' AND batches IS NULL")}
)`
      : ''
  }
SELECT f.ord, f.id, r.batches, CASE WHEN f.bundle IS NOT NULL THEN (extract(epoch FROM now()) * 1000)::float8 END
FROM fresh f LEFT JOIN (
  SELECT task_id, json_agg(json_build_object('id', id, 'channel', channel, 'certificateId', certificate_id, 'node', node, 'lane', lane,
    'size', size, 'lost', 0, 'releasedAt', extract(epoch FROM now()) * 1000)) AS batches
  FROM batches WHERE state = 'released' GROUP BY task_id
) r ON r.task_id = f.id`
}

type TaskRow = ReturnType<typeof taskRow>

/** Whether the task needs nothing but batches and counters. */
function isBatched({ single, batches, inbox, copies }: TaskRow): boolean {
  return single === undefined && batches !== undefined && inbox === undefined && copies === undefined
}

type SharedPart = ReturnType<typeof sharedPart> & { n?: number }

/** What a task in a bundle has in common with most others of its commit. */
function sharedPart(task: TaskRow, bundle: number) {
  return {
    app_id: task.app_id,
    group_id: task.group_id,
    strategy: task.strategy,
    sequence: task.sequence,
    message_class: task.message_class,
    lane: task.lane,
    lane_fixed: task.lane_fixed,
    ttl: task.ttl,
    show_begin: task.show_begin,
    show_end: task.show_end,
    unreachable: task.unreachable,
    bundle,
    channel: task.single!.channel,
    certificate_id: task.single!.certificateId,
    waits: task.single!.waits,
    campaign: task.campaign,
    actor: task.actor,
    address: task.address,
  }
}

function isSame(one: SharedPart, other: ReturnType<typeof sharedPart>): boolean {
  for (const name in other)
    if (one[name as keyof typeof other] !== other[name as keyof typeof other]) return false
  return true
}

/** The row with its id. A task in a bundle has no batches and no targets. */
function storedRow({ single, ...task }: TaskRow, id: number, bundle: number | undefined) {
  if (!single || bundle === undefined) return { ...task, id }
  return {
    ...task,
    id,
    bundle,
    state: 'bundled',
    channel: single.channel,
    device_id: single.deviceId,
    certificate_id: single.certificateId,
    waits: single.waits,
  }
}

/** What the task needs for a bundle, if it may be in one. */
function bundledSingle({
  task,
  plan,
  mayRelease,
  mayBundle,
  mayWaitInBundle,
}: TaskToAccept): Single | undefined {
  const single = mayBundle ? singleOf(task, plan) : undefined
  if (!single) return undefined
  const batch = plan!.batches[0]!
  if (mayRelease(batch)) return single
  return mayWaitInBundle?.(batch) ? { ...single, waits: true } : undefined
}

function taskRow({ task, plan, mayRelease }: TaskToAccept, ord: number, single: Single | undefined) {
  return {
    ord,
    single,
    app_id: task.appId,
    group_id: task.groupId,
    request_id: task.requestId,
    state: plan ? 'sending' : 'accepted',
    audience: encodeAudience(task.audience),
    strategy: task.strategy,
    sequence: idList(task.sequence),
    message: JSON.stringify(task.message),
    message_class: task.messageClass,
    lane: task.lane ?? (plan ? 'high' : 'normal'),
    lane_fixed: task.lane !== undefined,
    speed: task.speed,
    ttl: task.ttl,
    show_begin: task.message.showBegin,
    show_end: task.message.showEnd,
    unreachable: plan?.unreachable ?? 0,
    batches: single
      ? undefined
      : filled(plan?.batches)?.map((batch): BatchRow & { state: string } => ({
          ...batchRow(batch),
          state: task.speed ? 'paced' : mayRelease(batch) ? 'released' : 'ready',
        })),
    inbox: listIn(plan?.inbox),
    copies: listIn(plan?.copies),
    targets: plan && !single ? filled(targetRows(plan)) : undefined,
    campaign: task.campaign,
    events: task.events ?? 0,
    actor: task.actor,
    address: task.address,
    wide: plan !== undefined && isWide(plan),
  }
}

// What is not in the JSON is NULL, and costs neither side anything: most rows have no list at all.
const filled = <T>(list: readonly T[] | undefined) => (list?.length ? list : undefined)
const listIn = (ids: readonly number[] | undefined) => filled(ids) && idList(ids!)

function requestKey(task: NewTask): string {
  return task.requestId === undefined ? '' : `${task.appId}\0${task.requestId}`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

async function findRequests(
  db: Database,
  tasks: readonly Pick<NewTask, 'appId' | 'requestId'>[],
): Promise<(number | undefined)[]> {
  const rows = await run<[ord: number, id: number]>(db.pool, 'find-requests', findRequestsSql, [
    tasks.map((task) => task.appId),
    tasks.map((task) => task.requestId ?? null),
  ])
  const found: (number | undefined)[] = tasks.map(() => undefined)
  for (const [ord, id] of rows) found[ord - 1] = id
  return found
}

/** Returns the task that used this request id. */
export async function findByRequestId(
  db: Database,
  appId: string,
  requestId: string,
): Promise<number | undefined> {
  const [taskId] = await findByRequestIds(db, appId, [requestId])
  return taskId
}

/** Returns the tasks that used these request ids, in their order. */
export async function findByRequestIds(
  db: Database,
  appId: string,
  requestIds: readonly string[],
): Promise<(number | undefined)[]> {
  if (requestIds.length === 0) return []
  return findRequests(
    db,
    requestIds.map((requestId) => ({ appId, requestId })),
  )
}

/** User ids are int64, so they are stored as text. Push tokens are stored as hashes. */
function encodeAudience(audience: Audience): string {
  if (audience.kind === 'user_id')
    return JSON.stringify({ ...audience, userIds: audience.userIds.map(String) })
  if (audience.kind === 'push_token')
    return JSON.stringify({ kind: 'push_token_hash', hashes: audience.pushTokens.map(hashOf) })
  return JSON.stringify(audience)
}

export function decodeAudience(stored: unknown): Audience {
  const audience = stored as Audience
  return audience.kind === 'user_id'
    ? { kind: 'user_id', userIds: audience.userIds.map((id) => BigInt(id)) }
    : audience
}
