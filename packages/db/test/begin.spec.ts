import type { Lane, Plan } from '@herald/domain'
import { until } from '@herald/testkit'
import { sampleMessage } from '@herald/testkit/sample-message'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { findImbalances } from '../src/readings/index.ts'
import { firstTaskIdAt } from '../src/store/partitions.ts'
import {
  acceptTasks,
  addRecall,
  beginRecall,
  beginTasks,
  cancelTask,
  type DueTask,
  giveBackDue,
  listTasks,
  type PlannedTask,
  pauseTask,
  recallable,
  releaseBundles,
  singleToBegin,
  takeDueTasks,
} from '../src/tasks/index.ts'
import { blocksRead } from './blocks-read.ts'
import { stopAutovacuum, useDatabase } from './setup.ts'

const db = useDatabase()
beforeEach(() =>
  db.pool.query('DELETE FROM task; DELETE FROM bundle; DELETE FROM begin_lease; DELETE FROM slice'),
)
afterEach(async () => expect(await findImbalances(db)).toEqual([]))

/** Accepts tasks that are due in the order of the calls. */
async function schedule(appId: string, count: number, { inSeconds = -60, lane }: Schedule = {}) {
  const accepted = await acceptTasks(
    db,
    Array.from({ length: count }, () => ({
      task: {
        appId,
        audience: { kind: 'all' as const },
        strategy: 'nativepush_only' as const,
        sequence: [],
        message: { ...sampleMessage(), showBegin: Math.floor(Date.now() / 1000) + 3600 },
        ttl: 100,
        lane,
      },
      mayRelease: () => false,
    })),
  )
  const ids = accepted.map(({ taskId }) => taskId)
  await db.pool.query('UPDATE task SET begin_at = now() + make_interval(secs => $2) WHERE id = ANY($1)', [
    ids,
    inSeconds,
  ])
  return ids
}
type Schedule = { inSeconds?: number; lane?: Lane }

const take = (max = 64, except: number[] = [], lane: Lane = 'normal') =>
  takeDueTasks(db, { lane, after: '', max, except })
const idsOf = (tasks: PlannedTask[] | undefined) =>
  tasks?.map(({ taskId }) => taskId).sort((a, b) => a - b) ?? []
const empty: Plan = { batches: [], inbox: [], unreachable: 0 }

describe('due tasks', () => {
  it('are taken by lane and time, without those of the future, cancelled and excepted ones', async () => {
    const [first, second, cancelled, excepted] = await schedule('some', 4)
    const [high] = await schedule('some', 1, { lane: 'high' })
    await schedule('some', 1, { inSeconds: 60 })
    await cancelTask(db, { appId: 'some' }, cancelled!)
    const due = await take(64, [excepted!])
    expect(idsOf(due?.tasks)).toEqual([first, second])
    expect(idsOf((await take(64, [], 'high'))?.tasks)).toEqual([high])
  })

  it('of one application are taken by one planner at a time', async () => {
    const ids = await schedule('mine', 2)
    const due = await take(1)
    expect(await take()).toBeUndefined()
    const [other] = await schedule('other', 1)
    expect(idsOf((await take())?.tasks)).toEqual([other])
    await giveBackDue(db, due!.lease)
    expect(idsOf((await take())?.tasks)).toEqual(ids)
    // The lease of another planner is not given back.
    await giveBackDue(db, due!.lease)
    expect(await take()).toBeUndefined()
    await db.pool.query(`UPDATE begin_lease SET until = now() - interval '1 millisecond'`)
    expect(idsOf((await take(64))?.tasks)).toEqual([...ids, other].sort((a, b) => a! - b!))
  })

  it('are taken in equal numbers of each application', async () => {
    await schedule('flood', 200, { inSeconds: -600 })
    const [few, one] = [await schedule('few', 3), await schedule('one', 1)]
    const due = await take(60)
    expect(idsOf(due?.tasks.filter(({ appId }) => appId !== 'flood'))).toEqual([...few, ...one].sort())
    expect(due?.tasks.filter(({ appId }) => appId === 'flood')).toHaveLength(20)
  })

  it('that found no place are not leased, and come first in the next turn', async () => {
    const apps = Array.from({ length: 7 }, (_, n) => `app${n}`)
    for (const app of apps) await schedule(app, 3)
    const took: string[] = []
    let after = ''
    for (const max of [5, 5, 12]) {
      const due = await takeDueTasks(db, { lane: 'normal', after, max, except: [] })
      took.push(due!.tasks.map(({ appId }) => appId.at(-1)).join(''))
      after = due!.after
      await beginTasks(
        db,
        due!.tasks.map(({ taskId }) => ({ taskId, plan: empty })),
      )
      await giveBackDue(db, due!.lease)
      const { rows } = await db.pool.query('SELECT app_id FROM begin_lease WHERE until > now()')
      expect(rows).toEqual([])
    }
    expect([...took[0]!].sort().join('')).toBe('01234')
    expect(took[1]).toMatch(/5.*6|6.*5/)
    expect([...took[2]!].sort().join('')).toBe('0123456')
  })

  it('are found at the same cost however many there are, also if the statistics of Postgres know of none', async () => {
    await stopAutovacuum(db, 'task')
    await db.pool.query('ANALYZE task')
    const due = { lane: 'normal' as const, after: '', max: 64, except: [] }
    const blocksOfDue = async () =>
      (await blocksRead(db, (counted) => takeDueTasks(counted, due)))['take-due-by-turn']!
    const copy = (count: number) =>
      db.pool.query(
        `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, begin_at)
         SELECT next_task_id(), 'many', 'accepted', '{"kind":"all"}', 'combined', '{}', '{}', 'normal', 100, now() - interval '1 hour'
         FROM generate_series(1, $1)`,
        [count],
      )
    await copy(100)
    const few = await blocksOfDue()
    await db.pool.query('DELETE FROM begin_lease')
    await copy(20_000)
    expect(await blocksOfDue()).toBeLessThan(few + 50)
  })

  it.each([
    ['with', true],
    ['until there is', false],
  ])(
    'are found behind many applications that have only future tasks, and before many due ones, %s an index of due turns',
    async (_, isBuilt) => {
      // A process that has not looked yet which indexes are built.
      const fresh = { ...db, pool: new Proxy(db.pool, {}) }
      if (!isBuilt) await db.pool.query("INSERT INTO late_index VALUES ('task_due_turn', 'task', '')")
      for (let n = 0; n < 200; n++) await schedule(`app${String(n).padStart(3, '0')}`, 1, { inSeconds: 3600 })
      await schedule('app100', 150, { inSeconds: -600 })
      const [last] = await schedule('zzz', 1)
      const seen = new Set<number>()
      let after = ''
      for (let groups = 0; groups < 5 && !seen.has(last!); groups++) {
        const due = await takeDueTasks(fresh, { lane: 'normal', after, max: 64, except: [] })
        for (const id of idsOf(due?.tasks)) seen.add(id)
        expect(seen.size).toBeGreaterThan(0)
        after = due!.after
        await giveBackDue(db, due!.lease)
      }
      expect(seen.has(last!)).toBe(true)
      await db.pool.query("DELETE FROM late_index WHERE name = 'task_due_turn'")
    },
  )
})

describe('a group', () => {
  it('begins each task once, if it still waits', async () => {
    const [first, second, third] = await schedule('once', 3)
    await cancelTask(db, { appId: 'once' }, second!)
    const plans = [first!, second!, third!].map((taskId) => ({ taskId, plan: empty }))
    expect([...(await beginTasks(db, plans.slice(0, 2)))]).toEqual([first])
    expect([...(await beginTasks(db, plans))]).toEqual([third])
    const { rows } = await db.pool.query('SELECT state, lane FROM task ORDER BY id')
    expect(rows).toEqual([
      { state: 'sending', lane: 'high' },
      { state: 'accepted', lane: 'normal' },
      { state: 'sending', lane: 'high' },
    ])
  })

  it('writes batches, inbox, targets and unreachable devices of each plan', async () => {
    const [first, second] = await schedule('plans', 2)
    const batch = { channel: 'xiaomi' as const, certificateId: 1, recipients: [5, 7], tried: [] }
    await beginTasks(db, [
      { taskId: first!, plan: { batches: [batch], inbox: [9], unreachable: 3 } },
      { taskId: second!, plan: { batches: [], inbox: [9], unreachable: 0 } },
    ])
    const { rows } = await db.pool.query(
      `SELECT unreachable, (SELECT json_object_agg(channel, target) FROM counter WHERE task_id = t.id) AS targets,
         (SELECT array_agg(recipients || state) FROM (SELECT recipients::text AS recipients, state FROM batch
           WHERE task_id = t.id AND lane = 'high') b) AS batches FROM task t ORDER BY id`,
    )
    expect(rows).toEqual([
      { unreachable: 3, targets: { xiaomi: 2, native: 1 }, batches: ['{5,7}ready'] },
      { unreachable: 0, targets: { native: 1 }, batches: null },
    ])
  })

  describe('of tasks to one device each', () => {
    const planFor = (device: number, certificateId = 1): Plan => ({
      ...empty,
      batches: [{ channel: 'xiaomi', certificateId, recipients: [device], tried: [] }],
    })
    const toBegin = (tasks: readonly DueTask[]) =>
      tasks.map((task, n) => ({
        taskId: task.taskId,
        plan: planFor(n),
        single: singleToBegin(task, planFor(n)),
      }))
    const states = async () =>
      (await db.pool.query('SELECT id, state, bundle FROM task ORDER BY id')).rows as {
        id: number
        state: string
        bundle: number | null
      }[]

    it('writes bundles that wait for the feeder, of at most 64', async () => {
      const ids = await schedule('bundled', 70)
      const due = await take(100)
      expect((await beginTasks(db, toBegin(due!.tasks))).size).toBe(70)
      expect(new Set((await states()).map(({ state }) => state))).toEqual(new Set(['bundled']))
      const { rows } = await db.pool.query(
        `SELECT task_id, size, lane, status, tasks, lease_until = 'infinity' AS waits FROM bundle ORDER BY size DESC`,
      )
      expect(rows.map(({ size, lane, waits }) => [size, lane, waits])).toEqual([
        [64, 'high', true],
        [6, 'high', true],
      ])
      expect(rows.flatMap(({ tasks }) => tasks).sort((a, b) => a - b)).toEqual(ids)
      expect(rows.every(({ task_id, tasks }) => task_id === tasks[0])).toBe(true)
      const { released } = await releaseBundles(db, { batches: 1000 })
      expect(released.map(({ size }) => size).sort()).toEqual([6, 64])
    })

    it('writes batches for few, and for those that need a row of their own', async () => {
      await schedule('few', 8)
      const due = await take(100)
      await beginTasks(db, toBegin(due!.tasks))
      expect((await states()).map(({ state, bundle }) => [state, bundle])).toEqual(
        Array.from({ length: 8 }, () => ['sending', null]),
      )
      const [task] = due!.tasks
      expect(singleToBegin({ ...task!, laneFixed: true }, planFor(1))?.lane).toBe('normal')
      for (const change of [{ paused: true }, { speed: 5 }, { events: 2 as const }])
        expect(singleToBegin({ ...task!, ...change }, planFor(1))).toBeUndefined()
    })

    it('is listed from a time after the first task of its bundle', async () => {
      const [first] = await schedule('listed', 10)
      const from = Date.now() + 2
      await until(() => Date.now() > from)
      const later = await schedule('listed', 10)
      expect((await beginTasks(db, toBegin((await take(100))!.tasks))).size).toBe(20)
      expect(firstTaskIdAt(from)).toBeGreaterThan(first!)
      const listed = await listTasks(db, { appId: 'listed' }, { limit: 100, from })
      expect(listed.map(({ taskId, state, target }) => [taskId, state, target]).reverse()).toEqual(
        later.map((id) => [id, 'sending', 1]),
      )
    })

    it('leaves out a task that was paused or got another lane since, and names the bundle by another', async () => {
      const [first, second, ...others] = await schedule('changed', 12)
      const due = await take(100)
      const tasks = toBegin(due!.tasks)
      await giveBackDue(db, due!.lease)
      await pauseTask(db, { appId: 'changed' }, first!)
      await db.pool.query(`UPDATE task SET lane = 'normal', lane_fixed = true WHERE id = $1`, [second])
      expect([...(await beginTasks(db, tasks))].sort()).toEqual(others)
      expect((await states()).map(({ bundle }) => bundle)).toEqual([
        null,
        null,
        ...others.map(() => others[0]),
      ])
      // In the next group the paused one gets a batch that is held.
      const next = await take(100)
      expect(next!.tasks.map(({ taskId, paused }) => [taskId, paused]).sort()).toEqual([
        [first, true],
        [second, false],
      ])
      await beginTasks(db, toBegin(next!.tasks))
      const { rows } = await db.pool.query(
        'SELECT state FROM batch WHERE task_id = ANY($1) ORDER BY task_id',
        [[first, second]],
      )
      expect(rows).toEqual([{ state: 'held' }, { state: 'ready' }])
    })

    it('is cancelled by a recall that is made while it begins, or recalled after it was sent', async () => {
      const appId = 'recalled'
      const ids = await schedule(appId, 10)
      const [first, second] = ids as [number, number]
      const tasks = toBegin((await take(100))!.tasks)
      /** As if the planner began the tasks after the recall has looked for a bundle. */
      let mayBegin = true
      const pool = new Proxy(db.pool, {
        get(target, key) {
          if (key !== 'query') return Reflect.get(target, key)
          return async (statement: { name: string }) => {
            const result = await target.query(statement as never)
            if (mayBegin && statement.name.startsWith('leave-bundle@')) {
              mayBegin = false
              await beginTasks(db, tasks)
            }
            return result
          }
        },
      })
      const task = (await recallable(db, { appId }, first))!
      const by = { actor: 'spec', detail: {} }
      const recall = await addRecall({ ...db, pool }, { appId }, task, sampleMessage(), by)
      const { rows } = await db.pool.query('SELECT state, cancelling FROM task WHERE id = $1', [first])
      expect(rows).toEqual([{ state: 'sending', cancelling: true }])
      // Of another one, as if the process of its recall had ended before it left its bundle.
      expect(await beginRecall(db, recall.taskId, second)).toBe(false)
      await db.pool.query(
        `UPDATE bundle SET status = overlay(status placing 's' from array_position(tasks, $1::bigint))`,
        [second],
      )
      expect(await beginRecall(db, recall.taskId, second)).toBe(true)
    })
  })

  it('divides the devices of a large audience into slices without gaps', async () => {
    const { rows: devices } = await db.pool.query(
      `INSERT INTO device (app_id, guid, push_token) SELECT 'large', 'g' || n, 'large' || n
       FROM generate_series(1, 21) n RETURNING id`,
    )
    const [large] = await schedule('large', 1)
    const [none] = await schedule('without devices', 1)
    expect([...(await beginTasks(db, [{ taskId: large! }, { taskId: none! }]))].sort()).toEqual([large, none])
    const { rows } = await db.pool.query('SELECT task_id, cursor, hi FROM slice ORDER BY cursor')
    expect(rows.map(({ task_id }) => task_id)).toEqual(rows.map(() => large))
    expect(rows.length).toBeLessThanOrEqual(8)
    expect(rows[0].cursor).toBe(devices[0].id)
    expect(rows.at(-1).hi).toBe(devices.at(-1).id + 1)
    expect(rows.slice(1).map(({ cursor }) => cursor)).toEqual(rows.slice(0, -1).map(({ hi }) => hi))
  })
})

describe('the deadline of a task', () => {
  it('is the end of the time in which it is shown, if that is before the end of its ttl', async () => {
    const showEnd = Math.floor(Date.now() / 1000) + 600
    const planFor = (...recipients: number[]): Plan => ({
      ...empty,
      batches: [{ channel: 'xiaomi', certificateId: 1, recipients, tried: [] }],
    })
    const accept = async (plan?: Plan, mayBundle = false) => {
      const [accepted] = await acceptTasks(db, [
        {
          task: {
            appId: 'shown',
            audience: { kind: 'all' },
            strategy: 'ospush_only',
            sequence: [],
            message: sampleMessage({ showEnd }),
            ttl: 3600,
          },
          plan,
          mayRelease: () => true,
          mayBundle,
        },
      ])
      return accepted!.taskId
    }
    const [batched, bundled, later] = [
      await accept(planFor(5, 7)),
      await accept(planFor(5), true),
      await accept(),
    ]
    expect([...(await beginTasks(db, [{ taskId: later, plan: planFor(5, 7) }]))]).toEqual([later])
    const { rows } = await db.pool.query(
      `SELECT task_id, extract(epoch FROM deadline)::float8 AS at FROM batch WHERE task_id = ANY($1)
       UNION ALL SELECT task_id, extract(epoch FROM deadline)::float8 FROM bundle WHERE task_id = ANY($1) ORDER BY task_id`,
      [[batched, bundled, later]],
    )
    expect(rows).toEqual([batched, bundled, later].map((task_id) => ({ task_id, at: showEnd })))
  })
})
