import { randomBytes } from 'node:crypto'
import { createSealer, type Database, openDatabase } from '@herald/db/store'
import { inCopy } from '../copy-database.ts'
import { startSink } from '../http2/start-sink.ts'
import { addApplications, applicationId, applicationSecret } from '../loaded/prepare.ts'
import { cpuNote, type Metrics, rounded } from '../metric.ts'
import { type Caller, CONNECTIONS, type Figures, notifyEach } from './accept.ts'
import { type Deployment, type GivenDatabase, startBenchServer, startDeployment } from './deployment.ts'
import { sendRequests } from './raw-client.ts'

/** The first application has as many devices as are pushed to in a run, so that one application alone has no hot rows. */
const DEVICES_OF_FIRST = 10_000
const DEVICES_OF_OTHERS = 10

export type TenantSizes = {
  /** Applications that push in turn, one of them 1; in ascending order. */
  counts: readonly number[]
  requests: number
  /** Requests of the run in which every application pushes once per minute. */
  paced: number
}

export const tenantSizes: TenantSizes = { counts: [1, 1_000, 10_000], requests: 30_000, paced: 10_000 }
export const quickTenantSizes: TenantSizes = { counts: [1, 1_000, 10_000], requests: 10_000, paced: 2_000 }

/**
 * Notify requests of one, a thousand and ten thousand applications in turn: without a worker, and with a worker that sends them. All
 * runs of a kind use the same processes, so that the caches are filled by all applications before.
 */
export async function measureTenants(sizes: TenantSizes): Promise<Metrics> {
  const most = sizes.counts.at(-1)!
  const server = await startBenchServer()
  try {
    const masterKey = randomBytes(32)
    const url = await server.createDatabase()
    const db = openDatabase(url, { max: 4, name: 'tenants' })
    try {
      await addApplications(db, createSealer(masterKey), most)
      await addDevices(db, most)
    } finally {
      await db.close()
    }
    const accept = await inCopy(url, (copy) => measureWith([], sizes, { url: copy, masterKey }))
    const send = await inCopy(url, (copy) => measureWith(['worker-apns'], sizes, { url: copy, masterKey }))
    return tenantMetrics(sizes, accept, send)
  } finally {
    await server.stop()
  }
}

/** By number of applications; `paced` at the rate of one push per minute of each of the most applications. */
export type TenantFigures = { full: Map<number, Figures>; paced: Map<number, Figures> }

/** The arithmetic of the figures. A ratio compares the CPU time per push with that of one application. */
export function tenantMetrics(sizes: TenantSizes, accept: TenantFigures, send: TenantFigures): Metrics {
  const metrics: Metrics = {}
  const most = sizes.counts.at(-1)!
  const note = `${sizes.requests.toLocaleString('en')} requests of the applications in turn, ${CONNECTIONS} connections`
  for (const count of sizes.counts.filter((one) => one > 1)) {
    const [accepted, sent] = [accept.full.get(count)!, send.full.get(count)!]
    metrics[`notify_accept_${count}_tenants_per_s`] = {
      value: accepted.accepted,
      unit: 'requests/s',
      note: `${note}, no worker on the machine; one application: ${accept.full.get(1)!.accepted}/s; p99 ${accepted.p99} ms; ${accepted.cost}`,
    }
    metrics[`notify_end_to_end_${count}_tenants_per_s`] = {
      value: sent.delivered,
      unit: 'requests/s',
      note: `${note}, until the vendor's response is committed; one application: ${send.full.get(1)!.delivered}/s; ${sent.cost}`,
    }
  }
  const ratio = (of: Map<number, Figures>, what: string) => {
    const [many, one] = [of.get(most)!.cpu, of.get(1)!.cpu]
    return {
      value: rounded(many / one),
      unit: 'times',
      note: `CPU time per push of ${most.toLocaleString('en')} applications against one, ${what}: ${many} against ${one} µs; ${cpuNote}`,
    }
  }
  metrics[`notify_accept_${most}_tenants_ratio`] = ratio(accept.full, 'without a worker')
  metrics[`notify_${most}_tenants_ratio`] = ratio(send.full, 'from accept to settled')
  metrics[`notify_${most}_tenants_each_minute_ratio`] = ratio(
    send.paced,
    `from accept to settled, ${rounded(most / 60)} pushes per second`,
  )
  return metrics
}

async function measureWith(
  workers: readonly string[],
  { counts, requests, paced }: TenantSizes,
  database: GivenDatabase,
): Promise<TenantFigures> {
  const sink = await startSink()
  const herald = await startDeployment({
    queue: 'redis',
    workers,
    env: {
      HERALD_APNS_URL: sink.url,
      HERALD_LOGINS_PER_SECOND: '100000',
      // As many as there are applications: fewer would be a new connection for each push.
      HERALD_WORKER_TRANSPORTS: String(counts.at(-1)),
    },
    // What Node takes of the 1 GB that docs/sizing.md asks for with ten thousand certificates.
    heapMb: 512,
    database,
  })
  try {
    const most = counts.at(-1)!
    const tokens = await logIn(herald, most)
    const waitFor = workers.length > 0 ? sink : undefined
    const found: TenantFigures = { full: new Map(), paced: new Map() }
    // A warm-up, in which every application pushes at least once, and one before each run, so that the first has no disadvantage.
    await notifyEach(herald, callerOf(tokens, most), Math.max(most, requests / 5), waitFor)
    for (const count of counts) {
      await notifyEach(herald, callerOf(tokens, count), requests / 5, waitFor)
      found.full.set(count, await notifyEach(herald, callerOf(tokens, count), requests, waitFor))
    }
    for (const count of waitFor ? [1, most] : [])
      found.paced.set(count, await notifyEach(herald, callerOf(tokens, count), paced, waitFor, most / 60))
    return found
  } finally {
    await herald.stop()
    await sink.stop()
  }
}

/** The applications push in turn, each to its devices in turn. */
export function callerOf(tokens: readonly string[], count: number): Caller {
  const devices = (tenant: number) => (tenant === 1 ? DEVICES_OF_FIRST : DEVICES_OF_OTHERS)
  const tenantOf = (n: number) => 1 + (n % count)
  return {
    headers: (n) => ({
      app_id: applicationId(tenantOf(n)),
      'access-token': tokens[tenantOf(n) - 1]!,
      'content-type': 'application/json',
    }),
    pushToken: (n) => `${applicationId(tenantOf(n))}-${1 + (Math.floor(n / count) % devices(tenantOf(n)))}`,
  }
}

async function logIn(herald: Deployment, count: number): Promise<string[]> {
  const tokens: string[] = new Array(count)
  await sendRequests({
    base: herald.base,
    path: '/token/admin',
    headers: (n) => ({ app_id: applicationId(n + 1), 'content-type': 'application/json' }),
    connections: 16,
    count,
    body: (n) => JSON.stringify({ app_secret: applicationSecret(n + 1) }),
    onResponse: (n, body) => {
      tokens[n] = JSON.parse(body).data.token
    },
  })
  return tokens
}

async function addDevices(db: Database, applications: number): Promise<void> {
  await db.pool.query(
    `INSERT INTO device (app_id, guid, push_token_hash, platform, moved_at)
     SELECT app_id, 'g' || n, push_token_hash(app_id || '-' || n), 'ios', now() - interval '1 hour'
     FROM unnest($1::text[]) AS a (app_id)
     CROSS JOIN LATERAL generate_series(1, CASE app_id WHEN $2 THEN ${DEVICES_OF_FIRST} ELSE ${DEVICES_OF_OTHERS} END) n`,
    [Array.from({ length: applications }, (_, n) => applicationId(n + 1)), applicationId(1)],
  )
  await db.pool.query(
    `INSERT INTO binding (device_id, channel, app_id, token, registered_at, device_changed_at)
     SELECT id, 'apns', app_id, md5(id::text) || md5('x' || id::text), now() - interval '1 hour', now() - interval '1 hour' FROM device`,
  )
  await db.pool.query('VACUUM ANALYZE device, binding, application, certificate')
}
