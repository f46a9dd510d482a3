import { randomUUID } from 'node:crypto'
import { sleep } from '@herald/async'
import { type Sink, startSink } from '../http2/start-sink.ts'
import {
  cpuNote,
  cpuPerItem,
  type Metric,
  type Metrics,
  percentile,
  rounded,
  totalCpuPerItem,
} from '../metric.ts'
import { countWal } from '../wal.ts'
import {
  addApnsCertificate,
  addIosDevices,
  type Deployment,
  type GivenDatabase,
  startDeployment,
} from './deployment.ts'
import { sendRequests } from './raw-client.ts'

export const CONNECTIONS = 64
const DEVICES = 10_000

/** Notify requests for one device each over 64 connections, as users run it: without a worker, and with a worker that sends them. */
export async function measureAccept(requests: number): Promise<Metrics> {
  return { ...(await acceptOnly(requests)), ...(await acceptAndSend(requests)) }
}

const noteOf = (requests: number) =>
  `${requests.toLocaleString('en')} requests with a request id, ${CONNECTIONS} connections, one device each, Redis queue, one API process, log level info`

/** Each needs a database of its own. */
export async function acceptOnly(requests: number, database?: GivenDatabase): Promise<Metrics> {
  const alone = await measureWith([], requests, database)
  const note = noteOf(requests)
  return {
    notify_accept_per_s: {
      value: alone.accepted,
      unit: 'requests/s',
      note: `${note}, no worker on the machine; ${alone.cost}`,
    },
    notify_accept_cpu_us_each: { value: alone.cpu, unit: 'µs', note: `of those requests; ${cpuNote}` },
    notify_p99_ms: { value: alone.p99, unit: 'ms', note: 'of those requests' },
  }
}

export async function acceptAndSend(requests: number, database?: GivenDatabase): Promise<Metrics> {
  const together = await measureWith(['worker-apns'], requests, database)
  return {
    notify_end_to_end_per_s: {
      value: together.delivered,
      unit: 'requests/s',
      note: `${noteOf(requests)}, until the vendor's response is committed; accepted at ${together.accepted} per second, p99 ${together.p99} ms; ${together.cost}`,
    },
    notify_cpu_us_each: { value: together.cpu, unit: 'µs', note: `from accept to settled; ${cpuNote}` },
    wal_bytes_per_push: together.wal,
  }
}

export type Figures = {
  accepted: number
  delivered: number
  p99: number
  cpu: number
  cost: string
  wal: Metric
}

async function measureWith(
  workers: readonly string[],
  requests: number,
  database?: GivenDatabase,
): Promise<Figures> {
  const sink = await startSink()
  const herald = await startDeployment({
    queue: 'redis',
    workers,
    env: { HERALD_APNS_URL: sink.url },
    database,
  })
  try {
    await addApnsCertificate(herald)
    await addIosDevices(herald.db, herald.appId, DEVICES)
    const caller: Caller = { headers: () => herald.headers, pushToken: (n) => `p${1 + (n % DEVICES)}` }
    const waitFor = workers.length > 0 ? sink : undefined
    // A warm-up, because connections, prepared statements and the JIT are warm in a real deployment.
    await notifyEach(herald, caller, Math.ceil(requests / 5), waitFor)
    return await notifyEach(herald, caller, requests, waitFor)
  } finally {
    await herald.stop()
    await sink.stop()
  }
}

/** Who sends the nth request, and to which device. */
export type Caller = { headers(n: number): Record<string, string>; pushToken(n: number): string }

/** Sends notify requests for one device each. With a sink it waits until the responses of the vendor are committed. */
export async function notifyEach(
  herald: Pick<Deployment, 'base' | 'db' | 'cpuTime'>,
  caller: Caller,
  count: number,
  sink?: Sink,
  perSecond?: number,
): Promise<Figures> {
  await sink?.takeCounts()
  const { rows } = await herald.db.pool.query<{ id: number }>('SELECT next_task_id() AS id')
  const endWal = await countWal(herald.db)
  const cpu = herald.cpuTime()
  const run = randomUUID().slice(0, 8)
  const started = performance.now()
  const { latencies, tookMs } = await sendRequests({
    base: herald.base,
    path: '/push/notify',
    headers: caller.headers,
    connections: CONNECTIONS,
    count,
    perSecond,
    body: (n) =>
      JSON.stringify({
        audience: { push_token: [caller.pushToken(n)] },
        setting: { distribution_strategy: 'ospush_only', request_id: `${run}-${n}` },
        message: { title: 'Order', body: 'Shipped' },
      }),
  })
  if (sink) await untilSent(herald, sink, rows[0]!.id, count)
  const tookAll = performance.now() - started
  const after = herald.cpuTime()
  return {
    accepted: rounded((count / tookMs) * 1000),
    delivered: rounded((count / tookAll) * 1000),
    p99: rounded(percentile(latencies, 0.99)),
    cpu: totalCpuPerItem(cpu, after, count),
    cost: cpuPerItem(cpu, after, count),
    wal: await endWal(count, 'one push to one device, from accept to settled'),
  }
}

/** Asks the sink first: a query that adds up the counters during the run would cost more than the pushes. */
async function untilSent(
  herald: Pick<Deployment, 'db'>,
  sink: Sink,
  firstTask: number,
  count: number,
): Promise<void> {
  const limit = performance.now() + 120_000
  let arrived = 0
  for (;;) {
    if (arrived < count) arrived += (await sink.takeCounts()).requests
    if (arrived >= count && (await countSent(herald, firstTask)) >= count) return
    if (performance.now() > limit)
      throw new Error(`of ${count} accepted pushes ${arrived} were sent within two minutes`)
    await sleep(20)
  }
}

async function countSent({ db }: Pick<Deployment, 'db'>, firstTask: number): Promise<number> {
  const { rows } = await db.pool.query<{ sent: number }>(
    `SELECT (SELECT coalesce(sum(sent), 0) FROM counter WHERE task_id >= ${firstTask})::int
       + (SELECT coalesce(sum(length(status) - length(replace(status, 's', ''))), 0) FROM bundle WHERE task_id >= ${firstTask})::int AS sent`,
  )
  return rows[0]!.sent
}
