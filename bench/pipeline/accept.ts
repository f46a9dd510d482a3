import { costOfEach, type Metrics, percentile, rounded } from '../metric.ts'
import { hammer } from './raw-client.ts'
import { addApnsCertificate, addIosDevices, openStage, type Stage, startSink } from './stage.ts'

const CONNECTIONS = 64
const DEVICES = 10_000

/** Durable accepts of one device each over 64 connections: alone, and together with a worker that sends them. */
export async function measureAccept(requests: number): Promise<Metrics> {
  const alone = await onStage([], requests)
  const together = await onStage(['worker-apns'], requests)
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

async function onStage(workers: readonly string[], requests: number): Promise<Figures> {
  const sink = await startSink()
  const stage = await openStage({ queue: 'redis', workers, env: { HERALD_APNS_URL: sink.url } })
  try {
    await addApnsCertificate(stage)
    await addIosDevices(stage.db, stage.appId, DEVICES)
    // Connections, prepared statements and the JIT are warm in any process that has run for a minute.
    await run(stage, Math.ceil(requests / 5), workers.length > 0)
    return await run(stage, requests, workers.length > 0)
  } finally {
    await stage.stop()
    sink.stop()
  }
}

async function run(stage: Stage, count: number, sending: boolean): Promise<Figures> {
  const before = await countSent(stage)
  const time = stage.processorTime()
  const started = performance.now()
  const { latencies, tookMs } = await hammer({
    base: stage.base,
    path: '/push/notify',
    headers: stage.headers,
    connections: CONNECTIONS,
    count,
    body: (n) =>
      JSON.stringify({
        audience: { push_token: [`p${1 + (n % DEVICES)}`] },
        setting: { distribution_strategy: 'ospush_only' },
        message: { title: 'Order', body: 'Shipped' },
      }),
  })
  while (sending && (await countSent(stage)) < before + count) {
    if (performance.now() - started > 120_000)
      throw new Error('the accepted pushes were not sent within two minutes')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const tookAll = performance.now() - started
  return {
    accepted: rounded((count / tookMs) * 1000),
    delivered: rounded((count / tookAll) * 1000),
    p99: rounded(percentile(latencies, 0.99)),
    cost: costOfEach(time, stage.processorTime(), count),
  }
}

async function countSent({ db }: Stage): Promise<number> {
  const { rows } = await db.pool.query<{ sent: number }>(
    'SELECT coalesce(sum(sent), 0)::int AS sent FROM counter',
  )
  return rows[0]!.sent
}
