import { randomUUID } from 'node:crypto'
import { cpuNote, cpuPerItem, type Metrics, percentile, rounded, totalCpuPerItem } from '../metric.ts'
import { addApnsCertificate, addIosDevices, startDeployment } from './deployment.ts'
import { sendRequests } from './raw-client.ts'

const PER_LIST = 1000
/** One list is read while another waits for its commits. */
const CONNECTIONS = 4
const DEVICES = 10_000

/** Bodies of POST /push/notify/batch, for one device each, with a request id and a text of their own; without a worker. */
export async function measureAcceptList(lists: number): Promise<Metrics> {
  const herald = await startDeployment({ queue: 'redis', workers: [] })
  try {
    await addApnsCertificate(herald)
    await addIosDevices(herald.db, herald.appId, DEVICES)
    const send = async (count: number) => {
      const run = randomUUID().slice(0, 8)
      const { latencies, tookMs } = await sendRequests({
        base: herald.base,
        path: '/push/notify/batch',
        headers: herald.headers,
        connections: CONNECTIONS,
        count,
        body: (n) => JSON.stringify({ list: Array.from({ length: PER_LIST }, (_, i) => bodyOf(run, n, i)) }),
        // One body that is refused makes the figure worthless.
        isAccepted: (response) => response.startsWith('{"code":200') && !response.includes('"message":"'),
      })
      return { latencies, tookMs }
    }
    await send(Math.ceil(lists / 5))
    const before = herald.cpuTime()
    const { latencies, tookMs } = await send(lists)
    const after = herald.cpuTime()
    const bodies = lists * PER_LIST
    return {
      notify_batch_bodies_per_s: {
        value: rounded((bodies / tookMs) * 1000),
        unit: 'bodies/s',
        note: `${bodies.toLocaleString('en')} bodies with a request id, ${PER_LIST.toLocaleString('en')} per list, ${CONNECTIONS} connections, one device each, no worker on the machine; a list takes ${rounded(percentile(latencies, 0.95))} ms (p95); ${cpuPerItem(before, after, bodies)}`,
      },
      notify_batch_cpu_us_each: {
        value: totalCpuPerItem(before, after, bodies),
        unit: 'µs',
        note: `of those bodies; ${cpuNote}`,
      },
    }
  } finally {
    await herald.stop()
  }
}

function bodyOf(run: string, list: number, i: number): object {
  const n = list * PER_LIST + i
  return {
    audience: { push_token: [`p${1 + (n % DEVICES)}`] },
    setting: { distribution_strategy: 'ospush_only', request_id: `${run}-${n}` },
    message: { title: 'Order', body: `Parcel ${n} has been shipped` },
  }
}
