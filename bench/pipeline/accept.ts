import { costOfEach, type Metrics, percentile, rounded } from '../metric.ts'
import { hammer } from './raw-client.ts'
import { addApnsCertificate, addIosDevices, openStage, startSink } from './stage.ts'

const CONNECTIONS = 64

/** Durable accepts of one device each over 64 connections, and the same to the vendor's answer and commit. */
export async function measureAccept(requests: number): Promise<Metrics> {
  const sink = await startSink()
  const stage = await openStage({
    queue: 'redis',
    workers: ['worker-apns'],
    env: { HERALD_APNS_URL: sink.url },
  })
  try {
    await addApnsCertificate(stage)
    await addIosDevices(stage.db, stage.appId, 10_000)
    const body = (n: number) =>
      JSON.stringify({
        audience: { push_token: [`p${1 + (n % 10_000)}`] },
        setting: { distribution_strategy: 'ospush_only' },
        message: { title: 'Order', body: 'Shipped' },
      })
    const sent = async () =>
      (await stage.db.pool.query<{ sent: number }>('SELECT coalesce(sum(sent), 0)::int AS sent FROM counter'))
        .rows[0]!.sent
    const run = async (count: number) => {
      const before = await sent()
      const time = stage.processorTime()
      const started = performance.now()
      const { base, headers } = stage
      const { latencies, tookMs } = await hammer({
        base,
        path: '/push/notify',
        headers,
        connections: CONNECTIONS,
        count,
        body,
      })
      while ((await sent()) < before + count) {
        if (performance.now() - started > 120_000)
          throw new Error('the accepted pushes were not sent within two minutes')
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      const delivered = performance.now() - started
      return { latencies, tookMs, delivered, cost: costOfEach(time, stage.processorTime(), count) }
    }
    await run(Math.ceil(requests / 5))
    const { latencies, tookMs, delivered, cost } = await run(requests)
    const note = `${requests.toLocaleString('en')} requests, ${CONNECTIONS} connections, one device each, Redis queue, API and worker one process each`
    return {
      notify_accept_per_s: { value: rounded((requests / tookMs) * 1000), unit: 'requests/s', note },
      notify_p99_ms: { value: rounded(percentile(latencies, 0.99)), unit: 'ms', note: 'of those requests' },
      notify_end_to_end_per_s: {
        value: rounded((requests / delivered) * 1000),
        unit: 'requests/s',
        note: `the same, to the vendor's answer and commit; ${cost}`,
      },
    }
  } finally {
    await stage.stop()
    sink.stop()
  }
}
