import { type Database, ensurePartitions, openDatabase } from '@herald/db/store'
import { finishTasks, taskFailures } from '@herald/db/tasks'
import type { PushJob, PushQueues } from '@herald/queue'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { beginRound } from '../src/begin-round.ts'
import { feedRound } from '../src/feed-round.ts'
import { type Harness, plainMessage, planningDeps, startHarness } from './harness.ts'

/** Counts the statements; each is a commit of its own, because none is BEGIN. */
function counting(db: Database): { db: Database; statements: string[] } {
  const statements: string[] = []
  const pool = new Proxy(db.pool, {
    get(target, key) {
      if (key !== 'query') return Reflect.get(target, key)
      return (statement: { name?: string }) => {
        statements.push(statement.name ?? String(statement))
        return target.query(statement as never)
      }
    },
  })
  return { db: { ...db, pool }, statements }
}

describe('scheduled pushes', () => {
  let harness: Harness
  let app: string
  let devices: number[]
  beforeAll(async () => {
    harness = await startHarness()
    app = await harness.addApplication('reminders')
    devices = await harness.addDevices(
      app,
      Array.from({ length: 640 }, (_, i) => ({ tokens: { xiaomi: `${i}:accepted` }, alias: `alias${i}` })),
    )
  })
  afterAll(() => harness.stop())

  const message = () => ({ ...plainMessage, showBegin: Math.floor(Date.now() / 1000) })
  const remind = (i: number, ttl = 3600) =>
    harness.notify(app, { audience: { kind: 'alias', aliases: [`alias${i}`] }, message: message(), ttl })

  it('to one device each begin in groups of 512, with a few statements per group', async () => {
    const tasks = await Promise.all(devices.map((_, i) => remind(i)))
    const { db, statements } = counting(harness.db)
    const deps = planningDeps({ ...harness, db })
    while (await beginRound(deps)) {}
    for (const task of [tasks[0]!, tasks.at(-1)!])
      expect(await harness.counters(task)).toEqual({ xiaomi: { target: 1 } })
    const { rows } = await harness.db.pool.query(
      `SELECT count(DISTINCT r.task)::int AS tasks, count(DISTINCT r.device)::int AS devices, max(b.size) AS largest
       FROM bundle b CROSS JOIN LATERAL unnest(b.tasks, b.recipients) AS r (task, device) WHERE b.lease_until = 'infinity'`,
    )
    expect(rows).toEqual([{ tasks: 640, devices: 640, largest: 64 }])
    const begins = statements.filter((name) => name.startsWith('begin-tasks'))
    expect(begins).toHaveLength(2)
    // Per group two lanes, the commit and the return of the lease, and the audiences by 64; the last round finds nothing.
    expect(statements.length).toBeLessThanOrEqual(4 * begins.length + 640 / 64 + 3)
    expect(statements).not.toContain('BEGIN')
    expect(deps.failed).toEqual([])
    expect(await harness.imbalances()).toEqual([])
  })

  it('begin once each, also if one that cannot be planned cannot be noted either', async () => {
    const tasks = await Promise.all([0, 1, 2].map((i) => remind(i)))
    let asked = 0
    const of = (appId: string) =>
      ++asked === 2 ? Promise.reject(new Error('unreadable')) : harness.certificates.of(appId)
    const deps = planningDeps({ ...harness, certificates: { ...harness.certificates, of } })
    const add = () => Promise.reject(new Error('not noted'))
    while (await beginRound({ ...deps, postponed: { ...deps.postponed, add } })) {}
    for (const task of tasks) expect(await harness.counters(task)).toEqual({ xiaomi: { target: 1 } })
    expect(await harness.imbalances()).toEqual([])
  })

  it('of which some cannot be planned begin without them, and these expire with a reason', async () => {
    const tasks = await Promise.all([0, 1, 2, 3, 4].map((i) => remind(i, 100)))
    const [fine, undecodable, unresolvable, patient, alsoFine] = tasks as [
      number,
      number,
      number,
      number,
      number,
    ]
    const spoil = (task: number, audience: unknown) =>
      harness.db.pool.query('UPDATE task SET audience = $2 WHERE id = $1', [task, JSON.stringify(audience)])
    await spoil(undecodable, { kind: 'user_id', userIds: ['none'] })
    await spoil(unresolvable, { kind: 'push_token_hash', hashes: ['\\xzz'] })
    await spoil(patient, { kind: 'push_token_hash', hashes: ['\\xzz'] })
    await harness.db.pool.query(
      `UPDATE task SET begin_at = now() - interval '101 seconds' WHERE id = ANY($1)`,
      [[undecodable, unresolvable]],
    )
    const deps = planningDeps(harness)
    while (await beginRound(deps)) {}
    expect([...deps.failed].sort()).toEqual([undecodable, unresolvable, patient])
    for (const task of [fine, alsoFine])
      expect(await harness.counters(task)).toEqual({ xiaomi: { target: 1 } })
    // Before its deadline it waits to be repaired.
    expect(await harness.stateOf(patient)).toBe('accepted')
    await until(
      async () => {
        await finishTasks(harness.db)
        return (
          (await harness.stateOf(undecodable)) === 'finished' &&
          (await harness.stateOf(unresolvable)) === 'finished'
        )
      },
      { what: 'the end of the expired tasks' },
    )
    expect(await taskFailures(harness.db, { appId: app }, unresolvable)).toEqual([
      expect.objectContaining({ fate: 'expired', code: 'herald.planning_failed', count: 0 }),
    ])
    expect(await harness.imbalances()).toEqual([])
  })

  it('of an older day, of which no batch was open, are released as soon as they begin', async () => {
    const DAY_MS = 86_400_000
    const older = await harness.addApplication('older')
    await harness.addDevices(older, [{ tokens: { xiaomi: 'older:accepted' }, alias: 'older' }])
    const later = await harness.notify(older, {
      audience: { kind: 'alias', aliases: ['older'] },
      message: { ...plainMessage, showBegin: Math.floor(Date.now() / 1000) + 600 },
    })
    await ensurePartitions(harness.db, Date.now() - 3 * DAY_MS)
    const { rows } = await harness.db.pool.query<{ id: number }>(
      'UPDATE task SET id = id - $2::bigint WHERE id = $1 RETURNING id',
      [later, 3 * DAY_MS * 4096],
    )
    const task = rows[0]!.id
    // As the first process that looks for open days: what is known of them belongs to the pool of a process, and to those that start after it.
    await harness.db.pool.query('DELETE FROM open_days')
    const db = openDatabase(harness.db.url, { max: 5 })
    const released: number[] = []
    const add = async (_queue: string, job: PushJob) => {
      released.push(...job.batches.map(({ taskId }) => taskId))
    }
    const feed = { db, queues: { add } as unknown as PushQueues, onQueueFailure() {} }
    try {
      await feedRound(feed)
      expect(released).not.toContain(task)
      await db.pool.query('UPDATE task SET begin_at = now() WHERE id = $1', [task])
      await beginRound(planningDeps({ ...harness, db }))
      await feedRound(feed)
      expect(released).toContain(task)
    } finally {
      await db.close()
    }
  })
})
