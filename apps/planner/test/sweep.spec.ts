import { type Database, ensurePartitions, openDatabase } from '@herald/db/store'
import type { Channel } from '@herald/domain'
import type { PushJob, PushQueues } from '@herald/queue'
import { acceptPlan, type TestDatabase, testDatabase } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { feedRound } from '../src/feed-round.ts'
import { sweepRound } from '../src/sweep-round.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.url, { max: 5 })
  await ensurePartitions(db)
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

/** Queues of this depth that record the tasks of their jobs. */
function queuesOf(depth: () => Promise<number> = async () => 0) {
  const enqueued: number[] = []
  const add = async (_queue: string, job: PushJob) => {
    for (const { taskId } of job.batches) enqueued.push(taskId)
  }
  return {
    enqueued,
    deps: {
      db,
      queues: { add, depth } as unknown as PushQueues,
      onQueueFailure: () => {},
      isSteady: () => true,
      onEnded: () => {},
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
const settleAll = () => db.pool.query(`UPDATE batch SET state = 'settled'`)

describe('a batch that was released and not claimed', () => {
  const unknown = () => Promise.reject(new Error('the queue is down'))
  it.each<[string, Channel, number, () => Promise<number>, boolean]>([
    ['a moment ago from an empty queue', 'fcm', 1, async () => 0, false],
    ['for seconds from an empty queue', 'fcm', 4, async () => 0, true],
    ['for seconds from a queue with jobs', 'fcm', 4, async () => 3, false],
    ['for over a minute from a queue with jobs', 'fcm', 61, async () => 3, true],
    ['for over a minute from a queue with a long backlog', 'fcm', 61, async () => 5001, false],
    ['for over a minute from a queue that is down', 'fcm', 61, unknown, false],
    ['for seconds by its gateway', 'native', 4, unknown, true],
  ])('%s', async (_, channel, seconds, depth, again) => {
    const task = await released(channel, seconds)
    const { enqueued, deps } = queuesOf(depth)
    await sweepRound(deps)
    await sweepRound(deps)
    expect(enqueued).toEqual(again ? [task] : [])
    await settleAll()
  })
})

it('a batch of a worker that died is ready again when its lease has expired', async () => {
  const task = await released('fcm', 0)
  await db.pool.query(
    `UPDATE batch SET state = 'sending', worker = 'dead', lease_until = now() - interval '1 second' WHERE task_id = $1`,
    [task],
  )
  await sweepRound(queuesOf().deps)
  const { rows } = await db.pool.query('SELECT state, worker FROM batch WHERE task_id = $1', [task])
  expect(rows).toEqual([{ state: 'ready', worker: null }])
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
