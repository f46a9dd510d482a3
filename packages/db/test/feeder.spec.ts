import { acceptPlan } from '@herald/testkit/accept-plan'
import { describe, expect, it } from '@jest/globals'
import { postponeProbe, recordFailedCheck, reopenCertificate } from '../src/certificates/index.ts'
import { findImbalances } from '../src/readings/index.ts'
import type { Database } from '../src/store/index.ts'
import {
  certificatesToWake,
  endIdleBreakers,
  type MadeReady,
  makePacedReady,
  pacedTasksToWake,
  readyCertificates,
  releaseCertificates,
  releaseReady,
  settleEnded,
  wakeBatches,
  wakePaced,
} from '../src/tasks/index.ts'
import { blocksRead } from './blocks-read.ts'
import { addApplication, addCertificate, useDatabase } from './setup.ts'

const db = useDatabase()

// Above those of real ones.
let certificates = 10_000
const ids = (size: number) => Array.from({ length: size }, (_, i) => i + 1)

const openBreakerOf = (certificateId: number, retryIn: string) =>
  db.pool.query(
    `INSERT INTO breaker (certificate_id, opened_at, failures, retry_at, code, text)
     VALUES ($1, now() - interval '1 hour', 1, now() + $2::interval, '', '')`,
    [certificateId, retryIn],
  )

/** Adds ready batches of these sizes; with a speed they are paced. */
const ready = (certificateId: number, sizes: number[], lane: 'high' | 'normal' = 'normal', speed?: number) =>
  acceptPlan(
    db,
    'app',
    {
      batches: sizes.map((size) => ({ channel: 'fcm', certificateId, recipients: ids(size), tried: [] })),
    },
    { released: false, lane, speed },
  )

describe('releasing', () => {
  it('fills the window of a certificate, independent of other certificates', async () => {
    const [full, empty] = [++certificates, ++certificates]
    await ready(full, [400, 400, 400, 400])
    await ready(empty, [400])
    expect(await releaseReady(db, { certificateId: full }, { recipients: 1000, batches: 400 })).toHaveLength(
      3,
    )
    expect(await releaseReady(db, { certificateId: full }, { recipients: 1000, batches: 400 })).toEqual([])
    expect(await releaseReady(db, { certificateId: empty }, { recipients: 1000, batches: 400 })).toHaveLength(
      1,
    )
  })

  it('fills the windows of many certificates with one statement, each as if it were alone', async () => {
    const [full, little, none] = [++certificates, ++certificates, ++certificates]
    const app = await addApplication(db)
    const resting = await addCertificate(db, app, 'fcm')
    const probed = await addCertificate(db, app, 'huawei')
    const highs = [await ready(full, Array(6).fill(1), 'high'), await ready(little, [1], 'high')]
    for (const certificateId of [full, resting, probed]) await ready(certificateId, Array(6).fill(1))
    await openBreakerOf(resting, '1 minute')
    await db.pool.query(`UPDATE breaker SET opened_at = now() WHERE certificate_id = $1`, [resting])
    await openBreakerOf(probed, '-1 second')
    const window = { recipients: 1000, batches: 5 }
    const all = [full, little, resting, probed, none]
    const released = await releaseCertificates(db, all, window)
    const countOf = (certificateId: number) =>
      released.filter((batch) => batch.certificateId === certificateId).length
    expect(all.map(countOf)).toEqual([5, 1, 0, 1, 0])
    expect(highs.map(({ taskId }) => released.filter((batch) => batch.taskId === taskId).length)).toEqual([
      4, 1,
    ])
    expect(await releaseCertificates(db, all, window)).toEqual([])
    await db.pool.query('DELETE FROM breaker WHERE certificate_id = ANY($1)', [[resting, probed]])
  })

  it('releases four batches of the high lane for one of the normal lane', async () => {
    const certificateId = ++certificates
    const normal = await ready(certificateId, Array(8).fill(1), 'normal')
    const high = await ready(certificateId, Array(8).fill(1), 'high')
    const release = async (window: number) => {
      const released = await releaseReady(db, { certificateId }, { recipients: window, batches: 400 })
      return [high, normal].map(({ taskId }) => released.filter((batch) => batch.taskId === taskId).length)
    }
    expect(await release(5)).toEqual([4, 1])
    expect(await release(10)).toEqual([4, 1])
  })

  it('does not release batches before their time', async () => {
    const certificateId = ++certificates
    for (const lane of ['high', 'normal'] as const) {
      const { taskId } = await ready(certificateId, [1], lane)
      await db.pool.query(`UPDATE batch SET not_before = now() + interval '1 minute' WHERE task_id = $1`, [
        taskId,
      ])
    }
    expect(await releaseReady(db, { certificateId }, { recipients: 1000, batches: 400 })).toEqual([])
    expect((await readyCertificates(db, 0)).found).not.toContain(certificateId)
    await ready(certificateId, [1])
    expect((await readyCertificates(db, 0)).found).toContain(certificateId)
  })
})

describe('a window', () => {
  it('is bound by batches as well as recipients', async () => {
    const certificateId = ++certificates
    await ready(certificateId, Array(6).fill(1))
    expect(await releaseReady(db, { certificateId }, { recipients: 1000, batches: 4 })).toHaveLength(4)
    expect(await releaseReady(db, { certificateId }, { recipients: 1000, batches: 4 })).toEqual([])
  })

  /** Adds a task whose speed limit allows all of its batches, and makes them ready. */
  async function allowed(certificateId: number, sizes: number[]) {
    const task = await ready(certificateId, sizes, 'normal', 1000)
    await db.pool.query('UPDATE task SET speed_tokens = speed WHERE id = $1', [task.taskId])
    expect(await makePacedReady(db, task.taskId)).toBe(sizes.length)
    return task
  }

  it('is one for all tasks with a speed limit: each may be a single push', async () => {
    const certificateId = ++certificates
    for (let n = 0; n < 6; n++) await allowed(certificateId, [1])
    expect((await readyCertificates(db, 0)).found).toContain(certificateId)
    expect(await releaseReady(db, { certificateId }, { recipients: 1000, batches: 4 })).toHaveLength(4)
    expect(await releaseReady(db, { certificateId }, { recipients: 1000, batches: 4 })).toEqual([])
    const other = ++certificates
    await allowed(other, [400, 400])
    expect(await releaseReady(db, { certificateId: other }, { recipients: 400, batches: 4 })).toHaveLength(1)
  })

  it('is shared by batches with and without a speed limit, in the order in which they became ready', async () => {
    const certificateId = ++certificates
    const tasks = [
      await ready(certificateId, [1, 1]),
      await allowed(certificateId, [1, 1]),
      await ready(certificateId, [1, 1]),
      await allowed(certificateId, [1, 1]),
    ]
    const release = async (batches: number) => {
      const released = await releaseReady(db, { certificateId }, { recipients: 1000, batches })
      return tasks.map(({ taskId }) => released.filter((batch) => batch.taskId === taskId).length)
    }
    expect(await release(3)).toEqual([2, 1, 0, 0])
    expect(await release(6)).toEqual([0, 1, 2, 0])
    expect(await release(8)).toEqual([0, 0, 0, 2])
  })
})

describe('a task with a speed limit', () => {
  /** Fills the bucket of the task, as time does. */
  const pass = (taskId: number) => setTask(taskId, `speed_at = speed_at - interval '10 seconds'`)
  const setTask = (taskId: number, to: string) =>
    db.pool.query(`UPDATE task SET ${to} WHERE id = $1`, [taskId])
  const releaseAll = (taskId: number) =>
    db.pool.query(`UPDATE batch SET state = 'released' WHERE task_id = $1 AND state = 'ready'`, [taskId])

  it('has one second of batches ready at most, however long the window of their certificate is full', async () => {
    const certificateId = ++certificates
    const release = (batches: number) => releaseReady(db, { certificateId }, { recipients: 1000, batches })
    await ready(certificateId, Array(4).fill(1))
    expect(await release(4)).toHaveLength(4)
    const { taskId } = await ready(certificateId, Array(10).fill(10), 'normal', 20)
    const made: MadeReady = new Map()
    const counts: number[] = []
    for (let n = 0; n < 4; n++) {
      await pass(taskId)
      counts.push(await makePacedReady(db, taskId, made))
      expect(await release(4)).toEqual([])
    }
    expect(counts).toEqual([2, 0, 0, 0])
    expect(await release(5)).toHaveLength(1)
    expect(await makePacedReady(db, taskId, made)).toBe(0)
    expect(await release(6)).toHaveLength(1)
    expect(await makePacedReady(db, taskId, made)).toBe(2)
  })

  it('has one second of batches ready at most for a gateway that takes none', async () => {
    const batch = { channel: 'native' as const, node: 'busy', tried: [] }
    const { taskId } = await acceptPlan(
      db,
      'app',
      { batches: [1, 2, 3].map((id) => ({ ...batch, recipients: [id] })) },
      { released: false, speed: 1 },
    )
    const made: MadeReady = new Map()
    const next = async () => {
      await pass(taskId)
      return makePacedReady(db, taskId, made)
    }
    expect([await next(), await next()]).toEqual([1, 0])
    await releaseAll(taskId)
    expect([await next(), await next()]).toEqual([1, 0])
  })

  it('goes on at other destinations while the window of one is full', async () => {
    const [full, other] = [++certificates, ++certificates]
    const batch = { channel: 'fcm' as const, tried: [] }
    const { taskId } = await acceptPlan(
      db,
      'app',
      {
        batches: [1, 2, 3].flatMap((id) => [
          { ...batch, certificateId: full, recipients: [id] },
          { ...batch, certificateId: other, recipients: [10 + id] },
          { ...batch, channel: 'native' as const, node: 'free', recipients: [20 + id] },
        ]),
      },
      { released: false, speed: 1 },
    )
    const made: MadeReady = new Map()
    const readyAt: (number | null)[] = []
    for (let n = 0; n < 7; n++) {
      await pass(taskId)
      expect(await makePacedReady(db, taskId, made)).toBe(1)
      const { rows } = await db.pool.query(
        `UPDATE batch SET state = 'released' WHERE task_id = $1 AND state = 'ready' AND certificate_id IS DISTINCT FROM $2
         RETURNING certificate_id`,
        [taskId, full],
      )
      readyAt.push(rows.length > 0 ? rows[0].certificate_id : full)
    }
    expect(readyAt).toEqual([full, other, null, other, null, other, null])
    await pass(taskId)
    expect(await makePacedReady(db, taskId, made)).toBe(0)
    await releaseAll(taskId)
    expect(await makePacedReady(db, taskId, made)).toBe(1)
  })

  it('is not written if nothing becomes ready', async () => {
    // A batch that never fits, so that the time that passes does not matter.
    const { taskId } = await ready(++certificates, [10], 'normal', 1)
    for (const tokens of [0, 1]) {
      await setTask(taskId, `speed_tokens = ${tokens}, speed_at = now()`)
      const version = async () =>
        (await db.pool.query('SELECT xmin::text FROM task WHERE id = $1', [taskId])).rows
      const before = await version()
      expect(await makePacedReady(db, taskId)).toBe(0)
      expect(await version()).toEqual(before)
    }
  })

  it('goes on at once after the clock was set back', async () => {
    const { taskId } = await ready(++certificates, [1], 'normal', 10)
    await setTask(taskId, `speed_tokens = 0, speed_at = now() + interval '1 hour'`)
    expect(await makePacedReady(db, taskId)).toBe(0)
    await pass(taskId)
    expect(await makePacedReady(db, taskId)).toBe(1)
  })

  it('costs the same however many batches wait for its speed', async () => {
    const { taskId } = await ready(++certificates, [1], 'normal', 1)
    const add = (count: number) =>
      db.pool.query(
        `INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, deadline)
         SELECT $1, 'app', 'fcm', $2, 'normal', 'paced', 1, ARRAY[n], '.', now() + interval '1 day' FROM generate_series(1, $3::int) n`,
        [taskId, certificates, count],
      )
    const made: MadeReady = new Map()
    const cost = async () => {
      await pass(taskId)
      const blocks = await blocksRead(db, (measured) => makePacedReady(measured, taskId, made))
      return blocks['paced-ready']!
    }
    /** With nothing ready, and while one is ready and not released. */
    const costs = async () => {
      await releaseAll(taskId)
      return [await cost(), await cost()]
    }
    // More than one look takes.
    await add(500)
    await db.pool.query('ANALYZE batch')
    const before = await costs()
    await add(40_000)
    await db.pool.query('ANALYZE batch')
    const after = await costs()
    // One read of all batches of the task would be a thousand pages or more.
    for (const [n, blocks] of after.entries()) expect(blocks).toBeLessThan(before[n]! + 300)
    await db.pool.query('DELETE FROM batch WHERE task_id = $1', [taskId])
  })
})

describe('batches that wait for their certificate', () => {
  const WAITING = 20_000
  const window = { recipients: 20_000, batches: 400 }

  /** Pages of Postgres that the statements of `work` read. */
  async function pagesRead(work: (measured: Database) => Promise<unknown>): Promise<number> {
    return Object.values(await blocksRead(db, work)).reduce((sum, one) => sum + one, 0)
  }

  it('cost the feeder nothing, however many there are, and are woken in chunks', async () => {
    const app = await addApplication(db)
    const id = await addCertificate(db, app, 'fcm')
    const round = (measured: Database) =>
      Promise.all([readyCertificates(measured, 0), releaseReady(measured, { certificateId: id }, window)])
    const search = (measured: Database) => certificatesToWake(measured, 0)
    await db.pool.query(`UPDATE certificate SET state = 'closed' WHERE id = $1`, [id])
    const { taskId } = await ready(id, [1])
    await db.pool.query(`UPDATE batch SET not_before = 'infinity' WHERE task_id = $1`, [taskId])
    const before = [await pagesRead(round), await pagesRead(search)]
    await db.pool.query(
      `INSERT INTO batch (task_id, app_id, channel, certificate_id, lane, state, size, recipients, status, deadline, not_before)
       SELECT $1, 'app', 'fcm', $2, 'normal', 'ready', 1, ARRAY[n], '.', now() + interval '1 day', 'infinity'
       FROM generate_series(2, ${WAITING}) n`,
      [taskId, id],
    )
    await db.pool.query(`UPDATE counter SET target = ${WAITING} WHERE task_id = $1`, [taskId])
    await db.pool.query('ANALYZE batch')
    const after = [await pagesRead(round), await pagesRead(search)]
    // The index is one level deeper; one read of all batches would be thousands of pages.
    expect(after[0]).toBeLessThan(before[0]! + 100)
    expect(after[1]).toBeLessThan(before[1]! + 100)

    // A failed check of the closed certificate changes nothing.
    await recordFailedCheck(db, { id, version: 1 }, { problem: 'refused', refused: true })
    await postponeProbe(db, id, 60, 'refused')
    expect((await readyCertificates(db, 0)).found).not.toContain(id)
    expect(await releaseReady(db, { certificateId: id }, window)).toEqual([])
    expect((await certificatesToWake(db, 0)).found).not.toContain(id)

    expect(await reopenCertificate(db, id)).toBe(true)
    expect((await certificatesToWake(db, 0)).found).toContain(id)
    let woken = 0
    for (let more = true; more; ) {
      const chunk = await wakeBatches(db, id)
      expect(chunk.woken).toBeLessThan(WAITING)
      woken += chunk.woken
      more = chunk.more
    }
    expect(woken).toBe(WAITING)
    expect((await certificatesToWake(db, 0)).found).not.toContain(id)
    expect(await releaseReady(db, { certificateId: id }, window)).toHaveLength(window.batches)
    await db.pool.query('DELETE FROM batch WHERE task_id = $1', [taskId])
  })

  it('are woken when their certificate was removed', async () => {
    const certificateId = 1_000_000
    const { taskId } = await ready(certificateId, [1])
    await db.pool.query(`UPDATE batch SET not_before = 'infinity' WHERE task_id = $1`, [taskId])
    expect((await certificatesToWake(db, 0)).found).toContain(certificateId)
  })

  it('are woken in a task with a speed limit too, and only those whose certificate is usable', async () => {
    const app = await addApplication(db)
    const [open, closed] = [await addCertificate(db, app, 'fcm'), await addCertificate(db, app, 'oppo')]
    await db.pool.query(`UPDATE certificate SET state = 'closed' WHERE id = $1`, [closed])
    const batch = { recipients: [1], tried: [] }
    const { taskId } = await acceptPlan(
      db,
      app,
      {
        batches: [
          { channel: 'oppo', certificateId: closed, ...batch },
          { channel: 'fcm', certificateId: open, ...batch },
        ],
      },
      { released: false, speed: 10 },
    )
    await db.pool.query(`UPDATE batch SET not_before = 'infinity' WHERE task_id = $1`, [taskId])
    expect((await pacedTasksToWake(db, 0)).found).toContain(taskId)
    expect(await wakePaced(db, taskId, 0)).toBeUndefined()
    const { rows } = await db.pool.query(
      `SELECT channel FROM batch WHERE task_id = $1 AND not_before <= now()`,
      [taskId],
    )
    expect(rows).toEqual([{ channel: 'fcm' }])
  })

  it('of a task with a speed limit give one probe when their breaker allows it', async () => {
    const app = await addApplication(db)
    const id = await addCertificate(db, app, 'fcm')
    const batch = { channel: 'fcm' as const, certificateId: id, recipients: [1], tried: [] }
    const { taskId } = await acceptPlan(
      db,
      app,
      { batches: [batch, { ...batch, recipients: [2] }] },
      { released: false, speed: 10 },
    )
    await db.pool.query(`UPDATE batch SET not_before = 'infinity' WHERE task_id = $1`, [taskId])
    await openBreakerOf(id, '1 hour')
    const wake = async () => {
      expect(await wakePaced(db, taskId, 0)).toBeUndefined()
      const { rows } = await db.pool.query(
        `SELECT FROM batch WHERE task_id = $1 AND not_before <= now() AND state = 'paced'`,
        [taskId],
      )
      return rows.length
    }
    expect(await wake()).toBe(0)
    await db.pool.query('UPDATE breaker SET retry_at = now() WHERE certificate_id = $1', [id])
    expect(await wake()).toBe(1)
    // It waits for the speed limit: another would not be sent sooner.
    expect(await wake()).toBe(1)
    await db.pool.query('UPDATE task SET speed_tokens = 10 WHERE id = $1', [taskId])
    expect(await makePacedReady(db, taskId)).toBe(1)
    expect(await releaseReady(db, { certificateId: id }, window)).toHaveLength(1)
  })

  it('are not released for a probe that a closed certificate does not make', async () => {
    const app = await addApplication(db)
    const id = await addCertificate(db, app, 'fcm')
    const { taskId } = await ready(id, [1])
    await db.pool.query(`UPDATE batch SET not_before = 'infinity' WHERE task_id = $1`, [taskId])
    await openBreakerOf(id, '0')
    expect((await readyCertificates(db, 0)).found).toContain(id)
    await db.pool.query(`UPDATE certificate SET state = 'closed' WHERE id = $1`, [id])
    expect((await readyCertificates(db, 0)).found).not.toContain(id)
  })
})

describe('a breaker whose time came minutes ago', () => {
  it('ends if its certificate has no batch that is ready or in flight', async () => {
    const id = await addCertificate(db, await addApplication(db), 'fcm')
    const { taskId } = await ready(id, [1])
    await openBreakerOf(id, '-1 hour')
    const isKept = async () => {
      await endIdleBreakers(db)
      return (await db.pool.query('SELECT FROM breaker WHERE certificate_id = $1', [id])).rowCount === 1
    }
    for (const columns of [
      `state = 'ready', not_before = now() + interval '1 hour'`,
      `state = 'ready', not_before = 'infinity'`,
      `state = 'released'`,
      `state = 'sending'`,
    ]) {
      await db.pool.query(`UPDATE batch SET ${columns} WHERE task_id = $1`, [taskId])
      expect([columns, await isKept()]).toEqual([columns, true])
    }
    await db.pool.query(`UPDATE batch SET state = 'settled' WHERE task_id = $1`, [taskId])
    const retryAt = (time: string) =>
      db.pool.query(`UPDATE breaker SET retry_at = ${time} WHERE certificate_id = $1`, [id])
    // The next push may be the probe.
    await retryAt(`now() + interval '1 hour'`)
    expect(await isKept()).toBe(true)
    await retryAt(`now() - interval '1 hour'`)
    expect(await isKept()).toBe(false)
  })
})

describe('settleEnded', () => {
  it('counts pending recipients as expired, and leaves sent ones', async () => {
    const { taskId } = await ready(++certificates, [3])
    await db.pool.query(`UPDATE batch SET status = 's..', deadline = now() WHERE task_id = $1`, [taskId])
    await db.pool.query('UPDATE counter SET sent = 1 WHERE task_id = $1', [taskId])
    await settleEnded(db)
    const { rows } = await db.pool.query('SELECT sent, expired FROM counter WHERE task_id = $1', [taskId])
    expect(rows).toEqual([{ sent: 1, expired: 2 }])
    expect(await findImbalances(db, [taskId])).toEqual([])
  })
})
