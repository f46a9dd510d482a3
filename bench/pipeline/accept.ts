import { Agent, request } from 'node:http'
import { type Metrics, percentile, rounded } from '../metric.ts'
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
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  try {
    await addApnsCertificate(stage)
    await addIosDevices(stage.db, stage.appId, 10_000)
    const notify = (n: number) =>
      new Promise<number>((resolve, reject) => {
        const started = performance.now()
        const body = JSON.stringify({
          audience: { push_token: [`p${1 + (n % 10_000)}`] },
          setting: { distribution_strategy: 'ospush_only' },
          message: { title: 'Order', body: 'Shipped' },
        })
        const call = request(
          `${stage.base}/push/notify`,
          { method: 'POST', agent, headers: stage.headers },
          (answer) => {
            let text = ''
            answer.setEncoding('utf8')
            answer.on('data', (chunk) => {
              text += chunk
            })
            answer.on('end', () =>
              text.startsWith('{"code":200') ? resolve(performance.now() - started) : reject(new Error(text)),
            )
          },
        )
        call.on('error', reject)
        call.end(body)
      })
    const sent = async () =>
      (await stage.db.pool.query<{ sent: number }>('SELECT coalesce(sum(sent), 0)::int AS sent FROM counter'))
        .rows[0]!.sent
    const run = async (count: number) => {
      const before = await sent()
      const latencies: number[] = []
      let next = 0
      const started = performance.now()
      await Promise.all(
        Array.from({ length: CONNECTIONS }, async () => {
          while (next < count) latencies.push(await notify(next++))
        }),
      )
      const accepted = performance.now() - started
      while ((await sent()) < before + count) {
        if (performance.now() - started > 120_000)
          throw new Error('the accepted pushes were not sent within two minutes')
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      return { latencies, accepted, delivered: performance.now() - started }
    }
    await run(Math.ceil(requests / 5))
    const { latencies, accepted, delivered } = await run(requests)
    const note = `${requests.toLocaleString('en')} requests, ${CONNECTIONS} connections, one device each, Redis queue, API and worker one process each`
    return {
      notify_accept_per_s: { value: rounded((requests / accepted) * 1000), unit: 'requests/s', note },
      notify_p99_ms: { value: rounded(percentile(latencies, 0.99)), unit: 'ms', note: 'of those requests' },
      notify_end_to_end_per_s: {
        value: rounded((requests / delivered) * 1000),
        unit: 'requests/s',
        note: "the same, to the vendor's answer and commit",
      },
    }
  } finally {
    agent.destroy()
    await stage.stop()
    sink.stop()
  }
}
