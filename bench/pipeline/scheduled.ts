import { sleep } from '@herald/async'
import { acceptTasks, type TaskToAccept } from '@herald/db/tasks'
import { sampleMessage } from '@herald/testkit/sample-message'
import { type Sink, startSink } from '../http2/start-sink.ts'
import { cpuNote, cpuPerItem, type Metrics, rounded, totalCpuPerItem } from '../metric.ts'
import {
  addApnsCertificate,
  addIosDevices,
  checkBalance,
  type Deployment,
  type GivenDatabase,
  startDeployment,
} from './deployment.ts'

/** Reminders to one device each that are all due in the same second, from that second to the begin of the last, while they are sent. */
export async function measureScheduled(count: number, database?: GivenDatabase): Promise<Metrics> {
  const sink = await startSink()
  const herald = await startDeployment({
    queue: 'redis',
    workers: ['worker-apns'],
    env: { HERALD_APNS_URL: sink.url },
    database,
  })
  try {
    await addApnsCertificate(herald)
    await addIosDevices(herald.db, herald.appId, count)
    await herald.db.pool.query(`UPDATE device SET alias = guid WHERE app_id = $1`, [herald.appId])
    await herald.db.pool.query('VACUUM ANALYZE device')
    // Once before: ANALYZE makes Postgres plan every statement again, on each connection.
    await schedule(herald, count)
    await herald.db.pool.query('VACUUM ANALYZE task')
    await makeDue(herald)
    while (await someWait(herald)) await sleep(500)
    await untilArrived(sink, count)

    await schedule(herald, count)
    await makeDue(herald)
    const before = herald.cpuTime()
    const began = performance.now()
    while (await someWait(herald)) await sleep(500)
    const seconds = (performance.now() - began) / 1000
    const after = herald.cpuTime()
    await checkBalance(herald)
    return {
      scheduled_begin_per_s: {
        value: rounded(count / seconds),
        unit: 'tasks/s',
        note: `${count.toLocaleString('en')} tasks for one iOS device each, due at the same time, one planner, the last begun after ${rounded(seconds)} s while the first are sent; ${cpuPerItem(before, after, count)}`,
      },
      scheduled_cpu_us_each: {
        value: totalCpuPerItem(before, after, count),
        unit: 'µs',
        note: `${cpuNote}, until the last of these tasks has begun`,
      },
    }
  } finally {
    await herald.stop()
    await sink.stop()
  }
}

async function schedule({ db, appId }: Deployment, count: number): Promise<void> {
  const message = { ...sampleMessage(), showBegin: Math.floor(Date.now() / 1000) + 3600 }
  const entry = (n: number): TaskToAccept => ({
    task: {
      appId,
      audience: { kind: 'alias', aliases: [`g${n}`] },
      strategy: 'ospush_only',
      sequence: [],
      message,
      ttl: 86_400,
    },
    mayRelease: () => false,
  })
  for (let at = 0; at < count; at += 500) {
    const entries = Array.from({ length: Math.min(500, count - at) }, (_, i) => entry(at + i + 1))
    await acceptTasks(db, entries)
  }
}

async function untilArrived(sink: Sink, count: number): Promise<void> {
  let arrived = 0
  while (arrived < count) {
    await sleep(200)
    arrived += (await sink.takeCounts()).requests
  }
}

/** They are due from the commit on. */
async function makeDue({ db, appId, firstTask }: Deployment): Promise<void> {
  await db.pool.query(
    `UPDATE task SET begin_at = now() WHERE app_id = $1 AND id >= ${firstTask} AND state = 'accepted'`,
    [appId],
  )
}

/**
 * Not their number: counting them took a quarter of the time of Postgres. With the columns of the index task_turn: without the lane Postgres
 * reads what waits of all applications.
 */
async function someWait({ db, appId, firstTask }: Deployment): Promise<boolean> {
  const { rows } = await db.pool.query<{ waits: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM task WHERE state = 'accepted' AND lane IN ('high', 'normal') AND app_id = $1 AND id >= ${firstTask}) AS waits`,
    [appId],
  )
  return rows[0]!.waits
}
