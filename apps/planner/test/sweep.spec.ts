import { joinNode, leaveNode } from '@herald/db/native'
import { findImbalances } from '@herald/db/readings'
import type { Database } from '@herald/db/store'
import type { Channel } from '@herald/domain'
import type { PushJob, PushQueues } from '@herald/queue'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { useDatabase } from '@herald/testkit/use-database'
import { describe, expect, it } from '@jest/globals'
import { feedRound } from '../src/feed-round.ts'
import { createSteadiness } from '../src/steadiness.ts'
import { sweepRound } from '../src/sweep-round.ts'

const db = useDatabase()

/** Queues that record the tasks of their jobs; `oldest` is when the job that waits longest was released. */
function queuesOf(oldest: (queue: string) => Promise<number | undefined> = async () => undefined) {
  const enqueued: number[] = []
  const add = async (_queue: string, job: PushJob) => {
    for (const { taskId } of job.batches) enqueued.push(taskId)
  }
  return {
    enqueued,
    deps: {
      db,
      queues: { add, oldestWaiting: oldest } as unknown as PushQueues,
      onQueueFailure: () => {},
      isSteady: () => true,
      onEnded: () => {},
      onLoopError: () => {},
    },
  }
}

async function released(channel: Channel, seconds: number): Promise<number> {
  const destination = channel === 'native' ? { node: 'a' } : { certificateId: 1 }
  const { taskId } = await acceptPlan(db, 'app', {
    batches: [{ channel, ...destination, recipients: [1], tried: [] }],
  })
  await db.pool.query('UPDATE batch SET released_at = now() - make_interval(secs => $2) WHERE task_id = $1', [
    taskId,
    seconds,
  ])
  return taskId
}
/** When the sweep looked for unclaimed batches, by the clock of Postgres. */
let lookedAt = 0
/** A database in which a released batch has this age when the sweep looks for unclaimed ones, however long the steps before take. */
function withAge(seconds: () => number): Database {
  const query = async (statement: { name?: string }) => {
    if (!statement.name?.startsWith('unclaimed-lanes@')) return db.pool.query(statement as never)
    const client = await db.pool.connect()
    try {
      // In one transaction `now()` does not change.
      await client.query('BEGIN')
      await client.query(
        `UPDATE batch SET released_at = now() - make_interval(secs => $1) WHERE state = 'released'`,
        [seconds()],
      )
      const { rows } = await client.query('SELECT extract(epoch FROM now())::float8 * 1000 AS now')
      lookedAt = rows[0].now
      return await client.query(statement as never)
    } finally {
      await client.query('COMMIT')
      client.release()
    }
  }
  return { ...db, pool: { query, connect: () => db.pool.connect() } } as unknown as Database
}
const settleAll = () => db.pool.query(`UPDATE batch SET state = 'settled'`)

describe('a batch that was released and not claimed', () => {
  const down = () => Promise.reject(new Error('the queue is down'))
  const empty = async () => undefined
  const secondsAgo = (seconds: number) => async () => lookedAt - seconds * 1000
  it.each<[string, Channel, number, () => Promise<number | undefined>, boolean]>([
    ['a moment ago from an empty queue', 'fcm', 1, empty, false],
    ['for seconds from an empty queue', 'fcm', 4, empty, true],
    ['as long as the oldest job', 'fcm', 61, secondsAgo(61), false],
    ['a little longer than the oldest job', 'fcm', 61, secondsAgo(54), false],
    ['longer than the oldest job', 'fcm', 61, secondsAgo(51), true],
    ['longer than the oldest job of a queue that is far behind', 'fcm', 3600, secondsAgo(3590), true],
    ['for over a minute from a queue that is down', 'fcm', 61, down, false],
    ['for seconds by its gateway', 'native', 4, down, true],
  ])('%s', async (_, channel, seconds, oldest, again) => {
    await joinNode(db, 'a', 600)
    const task = await released(channel, seconds)
    const { enqueued, deps } = queuesOf(oldest)
    // One that was enqueued again counts as released then.
    const aged = { ...deps, db: withAge(() => (enqueued.length > 0 ? 0 : seconds)) }
    await sweepRound(aged)
    await sweepRound(aged)
    expect(enqueued).toEqual(again ? [task] : [])
    await settleAll()
  })
})

it('batches of a gateway without a valid lease are not enqueued again', async () => {
  await joinNode(db, 'a', 600)
  const native = await released('native', 60)
  const vendor = await released('fcm', 60)
  await leaveNode(db, 'a')
  const { enqueued, deps } = queuesOf()
  await sweepRound(deps)
  expect(enqueued).toEqual([vendor])
  await db.pool.query('DELETE FROM gateway_node')
  await sweepRound(deps)
  expect(enqueued).not.toContain(native)
  await joinNode(db, 'a', 600)
  await sweepRound(deps)
  expect(enqueued).toEqual([vendor, native])
  await settleAll()
})

it('a lost batch is found by the jobs of its own lane', async () => {
  const high = await released('fcm', 60)
  const normal = await released('fcm', 60)
  await db.pool.query(`UPDATE batch SET lane = 'normal' WHERE task_id = $1`, [normal])
  const { enqueued, deps } = queuesOf(async (queue) =>
    queue === 'push-fcm' ? Date.now() - 600_000 : undefined,
  )
  await sweepRound(deps)
  expect(enqueued).toEqual([normal])
  expect(enqueued).not.toContain(high)
  await settleAll()
})

it('lost batches of several certificates have jobs of their own: a worker of the previous release cannot read a shared one', async () => {
  for (const certificateId of [21, 22]) {
    const { taskId } = await acceptPlan(db, 'app', {
      batches: [{ channel: 'fcm', certificateId, recipients: [1], tried: [] }],
    })
    await db.pool.query(`UPDATE batch SET released_at = now() - interval '60 seconds' WHERE task_id = $1`, [
      taskId,
    ])
  }
  const jobs: PushJob[] = []
  const { deps } = queuesOf()
  const add = async (_queue: string, job: PushJob) => void jobs.push(job)
  await sweepRound({ ...deps, queues: { ...deps.queues, add } as unknown as PushQueues })
  expect(jobs.map(({ certificateIds }) => certificateIds).sort()).toEqual([['21'], ['22']])
  await settleAll()
})

it('a batch of a worker that died is ready again when its lease has expired', async () => {
  const task = await released('fcm', 0)
  await db.pool.query(
    `UPDATE batch SET state = 'sending', worker = 'dead', lease_until = now() - interval '1 second' WHERE task_id = $1`,
    [task],
  )
  await sweepRound(queuesOf().deps)
  const { rows } = await db.pool.query('SELECT state, worker, lost FROM batch WHERE task_id = $1', [task])
  expect(rows).toEqual([{ state: 'ready', worker: null, lost: 1 }])
  await settleAll()
})

it('a statement that Postgres runs after an outage leaves the leases that expired in it to their workers', async () => {
  const leased = async () => {
    const task = await released('fcm', 0)
    await db.pool.query(
      `UPDATE batch SET state = 'sending', lease_until = now() + interval '1 hour' WHERE task_id = $1`,
      [task],
    )
    return task
  }
  const [sending, sendingOften] = [await leased(), await leased()]
  await db.pool.query('UPDATE batch SET lost = 9 WHERE task_id = $1', [sendingOften])
  const query = async (statement: { name: string; text: string }) => {
    // The statement arrives when the leases have ended.
    if (/^(reclaim-leases|fail-lost)@/.test(statement.name))
      await db.pool.query(`UPDATE batch SET lease_until = clock_timestamp() WHERE state = 'sending'`)
    return db.pool.query(statement)
  }
  const late = { ...db, pool: { query, connect: () => db.pool.connect() } } as unknown as Database
  await sweepRound({ ...queuesOf().deps, db: late })
  const states = async () =>
    (
      await db.pool.query('SELECT state FROM batch WHERE task_id = ANY($1) ORDER BY task_id', [
        [sending, sendingOften],
      ])
    ).rows.map(({ state }) => state)
  expect(await states()).toEqual(['sending', 'sending'])
  await sweepRound(queuesOf().deps)
  expect(await states()).toEqual(['ready', 'settled'])
  await settleAll()
})

it('leases that have expired because the clock of Postgres was set ahead are left to their workers for a while', async () => {
  const task = await released('fcm', 0)
  await db.pool.query(
    `UPDATE batch SET state = 'sending', lease_until = now() + interval '30 seconds' WHERE task_id = $1`,
    [task],
  )
  let ahead = 0
  const query = async (statement: { name: string; text: string }) => {
    const result = await db.pool.query(statement)
    if (statement.name !== 'lease-time') return result
    return { ...result, rows: [[new Date(Date.parse(result.rows[0][0]) + ahead).toISOString()]] }
  }
  let passed = 0
  const steadiness = createSteadiness(() => performance.now() + passed)
  steadiness.pausing(3_600_000)
  passed = 11_000
  const deps = {
    ...queuesOf().deps,
    db: { ...db, pool: { query, connect: () => db.pool.connect() } } as unknown as Database,
    isSteady: steadiness.isSteady,
  }
  const state = async () =>
    (await db.pool.query('SELECT state FROM batch WHERE task_id = $1', [task])).rows[0].state
  await sweepRound(deps)
  ahead = 60_000
  await sweepRound(deps)
  expect(await state()).toBe('sending')
  passed += 11_000
  await sweepRound(deps)
  expect(await state()).toBe('ready')
  await settleAll()
})

it('a batch whose tenth lease in a row ends without a settle fails, and the counters balance', async () => {
  const recipients = [1, 2, 3]
  const batches = [{ channel: 'fcm' as const, certificateId: 1, recipients, tried: [] }]
  const { taskId: poisoned } = await acceptPlan(db, 'app', { batches })
  const { taskId: other } = await acceptPlan(db, 'app', { batches })
  const expire = (taskId: number, lost: number) =>
    db.pool.query(
      `UPDATE batch SET state = 'sending', worker = 'dead', lease_until = now() - interval '1 second', lost = $2,
         status = 's..' WHERE task_id = $1`,
      [taskId, lost],
    )
  await expire(poisoned, 9)
  await expire(other, 8)
  await db.pool.query('UPDATE counter SET sent = 1 WHERE task_id = ANY($1)', [[poisoned, other]])
  const { deps } = queuesOf()
  const ended: unknown[] = []
  await sweepRound({ ...deps, onEnded: (...end) => ended.push(end) })
  const { rows } = await db.pool.query(
    'SELECT state, status, lost, lease_until FROM batch WHERE task_id = ANY($1) ORDER BY task_id',
    [[poisoned, other]],
  )
  expect(rows).toEqual([
    { state: 'settled', status: 'sff', lost: 9, lease_until: null },
    { state: 'ready', status: 's..', lost: 9, lease_until: null },
  ])
  expect(ended).toEqual([['fcm', 'failed', 2]])
  const { rows: failures } = await db.pool.query(
    'SELECT fate, reason, count, samples FROM failure WHERE task_id = $1',
    [poisoned],
  )
  expect(failures).toEqual([{ fate: 'failed', reason: 'herald.attempts_lost', count: 2, samples: [2, 3] }])
  expect(await findImbalances(db, [poisoned, other])).toEqual([])
  await settleAll()
})

it('a broadcast fills the window of its certificate only', async () => {
  const thousand = Array.from({ length: 1000 }, (_, i) => i + 1)
  const ready = (certificateId: number, count: number) =>
    acceptPlan(
      db,
      'app',
      {
        batches: Array.from({ length: count }, () => ({
          channel: 'fcm' as const,
          certificateId,
          recipients: thousand,
          tried: [],
        })),
      },
      { released: false, lane: 'normal' },
    )
  const { taskId: broadcast } = await ready(1, 25)
  const { taskId: neighbour } = await ready(2, 1)
  const { enqueued, deps } = queuesOf()
  await feedRound(deps)
  await feedRound(deps)
  expect(enqueued.filter((task) => task === broadcast)).toHaveLength(20)
  expect(enqueued.filter((task) => task === neighbour)).toHaveLength(1)
  await settleAll()
})

it('what certificates with little have is released into shared jobs', async () => {
  const ready = (certificateId: number, recipients: number[]) =>
    acceptPlan(
      db,
      'app',
      { batches: [{ channel: 'fcm' as const, certificateId, recipients, tried: [] }] },
      { released: false, lane: 'normal' },
    )
  for (const certificateId of [11, 12, 13]) await ready(certificateId, [1])
  await ready(
    14,
    Array.from({ length: 1000 }, (_, i) => i + 1),
  )
  const jobs: PushJob[] = []
  const { deps } = queuesOf()
  const add = async (_queue: string, job: PushJob) => void jobs.push(job)
  await feedRound({ ...deps, queues: { ...deps.queues, add } as unknown as PushQueues })
  const certificates = jobs.map(({ certificateIds }) => [...certificateIds].sort())
  expect(certificates.sort((a, b) => a.length - b.length)).toEqual([['14'], ['11', '12', '13']])
  await settleAll()
})
