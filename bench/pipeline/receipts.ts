import { emptySizes, prepare, wide, wideTask } from '../loaded/prepare.ts'
import { cpuNote, cpuPerItem, type Metrics, percentile, rounded, totalCpuPerItem } from '../metric.ts'
import { CONNECTIONS } from './accept.ts'
import { type Deployment, type GivenDatabase, startDeployment } from './deployment.ts'
import { sendRequests } from './raw-client.ts'

/** Each connection of the API plans its statements several times before it keeps a plan. */
const WARM_UP = 4_000

/** Receipts of the last devices of a broadcast, one per request, which the API writes in groups. At most 36,000. */
export async function measureReceipts(count: number, database?: GivenDatabase): Promise<Metrics> {
  const herald = await startDeployment({ queue: 'redis', workers: [], database })
  try {
    if (!database) await prepare(herald.db, herald.sealer, emptySizes)
    const task = await wideTask(herald.db)
    const session = await herald.call('/token/admin', { app_secret: wide.appSecret }, { app_id: wide.appId })
    const headers = {
      app_id: wide.appId,
      'access-token': String(session.token),
      'content-type': 'application/json',
    }
    const report = (from: number, to: number) =>
      sendRequests({
        base: herald.base,
        path: '/push/receipt',
        headers,
        connections: CONNECTIONS,
        count: to - from,
        body: (n) =>
          JSON.stringify({
            push_token: wide.pushToken(wide.devices - from - n),
            list: [{ task_id: task, event: 'received' }],
          }),
      })
    const warmUp = Math.min(WARM_UP, count)
    await report(0, warmUp)
    const before = herald.cpuTime()
    const { latencies, tookMs } = await report(warmUp, warmUp + count)
    const after = herald.cpuTime()
    await checkReceived(herald, task, warmUp + count)
    return {
      receipts_per_s: {
        value: rounded((count / tookMs) * 1000),
        unit: 'receipts/s',
        note: `${count.toLocaleString('en')} receipts, one per request, ${CONNECTIONS} connections, p99 ${rounded(percentile(latencies, 0.99))} ms; ${cpuPerItem(before, after, count)}`,
      },
      receipt_cpu_us_each: {
        value: totalCpuPerItem(before, after, count),
        unit: 'µs',
        note: `of those receipts; ${cpuNote}`,
      },
    }
  } finally {
    await herald.stop()
  }
}

async function checkReceived({ db }: Deployment, task: number, expected: number): Promise<void> {
  const { rows } = await db.pool.query<{ received: number }>(
    'SELECT received FROM counter WHERE task_id = $1',
    [task],
  )
  if (rows[0]?.received !== expected)
    throw new Error(`${rows[0]?.received} receipts of ${expected} are counted`)
}
