import { acceptPlan } from '@herald/testkit'
import { describe, expect, it } from '@jest/globals'
import { findImbalances } from '../src/readings/index.ts'
import { readyDestinations, releaseReady, settleEnded } from '../src/tasks/index.ts'
import { useDatabase } from './setup.ts'

const db = useDatabase()

let certificates = 0
const ids = (size: number) => Array.from({ length: size }, (_, i) => i + 1)

/** Adds ready batches of these sizes. */
const ready = (certificateId: number, sizes: number[], lane: 'high' | 'normal' = 'normal') =>
  acceptPlan(
    db,
    'app',
    {
      batches: sizes.map((size) => ({ channel: 'fcm', certificateId, recipients: ids(size), tried: [] })),
    },
    { released: false, lane },
  )

describe('releasing', () => {
  it('fills the window of a certificate, independent of other certificates', async () => {
    const [full, empty] = [++certificates, ++certificates]
    await ready(full, [400, 400, 400, 400])
    await ready(empty, [400])
    expect(await releaseReady(db, { certificateId: full }, 1000)).toHaveLength(3)
    expect(await releaseReady(db, { certificateId: full }, 1000)).toEqual([])
    expect(await releaseReady(db, { certificateId: empty }, 1000)).toHaveLength(1)
  })

  it('releases four batches of the high lane for one of the normal lane', async () => {
    const certificateId = ++certificates
    const normal = await ready(certificateId, Array(8).fill(1), 'normal')
    const high = await ready(certificateId, Array(8).fill(1), 'high')
    const release = async (window: number) => {
      const released = await releaseReady(db, { certificateId }, window)
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
    expect(await releaseReady(db, { certificateId }, 1000)).toEqual([])
    expect(await readyDestinations(db)).not.toContainEqual({ certificateId })
    await ready(certificateId, [1])
    expect(await readyDestinations(db)).toContainEqual({ certificateId })
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
