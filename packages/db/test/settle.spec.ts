import { acceptPlan, type TestDatabase, testDatabase } from '@herald/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { saveCertificate } from '../src/certificates/index.ts'
import { findImbalances } from '../src/readings/index.ts'
import { createSealer, type Database, ensurePartitions, openDatabase } from '../src/store/index.ts'
import {
  cancelTask,
  claimBatches,
  freeDeadLeases,
  pauseTask,
  recordReceipts,
  renewLeases,
  type Settlement,
  settleBatches,
} from '../src/tasks/index.ts'
import { createApplication } from '../src/tenants/index.ts'

describe('claim and settle', () => {
  let database: TestDatabase
  let db: Database
  let app: string
  let certificate: number
  let taskId: number
  let batchId: number

  beforeAll(async () => {
    database = await testDatabase()
    db = openDatabase(database.url, { max: 5 })
    await ensurePartitions(db)
    const made = await createApplication(db, { name: 'settle', packageName: '' })
    if (made === 'taken') throw new Error('taken')
    app = made.appId
    certificate = (
      await saveCertificate(db, createSealer(Buffer.alloc(32)), {
        application: app,
        channel: 'fcm',
        environment: 'production',
        name: '',
        appId: '',
        appKey: '',
        appSecret: '',
        certificate: '',
        extra: {},
      })
    ).id
  })
  afterAll(async () => {
    await db.close()
    await database.drop()
  })
  beforeEach(async () => {
    const batch = { channel: 'fcm' as const, certificateId: certificate, recipients: [10, 20, 40], tried: [] }
    const accepted = await acceptPlan(db, app, { batches: [batch] })
    taskId = accepted.taskId
    batchId = accepted.released[0]!.id
  })

  let claims = 0
  const claim = (seconds = 30, worker = `w${claims++}`) =>
    claimBatches(db.pool, [{ taskId, id: batchId }], { seconds, worker })
  const settlement = (version: number, change: Partial<Settlement> = {}): Settlement => ({
    taskId,
    id: batchId,
    version,
    status: 'sss',
    state: 'settled',
    sent: 3,
    failed: 0,
    moved: 0,
    expired: 0,
    cancelled: 0,
    fallback: [],
    inbox: [],
    unbox: [],
    reasons: [],
    retire: [],
    answered: 3,
    gone: 0,
    ...change,
  })
  const counter = async () =>
    (
      await db.pool.query(
        'SELECT target, sent, failed, moved FROM counter WHERE task_id = $1 AND channel = $2',
        [taskId, 'fcm'],
      )
    ).rows[0]

  it('gives a batch to one of many claimants', async () => {
    const claims = await Promise.all(Array.from({ length: 10 }, () => claim()))
    expect(claims.flat()).toHaveLength(1)
    expect(await claim()).toEqual([])
  })

  it('gives it once more to a claimant whose answer was lost', async () => {
    const [unheard] = await claim(30, 'once')
    const [again] = await claim(30, 'once')
    expect(again!.version).toBe(unheard!.version + 1)
    expect(await claim()).toEqual([])
  })

  it('gives nobody what is paused, cancelled or over', async () => {
    for (const stop of [
      () => pauseTask(db, { appId: app }, taskId),
      () => cancelTask(db, { appId: app }, taskId),
      () => db.pool.query('UPDATE batch SET deadline = now() WHERE task_id = $1', [taskId]),
    ]) {
      await db.pool.query('UPDATE task SET paused = false, cancelling = false WHERE id = $1', [taskId])
      await stop()
      expect(await claim()).toEqual([])
    }
  })

  it('weighs what waits once more by what is left of it', async () => {
    const [batch] = await claim()
    const again = settlement(batch!.version, { status: 's..', state: 'again', sent: 1 })
    await settleBatches(db, [again])
    const { rows } = await db.pool.query('SELECT size FROM batch WHERE task_id = $1', [taskId])
    expect(rows).toEqual([{ size: 2 }])
    expect(await findImbalances(db, [taskId])).toEqual([])
  })

  it('writes once: a repeated settle finds the version gone and changes nothing', async () => {
    const [batch] = await claim()
    expect((await settleBatches(db, [settlement(batch!.version)])).settled.size).toBe(1)
    expect((await settleBatches(db, [settlement(batch!.version)])).settled.size).toBe(0)
    expect(await counter()).toEqual({ target: 3, sent: 3, failed: 0, moved: 0 })
    expect(await findImbalances(db, [taskId])).toEqual([])
  })

  it('locks out a worker whose lease ran out', async () => {
    const [stale] = await claim(-1)
    expect(await renewLeases(db, [stale!], 30)).toEqual(new Set())
    expect(await freeDeadLeases(db)).toBeGreaterThanOrEqual(1)
    expect((await settleBatches(db, [settlement(stale!.version)])).settled.size).toBe(0)
    expect(await counter()).toEqual({ target: 3, sent: 0, failed: 0, moved: 0 })
  })

  it('settles in parts under one lease and counts each part once', async () => {
    const [batch] = await claim()
    const part = await settleBatches(db, [
      settlement(batch!.version, { status: 's..', state: 'sending', sent: 1 }),
    ])
    expect([...part.settled]).toEqual([`${taskId}/${batchId}`])
    const version = batch!.version + 1
    expect((await renewLeases(db, [{ taskId, id: batchId, version }], 30)).size).toBe(1)
    expect(await findImbalances(db, [taskId])).toEqual([])
    await settleBatches(db, [settlement(version, { sent: 2 })])
    expect(await counter()).toEqual({ target: 3, sent: 3, failed: 0, moved: 0 })
  })

  it('moves recipients to another channel and the inbox in the same commit', async () => {
    const [batch] = await claim()
    await settleBatches(db, [
      settlement(batch!.version, {
        status: 'smm',
        sent: 1,
        moved: 2,
        fallback: [{ channel: 'huawei', certificateId: certificate, recipients: [20], tried: ['fcm'] }],
        inbox: [40],
        reasons: [{ fate: 'moved', reason: 'refused', count: 2, samples: [20, 40] }],
      }),
    ])
    const { rows } = await db.pool.query(
      'SELECT channel, target, sent, moved FROM counter WHERE task_id = $1 ORDER BY channel',
      [taskId],
    )
    expect(rows).toEqual([
      { channel: 'fcm', target: 3, sent: 1, moved: 2 },
      { channel: 'huawei', target: 1, sent: 0, moved: 0 },
      { channel: 'native', target: 1, sent: 0, moved: 0 },
    ])
    expect(await findImbalances(db, [taskId])).toEqual([])
  })

  it.each([
    ['ready', 'speed = NULL'],
    ['paced', 'speed = 10'],
    ['held', 'speed = 10, paused = true'],
  ])('leaves what goes on or again %s when its task has %s', async (state, change) => {
    const [batch] = await claim()
    await db.pool.query(`UPDATE task SET ${change} WHERE id = $1`, [taskId])
    const fallback = [{ channel: 'huawei' as const, certificateId: certificate, recipients: [20], tried: [] }]
    const mixed = { status: 'sm.', state: 'again' as const, sent: 1, moved: 1, fallback }
    await settleBatches(db, [settlement(batch!.version, mixed)])
    const { rows } = await db.pool.query('SELECT state FROM batch WHERE task_id = $1', [taskId])
    expect(rows).toEqual([{ state }, { state }])
  })

  it('remembers since when its vendor is in trouble, until it is no more', async () => {
    const troubledFor = async (troubled: boolean) => {
      await db.pool.query(`UPDATE batch SET state = 'released' WHERE task_id = $1`, [taskId])
      const [batch] = await claim()
      const again = { status: '...', state: 'again' as const, sent: 0, troubled }
      await settleBatches(db, [settlement(batch!.version, again)])
      return batch!.troubledFor
    }
    await troubledFor(true)
    await db.pool.query(
      `UPDATE batch SET trouble_since = now() - interval '100 seconds' WHERE task_id = $1`,
      [taskId],
    )
    await troubledFor(true)
    expect(await troubledFor(false)).toBeGreaterThan(99)
    expect(await troubledFor(true)).toBe(0)
  })

  it('counts a receipt for a recipient of this task, application and channel, and for nobody beside', async () => {
    const record = (deviceId: number, extra: object = {}) =>
      recordReceipts(db, [{ appId: app, taskId, deviceId, event: 'received', ...extra }])
    expect(await record(30)).toBe(0)
    expect(await record(20, { appId: 'another' })).toBe(0)
    expect(await record(20, { channel: 'huawei' })).toBe(0)
    expect([await record(20), await record(20)]).toEqual([1, 0])
    const { rows } = await db.pool.query('SELECT received FROM counter WHERE task_id = $1', [taskId])
    expect(rows).toEqual([{ received: 1 }])
  })

  it('notices an imbalance when there is one', async () => {
    await db.pool.query('UPDATE counter SET sent = sent + 1 WHERE task_id = $1', [taskId])
    expect(await findImbalances(db, [taskId])).toMatchObject([
      { taskId, channel: 'fcm', target: 3, sent: 1, pending: 3 },
    ])
  })
})
