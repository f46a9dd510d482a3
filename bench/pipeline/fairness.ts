import { sleep } from '@herald/async'
import type { Database } from '@herald/db/store'
import { until } from '@herald/testkit'
import { type Metrics, percentile, rounded } from '../metric.ts'
import { sendRequests } from './raw-client.ts'
import { type Standalone, startStandalone } from './standalone-program.ts'

const FLOOD_CONNECTIONS = 800
const DEVICES = 5_000
const SINGLES_PER_SECOND = 20
/** A flood that is just beginning has no backlog yet. */
const FLOOD_BEFORE_MS = 5_000

type Headers = Record<string, string>

/**
 * What an application gets from the standalone while another sends single pushes over 800 connections, each as fast as it is answered:
 * its own single pushes, then a broadcast.
 */
export async function measureFairness(seconds: number): Promise<Metrics> {
  const standalone = await startStandalone()
  try {
    const flooder = await standalone.addApplication('flooder', DEVICES)
    const other = await standalone.addApplication('other', DEVICES)
    await measureSingles(standalone, other, 'warm-up', seconds)
    const quiet = await measureSingles(standalone, other, 'quiet', seconds)
    const quietBroadcast = await measureBroadcast(standalone, other)

    let isOver = false
    let accepted = 0
    const began = performance.now()
    const flooding = sendRequests({
      base: standalone.base,
      path: '/push/notify',
      headers: flooder,
      connections: FLOOD_CONNECTIONS,
      count: Number.POSITIVE_INFINITY,
      isOver: () => isOver,
      body: (n) => singlePush('flooder', `flood-${n}`, n),
      isAccepted: () => true,
      onResponse: (_, body) => {
        if (body.startsWith('{"code":200')) accepted++
      },
    })
    // An error ends the measurement, not the process.
    flooding.catch(() => {})
    await sleep(FLOOD_BEFORE_MS)
    const singles = await measureSingles(standalone, other, 'flooded', seconds)
    const broadcast = await measureBroadcast(standalone, other)
    isOver = true
    await flooding
    const perSecond = rounded((accepted * 1000) / (performance.now() - began))
    const note = `another application sends single pushes over ${FLOOD_CONNECTIONS} connections, ${perSecond} per second accepted; standalone`
    return {
      fairness_single_p95_ms: {
        value: rounded(singles.p95),
        unit: 'ms',
        note: `${SINGLES_PER_SECOND} single pushes per second, from the call until the vendor's response is committed; p50 ${rounded(singles.p50)} ms; without the flood p95 ${rounded(quiet.p95)} ms; ${note}`,
      },
      fairness_broadcast_ms: {
        value: rounded(broadcast),
        unit: 'ms',
        note: `a broadcast to ${DEVICES.toLocaleString('en')} devices, from the call until it has finished; without the flood ${rounded(quietBroadcast)} ms; ${note}`,
      },
    }
  } finally {
    await standalone.stop()
  }
}

const singlePush = (application: string, requestId: string, n: number) =>
  JSON.stringify({
    audience: { push_token: [`${application}${1 + (n % DEVICES)}`] },
    setting: { distribution_strategy: 'ospush_only', request_id: requestId },
    message: { title: 'Order', body: 'Shipped' },
  })

/** Milliseconds from the call until the response of the vendor is committed. */
async function measureSingles(
  { base, db }: Standalone,
  headers: Headers,
  name: string,
  seconds: number,
): Promise<{ p50: number; p95: number }> {
  const calledAt: number[] = []
  const tasks = new Map<number, number>()
  await sendRequests({
    base,
    path: '/push/notify',
    headers,
    // A slow response must not delay the calls after it.
    connections: SINGLES_PER_SECOND * 5,
    count: SINGLES_PER_SECOND * seconds,
    perSecond: SINGLES_PER_SECOND,
    body: (n) => singlePush('other', `${name}-${n}`, n),
    onSent: (n) => {
      calledAt[n] = Date.now()
    },
    onResponse: (n, body) => void tasks.set(taskOf(body), n),
  })
  const settled = await until(
    async () => {
      const found = await settledTimes(db, [...tasks.keys()])
      return found.size === tasks.size && found
    },
    { what: 'all single pushes to be settled', seconds: 600, everyMs: 1000 },
  )
  const took = [...tasks].map(([task, n]) => settled.get(task)! - calledAt[n]!)
  return { p50: percentile(took, 0.5), p95: percentile(took, 0.95) }
}

/** Unix ms, of those that are settled. */
async function settledTimes(db: Database, tasks: readonly number[]): Promise<Map<number, number>> {
  const { rows } = await db.pool.query<{ id: number; at: number }>(
    `SELECT id, max(at) AS at FROM (
       SELECT id, (extract(epoch FROM settled_at) * 1000)::float8 AS at FROM bundle, unnest(tasks) AS id
       UNION ALL SELECT task_id, (extract(epoch FROM settled_at) * 1000)::float8 FROM batch
     ) AS settled WHERE id = ANY ($1::bigint[]) GROUP BY id HAVING count(*) = count(at)`,
    [tasks],
  )
  return new Map(rows.map(({ id, at }) => [Number(id), at]))
}

async function measureBroadcast({ base, db }: Standalone, headers: Headers): Promise<number> {
  const began = performance.now()
  let task = 0
  await sendRequests({
    base,
    path: '/push/notify',
    headers,
    connections: 1,
    count: 1,
    body: () =>
      JSON.stringify({
        audience: 'all',
        setting: { distribution_strategy: 'ospush_only' },
        message: { title: 'Order', body: 'Shipped' },
      }),
    onResponse: (_, body) => {
      task = taskOf(body)
    },
  })
  await until(
    async () => {
      const { rows } = await db.pool.query<{ sent: number }>(
        'SELECT coalesce(sum(sent), 0)::int AS sent FROM counter WHERE task_id = $1',
        [task],
      )
      return rows[0]!.sent >= DEVICES
    },
    { what: 'the broadcast to be sent', seconds: 600, everyMs: 50 },
  )
  return performance.now() - began
}

const taskOf = (body: string) => Number((JSON.parse(body) as { data: { task_id: string } }).data.task_id)
