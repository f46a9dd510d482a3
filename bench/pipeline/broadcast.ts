import { costOfEach, type Metrics, percentile, rounded } from '../metric.ts'
import {
  addApnsCertificate,
  addIosDevices,
  openStage,
  type Stage,
  startSink,
  waitUntilSent,
} from './stage.ts'

const message = { title: 'Sale', body: 'Everything must go', badge: '+1' }

/** One broadcast to iOS devices with a badge each, from the request to the last commit, with targeted pushes in between. */
export async function measureBroadcast(
  queue: 'redis' | 'postgres',
  devices: number,
  small: number,
): Promise<Metrics> {
  const sink = await startSink()
  const stage = await openStage({ queue, workers: ['worker-apns'], env: { HERALD_APNS_URL: sink.url } })
  try {
    await addApnsCertificate(stage)
    await addIosDevices(stage.db, stage.appId, devices)
    await stage.db.pool.query(
      `WITH few AS (INSERT INTO tag (app_id, name) VALUES ($1, 'few') RETURNING id)
       INSERT INTO device_tag (tag_id, device_id)
       SELECT few.id, device.id FROM few, device WHERE app_id = $1 ORDER BY device.id LIMIT $2`,
      [stage.appId, small],
    )
    // Connections, prepared statements and the JIT are warm in any process that has run for a minute.
    await broadcast(stage, { tag: ['few'] }, small)
    await sink.counts()
    const few = await broadcast(stage, { tag: ['few'] }, small)
    await sink.counts()
    const all = await broadcast(stage, 'all', devices, true)
    const { requests, distinct } = await sink.counts()
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
    await stage.stop()
    sink.stop()
  }
}

async function broadcast(stage: Stage, audience: unknown, count: number, overtake = false) {
  const setting = { distribution_strategy: 'ospush_only' }
  const time = stage.processorTime()
  const started = performance.now()
  const task = await stage.notify({ audience, setting, message })
  let over = false
  const latencies: number[] = []
  const targeted = overtake
    ? (async () => {
        for (let n = 0; !over && n < 100; n++) {
          await new Promise((resolve) => setTimeout(resolve, 100))
          if (!over) latencies.push(await targetedPush(stage))
        }
      })()
    : undefined
  const memory = await waitUntilSent(stage, task, count)
  const rate = (count / (performance.now() - started)) * 1000
  const cost = costOfEach(time, stage.processorTime(), count)
  over = true
  await targeted
  return { rate, memory, latencies, cost }
}

async function targetedPush(stage: Stage): Promise<number> {
  const started = performance.now()
  const task = await stage.notify({
    audience: { push_token: ['p1'] },
    setting: { distribution_strategy: 'ospush_only' },
    message: { title: 'Urgent', body: 'Now' },
  })
  for (;;) {
    const { rows } = await stage.db.pool.query('SELECT sent FROM counter WHERE task_id = $1', [task])
    if (rows[0]?.sent === 1) return performance.now() - started
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
