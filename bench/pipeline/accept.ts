import { sleep } from '@herald/async'
import { startSink } from '../http2/start-sink.ts'
import { cpuPerItem, type Metrics, percentile, rounded } from '../metric.ts'
import { addApnsCertificate, addIosDevices, type Deployment, startDeployment } from './deployment.ts'
import { sendRequests } from './raw-client.ts'

const CONNECTIONS = 64
const DEVICES = 10_000

/** Notify requests for one device each over 64 connections: without a worker, and with a worker that sends them. */
export async function measureAccept(requests: number): Promise<Metrics> {
  const alone = await measureWith([], requests)
  const together = await measureWith(['worker-apns'], requests)
  const note = `${requests.toLocaleString('en')} requests, ${CONNECTIONS} connections, one device each, Redis queue, one API process`
  return {
    notify_accept_per_s: {
      value: alone.accepted,
      unit: 'requests/s',
      note: `${note}, no worker on the machine; ${together.accepted} per second with a worker sending them on the same machine; ${alone.cost}`,
    },
    notify_p99_ms: {
      value: alone.p99,
      unit: 'ms',
      note: `of those requests; ${together.p99} ms with a worker on the same machine`,
    },
    notify_end_to_end_per_s: {
      value: together.delivered,
      unit: 'requests/s',
      note: `${note}, until the vendor's response is committed; ${together.cost}`,
    },
  }
}

type Figures = { accepted: number; delivered: number; p99: number; cost: string }

async function measureWith(workers: readonly string[], requests: number): Promise<Figures> {
  const sink = await startSink()
  const herald = await startDeployment({ queue: 'redis', workers, env: { HERALD_APNS_URL: sink.url } })
  try {
    await addApnsCertificate(herald)
    await addIosDevices(herald.db, herald.appId, DEVICES)
    // A warm-up, because connections, prepared statements and the JIT are warm in a real deployment.
    await run(herald, Math.ceil(requests / 5), workers.length > 0)
    return await run(herald, requests, workers.length > 0)
  } finally {
    await herald.stop()
    await sink.stop()
  }
}

async function run(herald: Deployment, count: number, sending: boolean): Promise<Figures> {
  const before = await countSent(herald)
  const cpu = herald.cpuTime()
  const started = performance.now()
  const { latencies, tookMs } = await sendRequests({
    base: herald.base,
    path: '/push/notify',
    headers: herald.headers,
    connections: CONNECTIONS,
    count,
    body: (n) =>
      JSON.stringify({
        audience: { push_token: [`p${1 + (n % DEVICES)}`] },
        setting: { distribution_strategy: 'ospush_only' },
        message: { title: 'Order', body: 'Shipped' },
      }),
  })
  while (sending && (await countSent(herald)) < before + count) {
    if (performance.now() - started > 120_000)
      throw new Error('the accepted pushes were not sent within two minutes')
    await sleep(20)
  }
  const tookAll = performance.now() - started
  return {
    accepted: rounded((count / tookMs) * 1000),
    delivered: rounded((count / tookAll) * 1000),
    p99: rounded(percentile(latencies, 0.99)),
    cost: cpuPerItem(cpu, herald.cpuTime(), count),
  }
}

async function countSent({ db }: Deployment): Promise<number> {
  const { rows } = await db.pool.query<{ sent: number }>(
    'SELECT coalesce(sum(sent), 0)::int AS sent FROM counter',
  )
  return rows[0]!.sent
}
