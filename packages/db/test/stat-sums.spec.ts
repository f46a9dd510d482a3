import type { Plan } from '@herald/domain'
import { until } from '@herald/testkit'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { sampleMessage } from '@herald/testkit/sample-message'
import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { readStats, type StatCounts, sumStats } from '../src/history/index.ts'
import {
  acceptTasks,
  beginTasks,
  claimBatches,
  claimBundles,
  pauseTask,
  recordReceipts,
  releaseBundles,
  settleBatches,
  settleBundles,
} from '../src/tasks/index.ts'
import { addApplication, addCertificate, settlementOf, useDatabase } from './setup.ts'

const db = useDatabase({ max: 8 })
let app: string
let certificateId: number
beforeAll(async () => {
  certificateId = await addCertificate(db, await addApplication(db), 'huawei')
})
beforeEach(async () => {
  app = await addApplication(db)
})

/** Tasks are summed after an hour: those of before this moment are, and later ones are not. */
const later = () => Date.now() + 3_600_000
/** Until nothing is left to sum: transactions of other programs of the server may have to end first. */
async function sumAll(): Promise<void> {
  await until(async () => {
    while (await sumStats(db, later()));
    const { noted, summed } = await head()
    return summed! >= noted!
  })
}
const head = async () =>
  (await db.pool.query('SELECT noted, summed FROM stat_head')).rows[0] as Record<string, number>
const notes = async () =>
  (await db.pool.query('SELECT count(*)::int AS n FROM stat_change')).rows[0].n as number

/** The sums of the tasks themselves. */
async function counted(): Promise<StatCounts> {
  const { rows } = await db.pool.query(
    `SELECT coalesce(sum(c.target - c.moved), 0)::int AS target, coalesce(sum(c.sent), 0)::int AS sent, coalesce(sum(c.failed), 0)::int AS failed,
       coalesce(sum(c.received), 0)::int AS received, coalesce(sum(c.clicked), 0)::int AS clicked,
       (SELECT coalesce(sum(unreachable), 0)::int FROM task WHERE app_id = $1) AS unreachable
     FROM (
       SELECT t.id, c.target, c.sent, c.failed, c.moved, c.received, c.clicked FROM task t JOIN counter c ON c.task_id = t.id WHERE t.app_id = $1
       UNION ALL
       SELECT t.id, 1, (substr(b.status, array_position(b.tasks, t.id), 1) = 's')::int, 0, 0, 0, 0
       FROM task t JOIN bundle b ON b.task_id = t.bundle WHERE t.app_id = $1 AND t.state = 'bundled'
     ) c`,
    [app],
  )
  return rows[0]
}
const DAY_MS = 86_400_000
async function shown(change: { campaign?: string; groupId?: number } = {}): Promise<StatCounts> {
  const from = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS
  const { groupId, ...filter } = change
  const query = { from, to: from + 3 * DAY_MS, length: DAY_MS, ...filter }
  const { periods, total } = await readStats(db, { appId: app, groupId }, query)
  for (const name of ['target', 'sent', 'received'] as const)
    expect(periods.reduce((sum, period) => sum + period[name], 0)).toBe(total[name])
  return total
}
afterEach(async () => expect(await shown()).toEqual(await counted()))

let device = 1000
const vendor = (count: number): Plan['batches'][number] => ({
  channel: 'huawei',
  certificateId,
  recipients: Array.from({ length: count }, () => device++),
  tried: [],
})
async function claim(taskId: number, id: number) {
  const [claimed] = await claimBatches(
    db.pool,
    { channel: 'huawei', certificateIds: [certificateId], batches: [{ taskId, id }] },
    { seconds: 60, worker: 'w' },
  )
  return { taskId, id, version: claimed!.version }
}
async function bundled(count: number) {
  const accepted = await acceptTasks(
    db,
    Array.from({ length: count }, () => ({
      task: {
        appId: app,
        audience: { kind: 'all' as const },
        strategy: 'ospush_only' as const,
        sequence: [],
        message: sampleMessage(),
        campaign: 'single',
        ttl: 100,
      },
      plan: { batches: [vendor(1)], inbox: [], unreachable: 0 },
      mayRelease: () => true,
      mayBundle: true,
    })),
  )
  return {
    tasks: accepted.map(({ taskId }) => taskId),
    bundle: accepted.flatMap(({ released }) => released)[0]!.taskId,
  }
}
async function settleBundle(bundle: number, count: number): Promise<void> {
  await claimBundles(db.pool, 'huawei', [bundle], { seconds: 60, worker: 'w' })
  await settleBundles(db, [{ id: bundle, worker: 'w', wanted: 's'.repeat(count) }])
}

describe('sums of statistics', () => {
  it('stay equal to the counters that change after the tasks were summed', async () => {
    const { taskId, released } = await acceptPlan(
      db,
      app,
      { batches: [vendor(3)], unreachable: 2 },
      { campaign: 'spring', groupId: 7 },
    )
    await sumAll()
    expect((await head()).summed).toBeGreaterThan(taskId)
    expect(await shown()).toMatchObject({ target: 3, sent: 0, unreachable: 2 })
    const key = await claim(taskId, released[0]!.id)
    await settleBatches(db, [settlementOf(key, { status: 'ssf', sent: 2, failed: 1 })])
    expect(await notes()).toBe(1)
    expect(await shown()).toMatchObject({ sent: 2, failed: 1 })
    await recordReceipts(db, [
      { appId: app, taskId, deviceId: device - 3, channel: 'huawei', event: 'clicked' },
      { appId: app, taskId, deviceId: device - 2, channel: 'huawei', event: 'received' },
    ])
    await db.pool.query('UPDATE task SET unreachable = unreachable + 5 WHERE id = $1', [taskId])
    for (const round of ['noted', 'summed']) {
      expect([round, await shown()]).toEqual([
        round,
        { target: 3, sent: 2, failed: 1, received: 2, clicked: 1, unreachable: 7 },
      ])
      await sumAll()
    }
    expect(await notes()).toBe(0)
    expect(await shown({ campaign: 'spring', groupId: 7 })).toEqual(await counted())
    expect(await shown({ campaign: 'autumn' })).toMatchObject({ target: 0, unreachable: 0 })
    expect(await shown({ groupId: 8 })).toMatchObject({ target: 0 })
    // Retention removes tasks; their sums stay.
    const before = await shown()
    await db.pool.query('DELETE FROM task WHERE app_id = $1', [app])
    await db.pool.query('DELETE FROM counter WHERE task_id = $1', [taskId])
    expect(await shown()).toEqual(before)
    await db.pool.query('DELETE FROM stat_sum WHERE app_id = $1', [app])
  })

  it('contain bundles, also those that are settled later, and tasks that leave them', async () => {
    const { tasks, bundle } = await bundled(3)
    await sumAll()
    expect((await head()).summed).toBeGreaterThan(tasks.at(-1)!)
    expect(await shown()).toMatchObject({ target: 3, sent: 0 })
    expect(await pauseTask(db, { appId: app }, tasks[1]!)).toBe('ok')
    expect(await shown()).toEqual(await counted())
    await settleBundle(bundle, 3)
    expect(await shown()).toMatchObject({ target: 3, sent: 2 })
    await sumAll()
    expect(await notes()).toBe(0)
    expect(await shown({ campaign: 'single' })).toMatchObject({ target: 3, sent: 2, received: 0 })
    const { rows } = await db.pool.query('SELECT recipients FROM bundle WHERE task_id = $1', [bundle])
    await recordReceipts(db, [
      {
        appId: app,
        taskId: tasks[0]!,
        deviceId: rows[0].recipients[0],
        channel: 'huawei',
        event: 'received',
      },
    ])
    expect(await shown()).toMatchObject({ received: 1 })
  })

  it('contain a bundle of which tasks before and after an end of the sums are members', async () => {
    const { tasks, bundle } = await bundled(5)
    await settleBundle(bundle, 5)
    for (const end of [tasks[2]!, tasks[4]!]) {
      await db.pool.query('UPDATE stat_head SET noted = $1', [end])
      await until(async () => {
        await sumStats(db, 0)
        return (await head()).summed === end
      })
      expect(await shown()).toMatchObject({ target: 5, sent: 5 })
    }
    await sumAll()
  })

  it('contain a bundle of tasks that begin after they were summed', async () => {
    const due = Math.floor(Date.now() / 1000)
    const tasks = (
      await acceptTasks(
        db,
        Array.from({ length: 12 }, () => ({
          task: {
            appId: app,
            audience: { kind: 'all' as const },
            strategy: 'ospush_only' as const,
            sequence: [],
            message: { ...sampleMessage(), showBegin: due },
            ttl: 100,
          },
          mayRelease: () => false,
        })),
      )
    ).map(({ taskId }) => taskId)
    await sumAll()
    expect((await head()).summed).toBeGreaterThan(tasks.at(-1)!)
    const plans = tasks.map(() => ({ batches: [vendor(1)], inbox: [], unreachable: 0 }))
    const single = (plan: Plan) => ({
      channel: 'huawei' as const,
      lane: 'high' as const,
      certificateId,
      deviceId: plan.batches[0]!.recipients[0]!,
    })
    await beginTasks(
      db,
      plans.map((plan, n) => ({ taskId: tasks[n]!, plan, single: single(plan) })),
    )
    expect(await shown()).toMatchObject({ target: 12, sent: 0 })
    const { released } = await releaseBundles(db, { batches: 1000 })
    expect(released.map(({ taskId, size }) => [taskId, size])).toEqual([[tasks[0], 12]])
    await settleBundle(tasks[0]!, 12)
    expect(await shown()).toMatchObject({ target: 12, sent: 12 })
    await sumAll()
    expect(await notes()).toBe(0)
  })

  it('contain later tasks although the clock of the planner is ahead', async () => {
    await sumAll()
    await bundled(1)
    const ahead = Date.now() + 2 * DAY_MS
    jest.spyOn(Date, 'now').mockReturnValue(ahead)
    try {
      while (await sumStats(db));
    } finally {
      jest.restoreAllMocks()
    }
    const { tasks, bundle } = await bundled(3)
    expect((await head()).noted).toBeLessThan(tasks[0]!)
    await settleBundle(bundle, 3)
    expect(await shown()).toMatchObject({ target: 4, sent: 3 })
  })

  it('wait for transactions that may have changed counters without a note', async () => {
    const { taskId } = await acceptPlan(db, app, { batches: [vendor(2)] })
    const client = await db.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query('UPDATE counter SET received = 1 WHERE task_id = $1', [taskId])
      for (let i = 0; i < 4; i++) await sumStats(db, later())
      expect((await head()).noted).toBeGreaterThan(taskId)
      expect((await head()).summed).toBeLessThanOrEqual(taskId)
      await client.query('COMMIT')
    } finally {
      client.release()
    }
    await sumAll()
    expect((await head()).summed).toBeGreaterThan(taskId)
    expect(await shown()).toMatchObject({ received: 1 })
  })

  it('go on after the database was restored to a server whose transaction ids are lower', async () => {
    await acceptPlan(db, app, { batches: [vendor(3)] })
    await sumAll()
    await acceptPlan(db, app, { batches: [vendor(2)] })
    const { noted } = await head()
    await until(async () => {
      await sumStats(db, later())
      return (await head()).noted! > noted!
    })
    await db.pool.query(`UPDATE stat_head SET summed = $1, xid = '4000000000000000000'`, [noted])
    expect(await sumStats(db, later())).toBe(true)
    await sumAll()
  })

  it('wait for a transaction that read the head while the move of it was not committed', async () => {
    await sumAll()
    const { taskId } = await acceptPlan(db, app, { batches: [vendor(2)] })
    // Holds a move between its statement and its commit.
    await db.pool.query(`CREATE FUNCTION hold_move() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock(77); RETURN NULL; END $$;
      CREATE TRIGGER hold_move AFTER UPDATE OF noted ON stat_head FOR EACH ROW EXECUTE FUNCTION hold_move()`)
    const [holder, client] = [await db.pool.connect(), await db.pool.connect()]
    try {
      await holder.query('SELECT pg_advisory_lock(77)')
      const moving = sumStats(db, later())
      await until(async () => {
        const { rows } = await db.pool.query(
          "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
        )
        return rows.length > 0
      })
      await client.query('BEGIN')
      await client.query('UPDATE counter SET received = 1 WHERE task_id = $1', [taskId])
      await holder.query('SELECT pg_advisory_unlock(77)')
      await moving
      expect((await head()).noted).toBeGreaterThan(taskId)
      for (let i = 0; i < 4; i++) await sumStats(db, later())
      expect((await head()).summed).toBeLessThanOrEqual(taskId)
      await client.query('COMMIT')
    } finally {
      await holder.query('SELECT pg_advisory_unlock_all()')
      holder.release()
      client.release()
      await db.pool.query('DROP TRIGGER hold_move ON stat_head; DROP FUNCTION hold_move')
    }
    await sumAll()
    expect((await head()).summed).toBeGreaterThan(taskId)
    expect(await shown()).toMatchObject({ received: 1 })
  })

  it('count a task in the period in which it begins, however early it was accepted', async () => {
    const [accepted] = await acceptTasks(db, [
      {
        task: {
          appId: app,
          audience: { kind: 'all' },
          strategy: 'ospush_only',
          sequence: [],
          message: { ...sampleMessage(), showBegin: Math.floor(Date.now() / 1000) + 40 * 86_400 },
          ttl: 100,
        },
        mayRelease: () => false,
      },
    ])
    await sumAll()
    await db.pool.query(
      `INSERT INTO counter (task_id, channel, target, ranged) VALUES ($1, 'huawei', 4, 4)`,
      [accepted!.taskId],
    )
    const begin = Math.floor((Date.now() + 40 * DAY_MS) / DAY_MS) * DAY_MS
    for (let i = 0; i < 2; i++) {
      const { total } = await readStats(
        db,
        { appId: app },
        { from: begin, to: begin + DAY_MS, length: DAY_MS },
      )
      expect(total.target).toBe(4)
      await sumAll()
    }
    await db.pool.query('DELETE FROM counter WHERE task_id = $1', [accepted!.taskId])
  })

  it('stay exact while everything goes on at once', async () => {
    const tasks = await Promise.all(
      Array.from({ length: 20 }, () => acceptPlan(db, app, { batches: [vendor(4)] })),
    )
    const more = await bundled(5)
    let isOver = false
    const summing = (async () => {
      while (!isOver) await sumStats(db, later())
    })()
    const reading = (async () => {
      while (!isOver) expect((await shown()).target).toBe(85)
    })()
    await Promise.all(
      tasks.map(async ({ taskId, released }) => {
        const key = await claim(taskId, released[0]!.id)
        await settleBatches(db, [settlementOf(key, { status: 'ssff', sent: 2, failed: 2 })])
        const { rows } = await db.pool.query('SELECT recipients FROM batch WHERE task_id = $1', [taskId])
        for (const deviceId of rows[0].recipients as number[])
          await recordReceipts(db, [{ appId: app, taskId, deviceId, channel: 'huawei', event: 'clicked' }])
      }),
    )
    await settleBundle(more.bundle, 5)
    isOver = true
    await summing
    await reading
    expect(await shown()).toMatchObject({ target: 85, sent: 45, failed: 40, received: 80, clicked: 80 })
    await sumAll()
    expect((await head()).summed).toBeGreaterThan(more.tasks.at(-1)!)
  })
})
