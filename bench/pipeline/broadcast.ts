import { sleep } from '@herald/async'
import { startSink } from '../http2/start-sink.ts'
import { cpuNote, cpuPerItem, type Metrics, percentile, rounded, totalCpuPerItem } from '../metric.ts'
import { countWal } from '../wal.ts'
import {
  addApnsCertificate,
  addIosDevices,
  checkBalance,
  type Deployment,
  type GivenDatabase,
  startDeployment,
  untilCounted,
} from './deployment.ts'

/** How often it is asked whether a targeted push was sent. The statements are part of the CPU time of Postgres. */
const POLL_MS = 5

/** More ids than a measurement draws: an hour of them. */
const IDS = 2 ** 34

const message = { title: 'Sale', body: 'Everything must go', badge: '+1' }

/** One broadcast to iOS devices with a badge each, from the request to the last commit, and targeted pushes during it. */
export async function measureBroadcast(
  queue: 'redis' | 'postgres',
  devices: number,
  small: number,
  database?: GivenDatabase,
): Promise<Metrics> {
  const sink = await startSink()
  const herald = await startDeployment({
    queue,
    workers: ['worker-apns'],
    env: { HERALD_APNS_URL: sink.url },
    database,
  })
  try {
    await addApnsCertificate(herald)
    await addIosDevices(herald.db, herald.appId, devices)
    await herald.db.pool.query(
      `WITH few AS (INSERT INTO tag (app_id, name) VALUES ($1, 'few') RETURNING id)
       INSERT INTO device_tag (tag_id, device_id)
       SELECT few.id, device.id FROM few, device WHERE app_id = $1 ORDER BY device.id LIMIT $2`,
      [herald.appId, small],
    )
    await sleep(database?.settleMs ?? 0)
    // A warm-up, because connections, prepared statements and the JIT are warm in a real deployment.
    await broadcast(herald, { tag: ['few'] }, small)
    await sink.takeCounts()
    const few = await broadcast(herald, { tag: ['few'] }, small)
    await sink.takeCounts()
    const all = await broadcast(herald, 'all', devices, { overtake: true })
    const { requests, distinct } = await sink.takeCounts()
    const pushed = devices + all.latencies.length
    if (requests !== pushed || distinct !== pushed) {
      throw new Error(`the sink saw ${requests} pushes, ${distinct} distinct, instead of ${pushed}`)
    }
    const suffix = queue === 'postgres' ? '_postgres' : ''
    const metrics: Metrics = {
      [`broadcast_apns_devices_per_s${suffix}`]: {
        value: rounded(all.rate),
        unit: 'devices/s',
        note: `${devices.toLocaleString('en')} iOS devices, badge +1, ${queue} queue, notify to last commit, rate limits lifted, ${distinct.toLocaleString('en')} distinct at the sink; ${all.cost}`,
      },
      [`broadcast_apns_cpu_us_per_device${suffix}`]: {
        value: all.cpu,
        unit: 'µs',
        note: `${cpuNote}, during this broadcast`,
      },
      [`wal_bytes_per_device${suffix}`]: all.wal,
    }
    if (queue === 'redis') {
      metrics.growth_ratio = {
        value: rounded(few.rate / all.rate),
        unit: 'times',
        note: `cost per device at ${devices.toLocaleString('en')} against ${small.toLocaleString('en')}`,
      }
      metrics.rss_max_mb = {
        value: rounded(Math.max(...['planner', 'worker-apns'].map((name) => all.memory.get(name) ?? 0))),
        unit: 'MB',
        note: 'largest planner or worker during the broadcast',
      }
      metrics.overtake_p95_ms = {
        value: rounded(percentile(all.latencies, 0.95)),
        unit: 'ms',
        note: `${all.latencies.length} targeted pushes during the broadcast, from request to commit of the vendor's response`,
      }
    }
    return metrics
  } finally {
    await herald.stop()
    await sink.stop()
  }
}

/** One broadcast with a badge, until it is counted. `overtake`: with targeted pushes during it. */
export async function broadcast(
  herald: Deployment,
  audience: unknown,
  count: number,
  { overtake = false, events = false } = {},
) {
  const setting = { distribution_strategy: 'ospush_only', events }
  const endWal = await countWal(herald.db)
  const before = herald.cpuTime()
  const started = performance.now()
  const task = await herald.notify({ audience, setting, message })
  let over = false
  const latencies: number[] = []
  const targeted = overtake
    ? (async () => {
        for (let n = 0; !over && n < 100; n++) {
          await sleep(100)
          if (!over) latencies.push(await targetedPush(herald))
        }
      })()
    : undefined
  const memory = await untilCounted(herald, task, 'sent', count)
  const after = herald.cpuTime()
  const rate = (count / (performance.now() - started)) * 1000
  const wal = await endWal(count, `a broadcast to ${count.toLocaleString('en')} iOS devices, badge +1`)
  over = true
  await targeted
  await checkBalance(herald, [task])
  const cost = cpuPerItem(before, after, count)
  const cpu = totalCpuPerItem(before, after, count)
  return { rate, memory, latencies, cost, cpu, wal }
}

async function targetedPush(herald: Deployment): Promise<number> {
  const started = performance.now()
  const task = await herald.notify({
    audience: { push_token: ['p1'] },
    setting: { distribution_strategy: 'ospush_only' },
    message: { title: 'Urgent', body: 'Now' },
  })
  for (;;) {
    // Prepared, with constants by which Postgres finds the partition: planning costs ten times as much as running it.
    const { rowCount } = await herald.db.pool.query({
      name: 'bench-sent',
      text: isSentSql(herald),
      values: [task],
    })
    if (rowCount! > 0) return performance.now() - started
    await sleep(POLL_MS)
  }
}

function isSentSql({ firstTask }: Deployment): string {
  const isOurs = (id: string) => `${id} >= ${firstTask} AND ${id} < ${firstTask + IDS}`
  return `SELECT 1 FROM task t JOIN bundle b ON b.task_id = t.bundle
    WHERE t.id = $1 AND ${isOurs('t.id')} AND ${isOurs('b.task_id')} AND substr(b.status, array_position(b.tasks, t.id), 1) = 's'
    UNION ALL SELECT 1 FROM counter WHERE task_id = $1 AND ${isOurs('task_id')} AND sent = 1`
}
