import { acceptPlan } from '@herald/testkit/accept-plan'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { findImbalances, readBacklog } from '../src/readings/index.ts'
import type { Database } from '../src/store/index.ts'
import {
  alignPausedBatches,
  cancelAccepted,
  cancelTask,
  certificatesToWake,
  findDueWork,
  findRecipients,
  lanesWithUnclaimed,
  leaseTime,
  pacedTasks,
  pacedTasksToWake,
  pauseTask,
  readyCertificates,
  readyNodes,
  reclaimExpiredLeases,
  recordReceipts,
  releaseReady,
  resumeTask,
  settleEnded,
} from '../src/tasks/index.ts'
import { blocksRead, vacuumAnalyze } from './blocks-read.ts'
import { addApplication, addCertificate, stopAutovacuum, useDatabase } from './setup.ts'

const db = useDatabase()
let app: string
let certificateId: number
beforeAll(async () => {
  app = await addApplication(db)
  certificateId = await addCertificate(db, app, 'fcm')
})
beforeEach(() => db.pool.query('TRUNCATE task, batch, counter, inbox, receipt, pause_change'))
afterEach(async () => expect(await findImbalances(db)).toEqual([]))

/** A task with `count` batches of `size` devices each, with the ids from 1 on. */
async function addTask(
  count: number,
  state: 'settled' | 'held' | 'ready',
  { size = 1, notBefore = 'now' } = {},
) {
  const { taskId } = await acceptPlan(db, app, { inbox: [1] })
  for (const table of ['inbox', 'counter'])
    await db.pool.query(`DELETE FROM ${table} WHERE task_id = $1`, [taskId])
  await db.pool.query(
    `INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, deadline, not_before)
     SELECT $1, $2, 'fcm', $3, 'high', $5, $6, ARRAY(SELECT generate_series(n * $6 + 1, n * $6 + $6)),
       repeat(CASE WHEN $5 = 'settled' THEN 's' ELSE '.' END, $6), now() + interval '1 day', $7::timestamptz
     FROM generate_series(0, $4::int - 1) n`,
    [taskId, app, certificateId, count, state, size, notBefore],
  )
  await db.pool.query(
    `INSERT INTO counter (task_id, channel, target, ranged, spread, sent) VALUES ($1, 'fcm', $2, $2, $3, $4)`,
    [taskId, count * size, size - 1, state === 'settled' ? count * size : 0],
  )
  await vacuumAnalyze(db, 'batch, counter, task')
  return taskId
}

describe('receipts', () => {
  const receiptsOf = (taskId: number, devices: number[], channel?: 'fcm') => (on: Database) =>
    recordReceipts(
      on,
      devices.map((deviceId) => ({ appId: app, taskId, deviceId, channel, event: 'received' as const })),
    )
  const last = (count: number) => Array.from({ length: 20 }, (_, i) => count - i)

  it.each(['fcm' as const, undefined])(
    'of the last devices of 10,000 batches cost what those of 10 batches cost, with channel %s',
    async (channel) => {
      const few = await addTask(10, 'settled', { size: 2 })
      const many = await addTask(10_000, 'settled', { size: 2 })
      await db.pool.query(
        'UPDATE counter SET target = 20, ranged = 20, sent = 20, spread = 1, task_id = task_id WHERE task_id = $1',
        [few],
      )
      const cost = async (taskId: number, count: number) =>
        (await blocksRead(db, receiptsOf(taskId, last(count), channel)))['record-receipts']!
      const [ofFew, ofMany] = [await cost(few, 20), await cost(many, 20_000)]
      // A b-tree of 10,000 batches is two levels higher.
      expect(ofMany).toBeLessThan(ofFew + 20 * 3)
      const { rows } = await db.pool.query('SELECT received FROM counter WHERE task_id = $1', [many])
      expect(rows).toEqual([{ received: 20 }])
      const found = await blocksRead(db, (on) =>
        findRecipients(on.pool, app, 'fcm', [{ taskId: many, deviceId: 20_000 }]),
      )
      expect(Object.values(found)[0]).toBeLessThan(40)
    },
  )

  it('find their batch whatever the distance of its devices, and after a program of the previous release added batches', async () => {
    const wide = { channel: 'fcm' as const, certificateId, recipients: [5, 70_000, 900_000], tried: [] }
    const narrow = { channel: 'fcm' as const, certificateId, recipients: [10, 11], tried: [] }
    const { taskId } = await acceptPlan(db, app, { batches: [narrow, wide, { ...narrow, recipients: [30] }] })
    const { rows } = await db.pool.query('SELECT target, ranged, spread FROM counter WHERE task_id = $1', [
      taskId,
    ])
    expect(rows).toEqual([{ target: 6, ranged: 6, spread: 899_995 }])
    expect(await receiptsOf(taskId, [5, 900_000, 11, 30])(db)).toBe(4)
    await db.pool.query(
      `INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, deadline)
       VALUES ($1, $2, 'fcm', $3, 'high', 'ready', 2, '{1000000,9000000}', '..', now())`,
      [taskId, app, certificateId],
    )
    await db.pool.query('UPDATE counter SET target = target + 2 WHERE task_id = $1', [taskId])
    expect(await receiptsOf(taskId, [9_000_000], 'fcm')(db)).toBe(1)
  })
})

describe('20,000 tasks that wait for their time', () => {
  const schedule = async (count: number) => {
    const { rows } = await db.pool.query<{ id: number }>(
      `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, begin_at)
       SELECT next_task_id(), $1, 'accepted', '{"kind":"all"}', 'combined', '{}', '{}', 'normal', 100, now() + interval '1 hour'
       FROM generate_series(1, $2) RETURNING id`,
      [app, count],
    )
    return rows.map(({ id }) => id)
  }

  it('are not read when others are cancelled, also if the statistics of Postgres know of few', async () => {
    const blocksOf = async (cancelled: number[]) => {
      for (const id of cancelled) await cancelTask(db, { appId: app }, id)
      return (await blocksRead(db, cancelAccepted))['cancel-accepted']!
    }
    await stopAutovacuum(db, 'task')
    const few = await blocksOf((await schedule(20)).slice(10))
    await db.pool.query('ANALYZE task')
    const many = await blocksOf((await schedule(20_000)).slice(-10))
    expect(many).toBeLessThan(few + 100)
    const { rows } = await db.pool.query('SELECT state, count(*)::int FROM task GROUP BY 1 ORDER BY 1')
    expect(rows).toEqual([
      { state: 'accepted', count: 20_000 },
      { state: 'cancelled', count: 20 },
    ])
  })
})

describe('100,000 batches that are held', () => {
  it('are not read when another task is paused or resumed, nor after a while', async () => {
    const big = await addTask(100_000, 'held')
    await pauseTask(db, { appId: app }, big)
    // As if it had been paused long ago.
    await db.pool.query('DELETE FROM pause_change; DELETE FROM task_check')
    expect((await findDueWork(db)).send).toBe(false)
    expect(Object.keys(await blocksRead(db, alignPausedBatches))).toEqual(['pause-changes'])
    const small = await acceptPlan(
      db,
      app,
      { batches: [{ channel: 'fcm', certificateId, recipients: [1], tried: [] }] },
      { released: false },
    )
    const stateOf = async () =>
      (await db.pool.query('SELECT state FROM batch WHERE task_id = $1', [small.taskId])).rows[0].state
    for (const [change, state] of [
      [pauseTask, 'held'],
      [resumeTask, 'ready'],
    ] as const) {
      await change(db, { appId: app }, small.taskId)
      const blocks = await blocksRead(db, alignPausedBatches)
      expect(await stateOf()).toBe(state)
      expect(Object.values(blocks).reduce((sum, one) => sum + one, 0)).toBeLessThan(500)
    }
    // A statement that began before the change may put a batch into the former state for minutes.
    await db.pool.query(`UPDATE batch SET state = 'held' WHERE task_id = $1`, [small.taskId])
    await db.pool.query(`UPDATE pause_change SET align_at = now()`)
    await alignPausedBatches(db)
    expect(await stateOf()).toBe('ready')
    await db.pool.query(
      `UPDATE pause_change SET align_at = now(), changed_at = changed_at - interval '6 minutes'`,
    )
    await alignPausedBatches(db)
    expect((await db.pool.query('SELECT 1 FROM pause_change')).rows).toEqual([])
  })
})

describe('100,000 batches that wait for a closed certificate', () => {
  const round = async (on: Database) => {
    await findDueWork(on)
    await readyCertificates(on, 0)
    await readyNodes(on)
    await releaseReady(on, { certificateId }, { recipients: 20_000, batches: 400 })
    await pacedTasks(on, 0)
    await pacedTasksToWake(on, 0)
    await certificatesToWake(on, 0)
    await settleEnded(on)
    await lanesWithUnclaimed(on, 3)
    await reclaimExpiredLeases(on, await leaseTime(on))
  }

  it('are read by no statement of the feeder, the sweep and the pulse, and by the gauges up to a limit', async () => {
    await addTask(10, 'ready', { notBefore: 'infinity' })
    await db.pool.query(
      `UPDATE certificate SET state = 'closed', probe_at = now() + interval '1 hour' WHERE id = $1`,
      [certificateId],
    )
    const few = await blocksRead(db, round)
    await addTask(100_000, 'ready', { notBefore: 'infinity' })
    const many = await blocksRead(db, round)
    for (const [name, blocks] of Object.entries(many))
      expect([name, blocks - few[name]! < 60]).toEqual([name, true])
    const gauges = await blocksRead(db, (on) => readBacklog(on))
    expect(Object.values(gauges).every((blocks) => blocks < 25_000)).toBe(true)
  })

  it('and 20,000 in flight are read up to the window', async () => {
    await addTask(20_000, 'ready')
    await db.pool.query(`UPDATE batch SET state = 'released', released_at = now()`)
    await vacuumAnalyze(db, 'batch')
    const blocks = await blocksRead(db, (on) =>
      releaseReady(on, { certificateId }, { recipients: 20_000, batches: 400 }),
    )
    expect(blocks['release-certificates']).toBeLessThan(1000)
  })
})

describe('thousands of certificates with ready batches and of tasks with a speed limit', () => {
  const looks = async (on: Database) => {
    await readyCertificates(on, 0)
    await certificatesToWake(on, 0)
    await pacedTasks(on, 0)
    await pacedTasksToWake(on, 0)
  }
  /** Tasks with a batch each, of certificates of their own; those whose number is divisible by 100 are due. */
  async function addTasks(from: number, to: number, state: 'ready' | 'paced') {
    const values = [app, state, from, to]
    await db.pool.query(
      `WITH added AS (
         INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, deadline, speed)
         SELECT next_task_id(), $1, 'sending', '{"kind":"all"}', 'combined', '{}', '{"title":"x"}', 'normal', 100,
           now() + interval '1 day', CASE WHEN $2 = 'paced' THEN 10 END
         FROM generate_series($3::int, $4::int) RETURNING id
       ), batches AS (
         INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, deadline, not_before)
         SELECT id, $1, 'fcm', 1000000 + n, 'normal', $2, 1, '{1}', '.', now() + interval '1 day',
           now() + CASE WHEN n % 100 = 0 THEN interval '0' ELSE interval '1 hour' END
         FROM (SELECT id, $3 + row_number() OVER (ORDER BY id) - 1 AS n FROM added) a RETURNING task_id
       )
       INSERT INTO counter (task_id, channel, target, ranged) SELECT task_id, 'fcm', 1, 1 FROM batches`,
      values,
    )
    await vacuumAnalyze(db, 'batch, counter, task')
  }
  /** Every id that a whole turn finds. */
  async function foundByTurn(
    look: (after: number) => Promise<{ found: number[]; next: number | undefined }>,
  ) {
    const all: number[] = []
    let steps = 0
    for (let after: number | undefined = 0; after !== undefined; steps++) {
      const { found, next } = await look(after)
      all.push(...found)
      after = next
    }
    return { all, steps }
  }

  it('are read some at a time, and a turn reads them all', async () => {
    for (const state of ['ready', 'paced'] as const) await addTasks(1, 600, state)
    const few = await blocksRead(db, looks)
    for (const state of ['ready', 'paced'] as const) await addTasks(601, 6000, state)
    const many = await blocksRead(db, looks)
    expect(Object.keys(few)).toEqual(
      expect.arrayContaining([
        'ready-certificates',
        'certificates-to-wake',
        'paced-tasks',
        'paced-tasks-to-wake',
      ]),
    )
    // Indexes of ten times as many rows may be one level deeper, for each of the 500 looks.
    for (const [name, blocks] of Object.entries(many))
      expect([name, blocks <= few[name]! * 1.5 + 600]).toEqual([name, true])

    const certificates = await foundByTurn((after) => readyCertificates(db, after))
    expect(certificates).toEqual({
      all: Array.from({ length: 60 }, (_, i) => 1_000_100 + 100 * i),
      steps: 13,
    })
    const tasks = await foundByTurn((after) => pacedTasks(db, after))
    const { rows } = await db.pool.query<{ id: number }>(
      `SELECT task_id AS id FROM batch WHERE state = 'paced' AND not_before <= now() ORDER BY 1`,
    )
    expect(tasks).toEqual({ all: rows.map(({ id }) => id), steps: 13 })
  })
})
