import type { Channel } from '@herald/domain'
import type { CertificateState } from '../certificates/certificates.ts'
import type { Database } from '../store/database.ts'
import { type Environment, environmentOf } from '../store/environments.ts'
import { firstTaskIdAt } from '../store/partitions.ts'
import { inTransaction, type Runner, run } from '../store/statement.ts'

/** What the console's first page shows, of one application or of all. Times are Unix ms. */
export type Overview = {
  at: number
  /** Of tasks accepted within 24 hours. */
  total: { sent: number; received: number; failed: number }
  queues: Map<Channel, QueueView>
  /** Devices of tasks of the last ten minutes and of those under way. */
  recent: Map<Channel, { sent: number; received: number; failed: number }>
  certificates: CertificateView[]
  native: {
    online: number
    /** There are more connections than are looked at for one application: `online` is a share of all of them. */
    estimated: boolean
    gateways: number
  }
  tasksOpen: number
  acceptedLastMinute: number
}

type QueueView = {
  /** Batches that could be sent now. */
  waiting: number
  /** Batches being sent. */
  active: number
  /** Batches held back: by backoff, by a speed, by a pause. */
  delayed: number
  /** There are more than are counted; the figures are the least there is. */
  more: boolean
  /** Age of the batch that waits longest. */
  oldestSeconds: number | null
}

type CertificateView = {
  id: number
  appId: string
  channel: Channel
  environment: Environment
  name: string
  state: CertificateState
  reason: string | null
  expiresAt: number | null
  /** The governor's bucket was in debt within the last seconds: more waits than the limits let through. */
  throttled: boolean
}

const HOUR_MS = 3_600_000
/** Batches of one certificate and state that are counted; a million waiting ones must not cost a million reads. */
const MOST_BATCHES = 10_000
/** Connections that are looked at to tell how many are one application's. */
const MOST_CONNECTIONS = 20_000
const MOST_TASKS = 10_000
const RECENT_MS = 600_000

/**
 * The part of the totals that hardly moves: tasks of the day that are older than ten minutes and had ended. A busy day has
 * millions, so this is read once a minute, and every look adds what lives.
 */
export type SettledTotal = {
  /** Tasks from this one on, and `open` ones before it, are not in the total. */
  edge: number
  open: number[]
  total: Overview['total']
}

export async function readSettledTotal(db: Database, appId?: string): Promise<SettledTotal> {
  return look(db, appId, async (ask, at) => {
    // A full hour, so that the totals fall once an hour and not at every look.
    const since = Math.floor((at - 24 * HOUR_MS) / HOUR_MS) * HOUR_MS
    const edge = firstTaskIdAt(at - RECENT_MS)
    const ids = await ask<[number]>(
      'open-before',
      // Those beyond the limit are in the total as they stand now, and are seen to move once a minute.
      `SELECT id FROM (
         SELECT id FROM task WHERE state IN ('planning', 'sending') AND {app app_id} ORDER BY check_at LIMIT ${MOST_TASKS}
       ) t WHERE id >= $2 AND id < $3`,
      [firstTaskIdAt(since), edge],
    )
    const open = ids.map(([id]) => id)
    const [row] = await ask<[sent: number, received: number, failed: number]>(
      'settled-total',
      `WITH open AS (SELECT sum(sent) AS sent, sum(received) AS received, sum(failed) AS failed
         FROM counter WHERE task_id = ANY($4::bigint[]))
       SELECT (coalesce(sum(c.sent), 0) - coalesce(min(o.sent), 0))::bigint,
         (coalesce(sum(c.received), 0) - coalesce(min(o.received), 0))::bigint,
         (coalesce(sum(c.failed), 0) - coalesce(min(o.failed), 0))::bigint
       FROM open o, counter c ${ask.everybody ? '' : 'JOIN task t ON t.id = c.task_id AND t.id >= $2 AND t.id < $3'}
       WHERE c.task_id >= $2 AND c.task_id < $3 AND {app t.app_id}`,
      [firstTaskIdAt(since), edge, open],
    )
    const [sent, received, failed] = row!
    return { edge, open, total: { sent, received, failed } }
  })
}

export async function readOverview(
  db: Database,
  appId: string | undefined,
  settled: SettledTotal,
): Promise<Overview> {
  return look(db, appId, async (ask, at) => {
    const recent = await living(ask, settled)
    const total = { ...settled.total }
    for (const { sent, received, failed } of recent.values()) {
      total.sent += sent
      total.received += received
      total.failed += failed
    }
    return {
      at,
      total,
      recent,
      queues: mergeQueues(await vendorQueues(ask), await nativeQueues(ask), await heldBack(ask)),
      certificates: await certificates(ask),
      native: await connections(ask),
      ...(await openTasks(ask, at)),
    }
  })
}

/**
 * Reads from one snapshot, through indexes alone and within a time limit: this is asked again every few seconds by every
 * open console.
 */
async function look<T>(
  db: Database,
  appId: string | undefined,
  read: (ask: Ask, at: number) => Promise<T>,
): Promise<T> {
  return inTransaction(db, async (runner) => {
    await runner.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
    // A table whose statistics lag behind looks small enough to be read whole.
    await runner.query(`SET LOCAL enable_seqscan = off; SET LOCAL statement_timeout = '10s'`)
    const [now] = await run<[number]>(
      runner,
      'overview-now',
      'SELECT (extract(epoch FROM now()) * 1000)::bigint',
      [],
    )
    return read(asker(runner, appId), now![0])
  })
}

type Ask = {
  <Row extends unknown[]>(name: string, sql: string, values?: unknown[]): Promise<Row[]>
  everybody: boolean
}

/** `{app column}` in a statement becomes the condition on the application, or none; $1 is always the application. */
function asker(runner: Runner, appId: string | undefined): Ask {
  const everybody = appId === undefined
  const ask = <Row extends unknown[]>(name: string, sql: string, values: unknown[] = []) =>
    run<Row>(
      runner,
      `overview-${name}${everybody ? '' : '-app'}`,
      sql.replaceAll(/\{app ([\w.]+)\}/g, (_, column) => (everybody ? '$1::text IS NULL' : `${column} = $1`)),
      [appId ?? null, ...values],
    )
  return Object.assign(ask, { everybody })
}

async function living(ask: Ask, { edge, open }: SettledTotal): Promise<Overview['recent']> {
  const rows = await ask<[Channel, number, number, number]>(
    'living',
    `SELECT channel, sum(sent)::bigint, sum(received)::bigint, sum(failed)::bigint FROM (
       SELECT c.channel, c.sent, c.received, c.failed
       FROM counter c ${ask.everybody ? '' : 'JOIN task t ON t.id = c.task_id AND t.id >= $2'}
       WHERE c.task_id >= $2 AND {app t.app_id}
       UNION ALL SELECT channel, sent, received, failed FROM counter WHERE task_id = ANY($3::bigint[])
     ) c GROUP BY 1`,
    [edge, open],
  )
  return new Map(rows.map(([channel, sent, received, failed]) => [channel, { sent, received, failed }]))
}

type QueueRow = [
  channel: Channel,
  waiting: number,
  active: number,
  delayed: number,
  more: boolean,
  oldest: number | null,
]

const age = (planned: string) => `extract(epoch FROM now() - ${planned})::float8`

/** In the order of the index, so that the planner has no reason to look anywhere else. */
function counted(outlet: string) {
  const some = (columns: string, state: string, order: string) =>
    `(SELECT ${columns} FROM batch WHERE state = '${state}' AND ${outlet} ORDER BY ${order} LIMIT ${MOST_BATCHES})`
  return {
    ready: some('app_id, not_before, planned_at', 'ready', 'certificate_id, node, lane, not_before'),
    released: some('app_id, planned_at', 'released', 'certificate_id, released_at'),
    sending: some('app_id', 'sending', 'certificate_id, lease_until'),
  }
}

function vendorQueues(ask: Ask): Promise<QueueRow[]> {
  const { ready, released, sending } = counted('certificate_id = c.id')
  const first = (lane: string) =>
    `(SELECT planned_at FROM batch WHERE state = 'ready' AND certificate_id = c.id AND node IS NULL AND lane = '${lane}'
      AND not_before <= now() ORDER BY node, not_before LIMIT 1)`
  return ask(
    'vendor-queues',
    `SELECT c.channel, sum(r.due + l.n)::int, sum(s.n)::int, sum(r.later)::int,
       bool_or(r.due + r.later = ${MOST_BATCHES} OR l.n = ${MOST_BATCHES} OR s.n = ${MOST_BATCHES}), max(${age('o.planned_at')})
     FROM certificate c
     CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE not_before <= now()) AS due,
       count(*) FILTER (WHERE not_before > now()) AS later FROM ${ready} b) r
     CROSS JOIN LATERAL (SELECT count(*) AS n, min(planned_at) AS planned_at FROM ${released} b) l
     CROSS JOIN LATERAL (SELECT count(*) AS n FROM ${sending} b) s
     CROSS JOIN LATERAL (SELECT least(${first('high')}, ${first('normal')}, l.planned_at) AS planned_at) o
     WHERE {app c.app_id} GROUP BY c.channel`,
  )
}

/** Native batches have no certificate, so the application is told by the row: what others have counts towards the limit. */
function nativeQueues(ask: Ask): Promise<QueueRow[]> {
  const { ready, released, sending } = counted('certificate_id IS NULL')
  return ask(
    'native-queues',
    `SELECT 'native', (r.due + l.n)::int, s.n::int, r.later::int,
       r.total = ${MOST_BATCHES} OR l.total = ${MOST_BATCHES} OR s.total = ${MOST_BATCHES},
       ${age('least(r.planned_at, l.planned_at)')}
     FROM (SELECT count(*) AS total, count(*) FILTER (WHERE {app app_id} AND not_before <= now()) AS due,
         count(*) FILTER (WHERE {app app_id} AND not_before > now()) AS later,
         min(planned_at) FILTER (WHERE {app app_id} AND not_before <= now()) AS planned_at FROM ${ready} b) r,
       (SELECT count(*) AS total, count(*) FILTER (WHERE {app app_id}) AS n,
         min(planned_at) FILTER (WHERE {app app_id}) AS planned_at FROM ${released} b) l,
       (SELECT count(*) AS total, count(*) FILTER (WHERE {app app_id}) AS n FROM ${sending} b) s`,
  )
}

/** Batches that a speed or a pause holds back. They wait for their task, so they have no age of their own. */
function heldBack(ask: Ask): Promise<QueueRow[]> {
  return ask(
    'held-back',
    `WITH holding AS (
       SELECT id FROM task WHERE speed IS NOT NULL AND state IN ('planning', 'sending') AND {app app_id}
       UNION
       SELECT id FROM task WHERE (paused OR cancelling) AND state IN ('accepted', 'planning', 'sending') AND {app app_id}
     ), held AS (
       SELECT b.channel FROM holding h CROSS JOIN LATERAL (
         SELECT channel FROM batch WHERE task_id = h.id AND state IN ('paced', 'held') LIMIT ${MOST_BATCHES}
       ) b LIMIT ${MOST_BATCHES}
     )
     SELECT channel, 0, 0, count(*)::int, (SELECT count(*) FROM held) = ${MOST_BATCHES}, NULL FROM held GROUP BY channel`,
  )
}

function mergeQueues(...lists: QueueRow[][]): Overview['queues'] {
  const queues: Overview['queues'] = new Map()
  for (const [channel, waiting, active, delayed, more, oldest] of lists.flat()) {
    const known = queues.get(channel)
    queues.set(channel, {
      waiting: (known?.waiting ?? 0) + waiting,
      active: (known?.active ?? 0) + active,
      delayed: (known?.delayed ?? 0) + delayed,
      more: (known?.more ?? false) || more,
      oldestSeconds: known?.oldestSeconds ?? oldest,
    })
  }
  return queues
}

async function certificates(ask: Ask): Promise<CertificateView[]> {
  const rows = await ask<
    [number, string, Channel, number, string, CertificateView['state'], string | null, number | null, boolean]
  >(
    'certificates',
    `SELECT c.id, c.app_id, c.channel, c.environment, c.name, c.state, c.last_error,
       (extract(epoch FROM c.expires_at) * 1000)::bigint,
       EXISTS (SELECT 1 FROM governor g WHERE g.certificate_id = c.id AND (g.requests < 0 OR g.devices < 0)
         AND g.refilled_at > now() - interval '10 seconds')
     FROM certificate c WHERE {app c.app_id} ORDER BY c.app_id, c.channel, c.environment DESC`,
  )
  return rows.map(([id, appId, channel, environment, name, state, reason, expiresAt, throttled]) => ({
    id,
    appId,
    channel,
    environment: environmentOf(environment),
    name,
    state,
    reason,
    expiresAt,
    throttled,
  }))
}

async function connections(ask: Ask): Promise<Overview['native']> {
  const [row] = await ask<[total: number, seen: number, own: number, gateways: number]>(
    'connections',
    // The offset keeps the look at each device a look by its id: joined freely, the whole of device may be hashed.
    `SELECT (SELECT count(*) FROM presence)::int, seen, own, (SELECT count(*) FROM gateway_node WHERE lease_until > now())::int
     FROM (SELECT count(*)::int AS seen, count(*) FILTER (WHERE {app d.app_id})::int AS own
       FROM (SELECT device_id FROM presence LIMIT ${MOST_CONNECTIONS}) p
       CROSS JOIN LATERAL (SELECT app_id FROM device WHERE id = p.device_id OFFSET 0) d) s`,
  )
  const [total, seen, own, gateways] = row!
  if (ask.everybody) return { online: total, estimated: false, gateways }
  const estimated = seen === MOST_CONNECTIONS && seen < total
  return { online: estimated ? Math.round((total * own) / seen) : own, estimated, gateways }
}

async function openTasks(ask: Ask, at: number): Promise<Pick<Overview, 'tasksOpen' | 'acceptedLastMinute'>> {
  const [row] = await ask<[open: number, accepted: number]>(
    'tasks',
    `SELECT (SELECT count(*) FROM (SELECT 1 FROM task WHERE state = 'accepted' AND {app app_id} LIMIT ${MOST_TASKS}) t)::int
       + (SELECT count(*) FROM (
           SELECT 1 FROM task WHERE state IN ('planning', 'sending') AND {app app_id} LIMIT ${MOST_TASKS}) t)::int,
       (SELECT count(*) FROM task WHERE id >= $2 AND {app app_id})::int`,
    [firstTaskIdAt(at - 60_000)],
  )
  return { tasksOpen: row![0], acceptedLastMinute: row![1] }
}
