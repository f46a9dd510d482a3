import type { Channel, Environment } from '@herald/domain'
import type { CertificateState } from '../certificates/certificates.ts'
import { countLettersSql, memberSql } from '../ledger/bundled-tasks.ts'
import type { Database } from '../store/database.ts'
import { inDays, runWithin } from '../store/days.ts'
import { openDays } from '../store/open-days.ts'
import { firstTaskIdAt } from '../store/partitions.ts'
import { fields, inUncheckedTransaction, run } from '../store/statement.ts'
import { lastSent, type RecentFigures, readFigures } from './channel-figures.ts'

/** The console's first page, for one application or for all. Times are Unix ms. */
export type Overview = {
  at: number
  /** Of tasks accepted within the last 24 hours: those of SettledTotal and `recent`. */
  total: Counts
  queues: Map<Channel, QueueView>
  /** By the time of sending. */
  figures: RecentFigures
  /** When something was last sent through a channel, if that was within a day. */
  lastSent: Map<Channel, number>
  certificates: CertificateView[]
  native: {
    online: number
    /** There were too many connections to look up the application of each, so `online` is extrapolated from some. */
    estimated: boolean
    gateways: number
  }
  tasksOpen: number
  acceptedLastMinute: number
}

/**
 * What batches wait for. `waiting`: a worker; `active`: they are being sent; `refused`: a certificate that the vendor refuses; `silent`: a
 * vendor that does not answer; `retry`: their next attempt; `speed`: the limit of their task; `paused`: their task is paused or cancelled.
 */
export const queueCauses = ['waiting', 'active', 'refused', 'silent', 'retry', 'speed', 'paused'] as const
export type QueueCause = (typeof queueCauses)[number]

type QueueView = {
  causes: Map<QueueCause, { batches: number; devices: number }>
  /** There are more batches than were counted; the numbers are lower bounds. */
  more: boolean
  /** Age of the oldest waiting batch. */
  oldestSeconds: number | null
}

type CertificateView = {
  id: number
  appId: string
  channel: Channel
  environment: Environment
  /** Null: the vendor's usual one. */
  region: string | null
  name: string
  state: CertificateState
  reason: string | null
  expiresAt: number | null
  /** The governor's bucket was in debt within the last ten seconds: more waits than the limits allow. */
  throttled: boolean
  /** Set while the vendor does not answer. */
  silentSince: number | null
  retryAt: number | null
  silence: string | null
  silenceCode: string | null
  /** When the vendor last accepted the present credentials, to the hour. */
  workedAt: number | null
  /** The parts that the vendor refuses at present. */
  held: string[]
}

const HOUR_MS = 3_600_000
/** The totals are of 24 hours, from a full hour on. */
const TOTAL_HOURS = 25
/** Maximum number of batches counted per certificate and state, so that a backlog of millions does not cost millions of reads. */
const MAX_BATCHES = 10_000
/** Maximum number of connections whose application is looked up. */
const MAX_CONNECTIONS = 20_000
const MAX_TASKS = 10_000
/** Maximum number of refused parts listed per certificate. */
const MAX_HOLDS = 10
const RECENT_MS = 600_000

type Counts = { sent: number; received: number; failed: number }

/**
 * The part of the totals that hardly changes: tasks of the last 24 hours that are older than ten minutes and have ended. A busy day
 * has millions of them, so this is read once per minute, and `readOverview` adds the recent and open tasks.
 */
export type SettledTotal = {
  /** The total includes tasks with ids below `edge`, except those in `open`. */
  edge: number
  open: number[]
  total: Counts
  lastSent: Map<Channel, number>
}

export async function readSettledTotal(db: Database, appId?: string): Promise<SettledTotal> {
  return readSnapshot(db, appId, async (read, at) => {
    // A full hour, so that old tasks leave the totals once per hour and not with every reading.
    const since = Math.floor((at - 24 * HOUR_MS) / HOUR_MS) * HOUR_MS
    const edge = firstTaskIdAt(at - RECENT_MS)
    const ids = await read.query<[number]>(
      'open-before',
      // Open tasks beyond the limit are included in the total, so their changes are seen once per minute.
      `SELECT id FROM (
         SELECT id FROM task WHERE ${inDays('id')} AND state IN ('planning', 'sending') AND ${read.inApp('app_id')} ORDER BY id LIMIT ${MAX_TASKS}
       ) t WHERE id >= $2 AND id < $3`,
      [firstTaskIdAt(since), edge],
    )
    const open = ids.map(([id]) => id)
    const [row] = await read.query<[sent: number, received: number, failed: number]>(
      'settled-total',
      `WITH open AS (SELECT sum(sent) AS sent, sum(received) AS received, sum(failed) AS failed
         FROM counter WHERE ${inDays('task_id')} AND task_id = ANY($4::bigint[]))
       SELECT (coalesce(sum(c.sent), 0) - coalesce(min(o.sent), 0))::bigint,
         (coalesce(sum(c.received), 0) - coalesce(min(o.received), 0))::bigint,
         (coalesce(sum(c.failed), 0) - coalesce(min(o.failed), 0))::bigint
       FROM open o, counter c ${read.allApps ? '' : `JOIN task t ON t.id = c.task_id AND ${inDays('t.id')} AND t.id >= $2 AND t.id < $3`}
       WHERE ${inDays('c.task_id')} AND c.task_id >= $2 AND c.task_id < $3 AND ${read.inApp('t.app_id')}`,
      [firstTaskIdAt(since), edge, open],
    )
    const [sent, received, failed] = row!
    const bundled = await bundledSent(read, firstTaskIdAt(since), edge)
    return {
      edge,
      open,
      total: { sent: sent + bundled, received, failed },
      lastSent: await lastSent(read.query),
    }
  })
}

export async function readOverview(
  db: Database,
  appId: string | undefined,
  settled: SettledTotal,
): Promise<Overview> {
  return readSnapshot(db, appId, async (read, at) => {
    const recent = await recentCounts(read, settled)
    const bundled = await bundleQueues(read)
    const open = await openTasks(read, at)
    return {
      at,
      total: {
        sent: settled.total.sent + recent.sent,
        received: settled.total.received + recent.received,
        failed: settled.total.failed + recent.failed,
      },
      figures: await readFigures(read.query, read.allApps),
      lastSent: settled.lastSent,
      queues: mergeQueues(
        await vendorQueues(read),
        bundled,
        await nativeQueues(read),
        await delayedByTask(read),
      ),
      certificates: await certificates(read),
      native: await connections(read),
      ...open,
      tasksOpen: bundled.reduce((sum, [, , batches]) => sum + batches, open.tasksOpen),
    }
  })
}

type Reader = {
  query<Row extends unknown[]>(name: string, sql: string, values?: unknown[]): Promise<Row[]>
  /** The condition that a column is the application; always true when all applications are read. */
  inApp(column: string): string
  allApps: boolean
}

/**
 * Reads from one snapshot, through indexes only and with a time limit, because every open console asks every few seconds. $1 is the
 * application in every statement.
 */
async function readSnapshot<T>(
  db: Database,
  appId: string | undefined,
  readAll: (read: Reader, at: number) => Promise<T>,
): Promise<T> {
  const allApps = appId === undefined
  const days = await openDays(db, TOTAL_HOURS)
  return inUncheckedTransaction(db, async (runner) => {
    await runner.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
    // If the statistics of a table are old, Postgres may take it for small and read it whole.
    await runner.query(`SET LOCAL enable_seqscan = off; SET LOCAL statement_timeout = '10s'`)
    const read: Reader = {
      query: (name, sql, values = []) =>
        runWithin(runner, days, `overview-${name}${allApps ? '' : '-app'}`, sql, [appId ?? null, ...values]),
      inApp: (column) => (allApps ? '$1::text IS NULL' : `${column} = $1`),
      allApps,
    }
    const [now] = await run<[number]>(
      runner,
      'overview-now',
      'SELECT (extract(epoch FROM now()) * 1000)::bigint',
      [],
    )
    return readAll(read, now![0])
  })
}

/** Of tasks accepted within the last ten minutes, and of older ones that had not ended when the totals were read. */
async function recentCounts(read: Reader, { edge, open }: SettledTotal): Promise<Counts> {
  const [row] = await read.query<[sent: number, received: number, failed: number]>(
    'recent',
    `SELECT coalesce(sum(sent), 0)::bigint, coalesce(sum(received), 0)::bigint, coalesce(sum(failed), 0)::bigint FROM (
       SELECT c.sent, c.received, c.failed
       FROM counter c ${read.allApps ? '' : `JOIN task t ON t.id = c.task_id AND ${inDays('t.id')} AND t.id >= $2`}
       WHERE ${inDays('c.task_id')} AND c.task_id >= $2 AND ${read.inApp('t.app_id')}
       UNION ALL SELECT sent, received, failed FROM counter WHERE ${inDays('task_id')} AND task_id = ANY($3::bigint[])
     ) c`,
    [edge, open],
  )
  const [sent, received, failed] = row!
  return { sent: sent + (await bundledSent(read, edge)), received, failed }
}

/** Tasks with ids from `from` on, and below `upto`, that were sent in bundles. One row per up to 64 tasks, unless one application is asked for. */
async function bundledSent(read: Reader, from: number, upto?: number): Promise<number> {
  const bounds = (column: string) =>
    `${inDays(column)} AND ${column} >= $2 AND ($3::bigint IS NULL OR ${column} < $3)`
  const [row] = await read.query<[sent: number]>(
    'bundled',
    read.allApps
      ? `SELECT coalesce(sum(${countLettersSql('status', 's')}), 0)::bigint FROM bundle WHERE ${bounds('task_id')} AND $1::text IS NULL`
      : `SELECT count(*) FROM task t ${memberSql('t')}
         WHERE t.app_id = $1 AND ${bounds('t.id')} AND m.letter = 's'`,
    [from, upto ?? null],
  )
  return row![0]
}

type QueueRow = [
  channel: Channel,
  cause: QueueCause,
  batches: number,
  devices: number,
  more: boolean,
  oldest: number | null,
]

const ageSql = (planned: string) => `extract(epoch FROM now() - ${planned})::float8`

/** At most MAX_BATCHES batches per state, in the order of an index, so that Postgres uses that index. */
function countedBatches(destination: 'certificate_id = c.id' | 'certificate_id IS NULL') {
  const some = (columns: string, state: string, order: string) =>
    `(SELECT ${columns} FROM batch WHERE ${inDays('task_id')} AND state = '${state}' AND ${destination} ORDER BY ${order} LIMIT ${MAX_BATCHES})`
  return {
    ready: some('app_id, size, not_before, planned_at', 'ready', 'certificate_id, node, lane, not_before'),
    released: some('app_id, size, planned_at', 'released', 'certificate_id, released_at'),
    sending: some('app_id, size', 'sending', 'certificate_id, lease_until'),
  }
}

function vendorQueues(read: Reader): Promise<QueueRow[]> {
  const { ready, released, sending } = countedBatches('certificate_id = c.id')
  const first = (lane: string) =>
    `(SELECT planned_at FROM batch WHERE ${inDays('task_id')} AND state = 'ready' AND certificate_id = c.id AND node IS NULL AND lane = '${lane}'
      AND not_before <= now() ORDER BY node, not_before LIMIT 1)`
  const limited = `sum(count(*)) OVER () = ${MAX_BATCHES}`
  return read.query(
    'vendor-queues',
    `SELECT c.channel, q.cause, sum(q.n)::int, sum(q.devices)::float8, bool_or(q.more),
       max(${ageSql(`CASE q.cause WHEN 'waiting' THEN least(${first('high')}, ${first('normal')}, q.planned_at) END`)})
     FROM certificate c LEFT JOIN breaker r ON r.certificate_id = c.id
     CROSS JOIN LATERAL (
       SELECT CASE WHEN c.state = 'closed' THEN 'refused' WHEN r.certificate_id IS NOT NULL THEN 'silent' WHEN not_before <= now() THEN 'waiting'
           ELSE 'retry' END AS cause, count(*) AS n, sum(size) AS devices, NULL::timestamptz AS planned_at, ${limited} AS more
         FROM ${ready} b GROUP BY 1
       UNION ALL SELECT 'waiting', count(*), sum(size), min(planned_at), ${limited} FROM ${released} b HAVING count(*) > 0
       UNION ALL SELECT 'active', count(*), sum(size), NULL, ${limited} FROM ${sending} b HAVING count(*) > 0
     ) q
     WHERE ${read.inApp('c.app_id')} GROUP BY 1, 2`,
  )
}

/** Each pending task of a bundle counts as a batch. Few bundles are not settled: single pushes wait for a worker only while it has room. */
function bundleQueues(read: Reader): Promise<QueueRow[]> {
  return read.query(
    'bundle-queues',
    `SELECT b.channel, CASE b.state WHEN 'released' THEN 'waiting' ELSE 'active' END, count(*)::int, count(*)::float8, false,
       ${ageSql(`min(b.planned_at) FILTER (WHERE b.state = 'released')`)}
     FROM bundle b CROSS JOIN LATERAL unnest(b.certificates) WITH ORDINALITY AS m (id, n) JOIN certificate c ON c.id = m.id
     WHERE ${inDays('b.task_id')} AND b.state <> 'settled' AND substr(b.status, m.n::int, 1) = '.' AND ${read.inApp('c.app_id')} GROUP BY 1, 2`,
  )
}

/** Native batches have no certificate: the application is in the row, and batches of other applications count towards the limit. */
function nativeQueues(read: Reader): Promise<QueueRow[]> {
  const { ready, released, sending } = countedBatches('certificate_id IS NULL')
  const counted = (cause: string, planned: string, from: string) =>
    `SELECT ${cause} AS cause, count(*) FILTER (WHERE ${read.inApp('app_id')}) AS n, sum(size) FILTER (WHERE ${read.inApp('app_id')}) AS devices,
       sum(count(*)) OVER () = ${MAX_BATCHES} AS more, ${planned} AS planned_at FROM ${from} b GROUP BY 1`
  const oldest = `min(planned_at) FILTER (WHERE ${read.inApp('app_id')})`
  return read.query(
    'native-queues',
    `SELECT 'native', cause, n::int, devices::float8, more, CASE cause WHEN 'waiting' THEN ${ageSql('planned_at')} END FROM (
       ${counted(`CASE WHEN not_before <= now() THEN 'waiting' ELSE 'retry' END`, oldest, ready)}
       UNION ALL ${counted(`'waiting'`, oldest, released)}
       UNION ALL ${counted(`'active'`, 'NULL', sending)}
     ) q WHERE n > 0 OR more`,
  )
}

/** Batches of tasks that are paused, cancelled or have a speed limit. They do not wait for a worker, so they have no age. */
function delayedByTask(read: Reader): Promise<QueueRow[]> {
  return read.query(
    'delayed-by-task',
    `WITH delaying AS (
       SELECT id FROM task WHERE ${inDays('id')} AND speed IS NOT NULL AND state IN ('planning', 'sending') AND ${read.inApp('app_id')}
       UNION
       SELECT id FROM task WHERE ${inDays('id')} AND (paused OR cancelling) AND state IN ('accepted', 'planning', 'sending') AND ${read.inApp('app_id')}
     ), delayed AS (
       SELECT b.channel, b.state, b.size FROM delaying d CROSS JOIN LATERAL (
         SELECT channel, state, size FROM batch WHERE ${inDays('task_id')} AND task_id = d.id AND state IN ('paced', 'held') LIMIT ${MAX_BATCHES}
       ) b LIMIT ${MAX_BATCHES}
     )
     SELECT channel, CASE state WHEN 'paced' THEN 'speed' ELSE 'paused' END, count(*)::int, sum(size)::float8,
       (SELECT count(*) FROM delayed) = ${MAX_BATCHES}, NULL
     FROM delayed GROUP BY 1, 2`,
  )
}

function mergeQueues(...lists: QueueRow[][]): Overview['queues'] {
  const queues: Overview['queues'] = new Map()
  for (const [channel, cause, batches, devices, more, oldest] of lists.flat()) {
    const queue = queues.get(channel) ?? { causes: new Map(), more: false, oldestSeconds: null }
    queues.set(channel, queue)
    const known = queue.causes.get(cause)
    queue.causes.set(cause, {
      batches: (known?.batches ?? 0) + batches,
      devices: (known?.devices ?? 0) + (devices ?? 0),
    })
    queue.more ||= more
    if (oldest !== null) queue.oldestSeconds = Math.max(queue.oldestSeconds ?? 0, oldest)
  }
  return queues
}

const certificateView = fields<CertificateView>({
  id: 'c.id',
  appId: 'c.app_id',
  channel: 'c.channel',
  environment: `CASE c.environment WHEN 1 THEN 'production' ELSE 'development' END`,
  region: `nullif(c.region, '')`,
  name: 'c.name',
  state: 'c.state',
  reason: 'c.last_error',
  expiresAt: '(extract(epoch FROM c.expires_at) * 1000)::bigint',
  throttled: `EXISTS (SELECT 1 FROM governor g WHERE g.certificate_id = c.id AND (g.requests < 0 OR g.devices < 0)
         AND g.refilled_at > now() - interval '10 seconds')`,
  silentSince: '(extract(epoch FROM r.opened_at) * 1000)::bigint',
  retryAt: '(extract(epoch FROM r.retry_at) * 1000)::bigint',
  silence: 'r.text',
  silenceCode: 'r.code',
  workedAt: `(SELECT (extract(epoch FROM u.worked_at) * 1000)::bigint FROM certificate_use u WHERE u.certificate_id = c.id AND u.worked_at >= c.updated_at)`,
  held: `ARRAY(SELECT h.scope FROM certificate_hold h WHERE h.certificate_id = c.id AND h.until > now() ORDER BY h.scope LIMIT ${MAX_HOLDS})`,
})

async function certificates(read: Reader): Promise<CertificateView[]> {
  const rows = await read.query(
    'certificates',
    `SELECT ${certificateView.sql} FROM certificate c LEFT JOIN breaker r ON r.certificate_id = c.id WHERE ${read.inApp('c.app_id')}
     ORDER BY c.app_id, c.channel, c.environment DESC, c.region`,
  )
  return rows.map(certificateView.read)
}

async function connections(read: Reader): Promise<Overview['native']> {
  const [row] = await read.query<[total: number, seen: number, own: number, gateways: number]>(
    'connections',
    // OFFSET 0 forces a lookup by id for each device; otherwise Postgres may hash the whole table.
    `SELECT (SELECT count(*) FROM presence)::int, seen, own, (SELECT count(*) FROM gateway_node WHERE lease_until > now())::int
     FROM (SELECT count(*)::int AS seen, count(*) FILTER (WHERE ${read.inApp('d.app_id')})::int AS own
       FROM (SELECT device_id FROM presence LIMIT ${MAX_CONNECTIONS}) p
       CROSS JOIN LATERAL (SELECT app_id FROM device WHERE id = p.device_id OFFSET 0) d) s`,
  )
  const [total, seen, own, gateways] = row!
  if (read.allApps) return { online: total, estimated: false, gateways }
  const estimated = seen === MAX_CONNECTIONS && seen < total
  return { online: estimated ? Math.round((total * own) / seen) : own, estimated, gateways }
}

async function openTasks(
  read: Reader,
  at: number,
): Promise<Pick<Overview, 'tasksOpen' | 'acceptedLastMinute'>> {
  const [row] = await read.query<[open: number, accepted: number]>(
    'tasks',
    `SELECT (SELECT count(*) FROM (SELECT 1 FROM task WHERE ${inDays('id')} AND state = 'accepted' AND ${read.inApp('app_id')} LIMIT ${MAX_TASKS}) t)::int
       + (SELECT count(*) FROM (
           SELECT 1 FROM task WHERE ${inDays('id')} AND state IN ('planning', 'sending') AND finished_at IS NULL AND ${read.inApp('app_id')}
           LIMIT ${MAX_TASKS}) t)::int,
       (SELECT count(*) FROM task WHERE ${inDays('id')} AND id >= $2 AND ${read.inApp('app_id')})::int`,
    [firstTaskIdAt(at - 60_000)],
  )
  return { tasksOpen: row![0], acceptedLastMinute: row![1] }
}
