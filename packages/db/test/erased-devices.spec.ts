import { until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { sampleMessage } from '@herald/testkit/sample-message'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { findDevice, markSuspect, setAlias } from '../src/devices/index.ts'
import { createPushTokens } from '../src/devices/push-tokens.ts'
import { erase } from '../src/erasure/index.ts'
import { firstCreated } from '../src/erasure/person-devices.ts'
import { findImbalances } from '../src/readings/index.ts'
import type { Database } from '../src/store/index.ts'
import {
  acceptTasks,
  beginTasks,
  claimBatches,
  finishTasks,
  settleBatches,
  tasksById,
  tokensOf,
} from '../src/tasks/index.ts'
import { addApplication, addCertificate, settlementOf, useDatabase } from './setup.ts'

describe('the first device of a person', () => {
  it('is found among any number of them', () => {
    const devices = Array.from({ length: 500_000 }, (_, i) => ({ createdAt: 1_000_000 - i }))
    expect(firstCreated(devices)).toBe(500_001)
    expect(firstCreated([])).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('a person who is erased', () => {
  const db = useDatabase({ max: 8 })
  const tokens = createPushTokens(Buffer.alloc(32))
  let app: string
  let certificateId: number
  beforeEach(async () => {
    app = await addApplication(db)
    certificateId = await addCertificate(db, app, 'fcm')
  })
  afterEach(async () => expect(await findImbalances(db)).toEqual([]))

  /** A device of Carol with the token `t` and its guid, an hour old. */
  async function addDevice(guid: string): Promise<number> {
    const { rows } = await db.pool.query<{ id: number }>(
      `WITH made AS (
         INSERT INTO device (app_id, guid, push_token, alias, created_at, moved_at)
         SELECT $1, $2, $1 || $2, 'carol', at, at FROM (SELECT now() - interval '1 hour' AS at) a RETURNING id
       ), bound AS (
         INSERT INTO binding (device_id, channel, app_id, token) SELECT id, 'fcm', $1, 't' || $2::text FROM made
       )
       SELECT id FROM made`,
      [app, guid],
    )
    return rows[0]!.id
  }
  const audience = { kind: 'alias' as const, aliases: ['carol'] }
  const planFor = (...recipients: number[]) => ({
    batches: [{ channel: 'fcm' as const, certificateId, recipients, tried: [] }],
    inbox: [],
    unreachable: 0,
  })

  type Work = { before?: () => Promise<void>; after?: () => Promise<void> }
  /** The database, with work before and after the first statement of a name. */
  function around(works: Record<string, Work>): Database {
    const left = new Map(Object.entries(works))
    const pool = new Proxy(db.pool, {
      get(target, key) {
        if (key !== 'query') return Reflect.get(target, key)
        return async (statement: { name?: string }, values?: unknown[]) => {
          const name = statement.name?.split('@')[0] ?? ''
          const work = left.get(name)
          left.delete(name)
          await work?.before?.()
          const result = await target.query(statement as never, values as never)
          await work?.after?.()
          return result
        }
      },
    })
    return { ...db, pool }
  }

  it('is sent no text that replaces another, while those who get their devices receive their own', async () => {
    const [phone, tablet] = [await addDevice('phone'), await addDevice('tablet')]
    const { taskId, released } = await acceptPlan(db, app, planFor(phone, tablet), { audience })
    const [scheduled] = await acceptTasks(db, [
      {
        task: {
          appId: app,
          audience,
          strategy: 'ospush_only',
          sequence: [],
          message: { ...sampleMessage(), showBegin: Math.floor(Date.now() / 1000) + 3600 },
          ttl: 100,
        },
        mayRelease: () => false,
      },
    ])
    const claim = async (batches: typeof released) => {
      const job = { channel: 'fcm' as const, certificateIds: [certificateId], batches }
      return (await claimBatches(db.pool, job, { seconds: 30, worker: 'w' }))[0]!
    }
    /** The planner has read the audience of the scheduled task, and begins it when its text is about to be replaced. */
    const begin = async () => {
      const begun = await beginTasks(db, [{ taskId: scheduled!.taskId, plan: planFor(phone) }])
      expect([...begun]).toEqual([])
    }
    /** A worker takes the other one when its text was replaced. The task ends before the devices are erased. */
    const send = async () => {
      const batch = await claim(released)
      const [task] = await tasksById(db.pool, [taskId])
      expect(task!.message.title).toBe('[erased]')
      const { detailsOf } = await tokensOf(db.pool, 'fcm', [phone, tablet], batch.plannedAt)
      for (const position of [0, 1]) expect(detailsOf(position).movedAt).toBeGreaterThan(batch.plannedAt)
      const reasons = [{ fate: 'expired' as const, code: 'x', text: 'x', count: 2, samples: [phone, tablet] }]
      await settleBatches(db, [settlementOf(batch, { status: 'xx', expired: 2, reasons })])
      while ((await finishTasks(db)) > 0);
      // Somebody else signs in on the tablet.
      await setAlias(db, app, (await findDevice(db, app, { guid: 'tablet' }))!, 'dave')
    }
    const erasing = around({ 'erase-audiences': { before: begin }, 'erase-receipts': { after: send } })
    expect(await erase(erasing, tokens, app, { alias: 'carol' })).toBe(1)

    const { rows } = await db.pool.query(
      `SELECT state, cancelling, message ->> 'title' AS title FROM task WHERE app_id = $1 ORDER BY id`,
      [app],
    )
    expect(rows).toEqual([
      { state: 'finished', cancelling: false, title: '[erased]' },
      { state: 'accepted', cancelling: true, title: '[erased]' },
    ])
    const { rows: samples } = await db.pool.query('SELECT samples FROM failure WHERE task_id = $1', [taskId])
    expect(samples).toEqual([{ samples: [] }])
    const later = await acceptPlan(db, app, planFor(tablet))
    const batch = await claim(later.released)
    const { tokens: found, detailsOf } = await tokensOf(db.pool, 'fcm', [tablet], batch.plannedAt)
    expect(found).toEqual(['ttablet'])
    expect([detailsOf(0).movedAt, detailsOf(0).disabled]).toEqual([undefined, false])
  })

  it('has no token afterwards that was restored at the same time', async () => {
    const phone = await addDevice('phone')
    await db.pool.query(
      `WITH gone AS (DELETE FROM binding WHERE device_id = $1 RETURNING *)
       INSERT INTO retired_token (app_id, channel, token, device_id, environment, registered_at, reason)
       SELECT app_id, channel, token, device_id, environment, registered_at, 'gone' FROM gone`,
      [phone],
    )
    const restoring = await db.pool.connect()
    try {
      await restoring.query('BEGIN')
      const pool = restoring as unknown as Database['pool']
      expect(await markSuspect({ ...db, pool }, certificateId)).toBe(1)
      const erasing = erase(db, tokens, app, { alias: 'carol' })
      await until(async () => {
        const { rowCount } = await db.pool.query(
          `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        )
        return rowCount! > 0
      })
      await restoring.query('COMMIT')
      expect(await erasing).toBe(1)
    } finally {
      restoring.release()
    }
    for (const table of ['binding', 'retired_token'])
      expect((await db.pool.query(`SELECT 1 FROM ${table} WHERE device_id = $1`, [phone])).rows).toEqual([])
  })
})
