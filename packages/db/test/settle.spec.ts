import { acceptPlan } from '@herald/testkit/accept-plan'
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { findImbalances } from '../src/readings/index.ts'
import {
  cancelTask,
  claimBatches,
  leaseTime,
  pauseTask,
  reclaimExpiredLeases,
  recordReceipts,
  renewLeases,
  resumeTask,
  type Settlement,
  settleBatches,
  taskFailures,
} from '../src/tasks/index.ts'
import { addApplication, addCertificate, settlementOf, useDatabase } from './setup.ts'

describe('claim and settle', () => {
  const db = useDatabase()
  let app: string
  let certificate: number
  let taskId: number
  let batchId: number

  beforeAll(async () => {
    app = await addApplication(db)
    certificate = await addCertificate(db, app, 'fcm')
  })
  beforeEach(async () => {
    const batch = { channel: 'fcm' as const, certificateId: certificate, recipients: [10, 20, 40], tried: [] }
    const accepted = await acceptPlan(db, app, { batches: [batch] })
    taskId = accepted.taskId
    batchId = accepted.released[0]!.id
  })

  let claims = 0
  const claim = (seconds = 30, worker = `w${claims++}`) =>
    claimBatches(
      db.pool,
      { channel: 'fcm', certificateIds: [certificate], batches: [{ taskId, id: batchId }] },
      { seconds, worker },
    )
  const settlement = (version: number, change: Partial<Settlement> = {}) =>
    settlementOf({ taskId, id: batchId, version }, { status: 'sss', sent: 3, answered: 3, ...change })
  const counter = async () =>
    (
      await db.pool.query(
        'SELECT target, sent, failed, moved FROM counter WHERE task_id = $1 AND channel = $2',
        [taskId, 'fcm'],
      )
    ).rows[0]

  it('gives a batch to one of many concurrent claims', async () => {
    const claims = await Promise.all(Array.from({ length: 10 }, () => claim()))
    expect(claims.flat()).toHaveLength(1)
    expect(await claim()).toEqual([])
  })

  it('gives it again to a claim whose reply was lost', async () => {
    const [lost] = await claim(30, 'once')
    const [again] = await claim(30, 'once')
    expect(again!.version).toBe(lost!.version + 1)
    expect(await claim()).toEqual([])
  })

  it('does not give a batch that is paused, cancelled or expired', async () => {
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

  it('counts only the remaining recipients of a retried batch as its size', async () => {
    const [batch] = await claim()
    const retry = settlement(batch!.version, { status: 's..', state: 'retry', sent: 1 })
    await settleBatches(db, [retry])
    const { rows } = await db.pool.query('SELECT size FROM batch WHERE task_id = $1', [taskId])
    expect(rows).toEqual([{ size: 2 }])
    expect(await findImbalances(db, [taskId])).toEqual([])
  })

  it('writes once: a repeated settle finds another version and changes nothing', async () => {
    const [batch] = await claim()
    expect((await settleBatches(db, [settlement(batch!.version)])).settled.size).toBe(1)
    expect((await settleBatches(db, [settlement(batch!.version)])).settled.size).toBe(0)
    expect(await counter()).toEqual({ target: 3, sent: 3, failed: 0, moved: 0 })
    expect(await findImbalances(db, [taskId])).toEqual([])
  })

  it('locks out a worker whose lease has expired', async () => {
    const [stale] = await claim(-1)
    expect(await reclaimExpiredLeases(db, await leaseTime(db))).toBeGreaterThanOrEqual(1)
    expect(await renewLeases(db, [stale!], 30)).toEqual(new Set())
    expect((await settleBatches(db, [settlement(stale!.version)])).settled.size).toBe(0)
    expect(await counter()).toEqual({ target: 3, sent: 0, failed: 0, moved: 0 })
  })

  it('renews a lease that has expired until it is reclaimed', async () => {
    const [batch] = await claim(-1)
    expect(await renewLeases(db, [batch!], 30)).toEqual(new Set([`${taskId}/${batchId}`]))
    await reclaimExpiredLeases(db, await leaseTime(db))
    expect((await settleBatches(db, [settlement(batch!.version)])).settled.size).toBe(1)
  })

  it('does not renew the lease of a batch that another worker has', async () => {
    const [stale] = await claim(-1)
    await reclaimExpiredLeases(db, await leaseTime(db))
    await db.pool.query(`UPDATE batch SET state = 'released' WHERE task_id = $1`, [taskId])
    const [batch] = await claim(-1)
    expect(await renewLeases(db, [stale!], 30)).toEqual(new Set())
    expect((await renewLeases(db, [batch!], 30)).size).toBe(1)
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
        reasons: [{ fate: 'moved', code: 'fcm.X', text: 'refused', count: 2, samples: [20, 40] }],
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

  it('puts no message into the inbox of a device that has acknowledged it in between', async () => {
    const [batch] = await claim()
    await db.pool.query(`INSERT INTO receipt (task_id, device_id, channel) VALUES ($1, 40, 'native')`, [
      taskId,
    ])
    await settleBatches(db, [
      settlement(batch!.version, { status: 'smm', sent: 1, moved: 2, inbox: [20, 40] }),
    ])
    const { rows } = await db.pool.query('SELECT device_id FROM inbox WHERE task_id = $1', [taskId])
    expect(rows).toEqual([{ device_id: 20 }])
    const native = await db.pool.query(
      `SELECT target FROM counter WHERE task_id = $1 AND channel = 'native'`,
      [taskId],
    )
    expect(native.rows).toEqual([{ target: 1 }])
    expect(await findImbalances(db, [taskId])).toEqual([])
  })

  it('returns no device to the native channel that has acknowledged there in between', async () => {
    const [batch] = await claim()
    await db.pool.query(
      `INSERT INTO receipt (task_id, device_id, channel) VALUES ($1, 20, 'fcm'), ($1, 40, 'native')`,
      [taskId],
    )
    const toNode = (node: string, recipients: number[]) => ({
      channel: 'native' as const,
      node,
      recipients,
      tried: ['fcm' as const],
    })
    await settleBatches(db, [
      settlement(batch!.version, {
        status: 'mmm',
        sent: 0,
        moved: 3,
        fallback: [
          toNode('a', [20]),
          toNode('b', [40]),
          { channel: 'huawei', certificateId: certificate, recipients: [10], tried: ['fcm'] },
        ],
      }),
    ])
    const { rows } = await db.pool.query(
      `SELECT channel, node, size, recipients, status FROM batch WHERE task_id = $1 AND channel <> 'fcm' ORDER BY channel`,
      [taskId],
    )
    expect(rows).toEqual([
      { channel: 'huawei', node: null, size: 1, recipients: [10], status: '.' },
      { channel: 'native', node: 'a', size: 1, recipients: [20], status: '.' },
    ])
    expect(await findImbalances(db, [taskId])).toEqual([])
  })

  it('groups failures by code: a reworded text neither splits a group nor changes its key', async () => {
    const fail = async (status: string, state: 'retry' | 'settled', text: string) => {
      await db.pool.query(`UPDATE batch SET state = 'released' WHERE task_id = $1`, [taskId])
      const [batch] = await claim()
      const reasons = [{ fate: 'failed' as const, code: 'fcm.UNREGISTERED', text, count: 1, samples: [10] }]
      await settleBatches(db, [settlement(batch!.version, { status, state, sent: 0, failed: 1, reasons })])
    }
    await fail('f..', 'retry', 'the first wording')
    await fail('ff.', 'retry', 'another wording')
    expect(await taskFailures(db, { appId: app }, taskId)).toMatchObject([
      { channel: 'fcm', fate: 'failed', code: 'fcm.UNREGISTERED', reason: 'the first wording', count: 2 },
    ])
  })

  it.each([
    ['ready', 'speed = NULL'],
    ['paced', 'speed = 10'],
    ['held', 'speed = 10, paused = true'],
  ])('makes retried and moved recipients %s when the task has %s', async (state, change) => {
    const [batch] = await claim()
    await db.pool.query(`UPDATE task SET ${change} WHERE id = $1`, [taskId])
    const fallback = [{ channel: 'huawei' as const, certificateId: certificate, recipients: [20], tried: [] }]
    const mixed = { status: 'sm.', state: 'retry' as const, sent: 1, moved: 1, fallback }
    await settleBatches(db, [settlement(batch!.version, mixed)])
    const { rows } = await db.pool.query('SELECT state FROM batch WHERE task_id = $1', [taskId])
    expect(rows).toEqual([{ state }, { state }])
  })

  it('stores since when the vendor is in trouble, until it has recovered', async () => {
    const troubledFor = async (troubled: boolean) => {
      await db.pool.query(`UPDATE batch SET state = 'released' WHERE task_id = $1`, [taskId])
      const [batch] = await claim()
      const retry = { status: '...', state: 'retry' as const, sent: 0, troubles: Number(troubled) }
      await settleBatches(db, [settlement(batch!.version, retry)])
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

  it('counts receipts only of recipients of this task, application and channel', async () => {
    const record = (deviceId: number, extra: object = {}) =>
      recordReceipts(db, [{ appId: app, taskId, deviceId, event: 'received', ...extra }])
    expect(await record(30)).toBe(0)
    expect(await record(20, { appId: 'another' })).toBe(0)
    expect(await record(20, { channel: 'huawei' })).toBe(0)
    expect([await record(20), await record(20)]).toEqual([1, 0])
    const { rows } = await db.pool.query('SELECT received FROM counter WHERE task_id = $1', [taskId])
    expect(rows).toEqual([{ received: 1 }])
  })

  it('changes no batch when a group resumes the task of another group', async () => {
    await pauseTask(db, { appId: app }, taskId)
    const state = async () =>
      (await db.pool.query('SELECT state FROM batch WHERE task_id = $1', [taskId])).rows[0].state
    expect(await resumeTask(db, { appId: app, groupId: 1 }, taskId)).toBe('unknown')
    expect(await state()).toBe('released')
    expect(await resumeTask(db, { appId: app }, taskId)).toBe('ok')
    expect(await state()).toBe('held')
  })

  it('finds an imbalance', async () => {
    await db.pool.query('UPDATE counter SET sent = sent + 1 WHERE task_id = $1', [taskId])
    expect(await findImbalances(db, [taskId])).toMatchObject([
      { taskId, channel: 'fcm', target: 3, sent: 1, pending: 3 },
    ])
  })
})
