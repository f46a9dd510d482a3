import { acceptPlan, type TestDatabase, testDatabase } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { findImbalances } from '../src/readings/index.ts'
import { type Database, ensurePartitions, openDatabase } from '../src/store/index.ts'
import { closeDone, readyOutlets, releaseReady } from '../src/tasks/index.ts'

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

let certificates = 0
const ids = (size: number) => Array.from({ length: size }, (_, i) => i + 1)

/** Ready batches of these sizes, as a planner leaves them. */
const ready = (certificateId: number, sizes: number[], lane: 'high' | 'normal' = 'normal') =>
  acceptPlan(
    db,
    'app',
    {
      batches: sizes.map((size) => ({ channel: 'fcm', certificateId, recipients: ids(size), tried: [] })),
    },
    { held: true, lane },
  )

describe('releasing', () => {
  it('fills the window of a certificate and no more, whatever others have in flight', async () => {
    const [full, empty] = [++certificates, ++certificates]
    await ready(full, [400, 400, 400, 400])
    await ready(empty, [400])
    expect(await releaseReady(db, { certificateId: full }, 1000)).toHaveLength(3)
    expect(await releaseReady(db, { certificateId: full }, 1000)).toEqual([])
    expect(await releaseReady(db, { certificateId: empty }, 1000)).toHaveLength(1)
  })

  it('gives urgent batches four turns and others one', async () => {
    const certificateId = ++certificates
    const normal = await ready(certificateId, Array(8).fill(1), 'normal')
    const high = await ready(certificateId, Array(8).fill(1), 'high')
    const turn = async (window: number) => {
      const released = await releaseReady(db, { certificateId }, window)
      return [high, normal].map(({ taskId }) => released.filter((batch) => batch.taskId === taskId).length)
    }
    expect(await turn(5)).toEqual([4, 1])
    expect(await turn(10)).toEqual([4, 1])
  })

  it('leaves alone what is to wait', async () => {
    const certificateId = ++certificates
    for (const lane of ['high', 'normal'] as const) {
      const { taskId } = await ready(certificateId, [1], lane)
      await db.pool.query(`UPDATE batch SET not_before = now() + interval '1 minute' WHERE task_id = $1`, [
        taskId,
      ])
    }
    expect(await releaseReady(db, { certificateId }, 1000)).toEqual([])
    expect(await readyOutlets(db)).not.toContainEqual({ certificateId })
    await ready(certificateId, [1])
    expect(await readyOutlets(db)).toContainEqual({ certificateId })
  })
})

describe('closing', () => {
  it('counts who was still waiting, and leaves who was sent', async () => {
    const { taskId } = await ready(++certificates, [3])
    await db.pool.query(`UPDATE batch SET status = 's..', deadline = now() WHERE task_id = $1`, [taskId])
    await db.pool.query('UPDATE counter SET sent = 1 WHERE task_id = $1', [taskId])
    await closeDone(db)
    const { rows } = await db.pool.query('SELECT sent, expired FROM counter WHERE task_id = $1', [taskId])
    expect(rows).toEqual([{ sent: 1, expired: 2 }])
    expect(await findImbalances(db, [taskId])).toEqual([])
  })
})
