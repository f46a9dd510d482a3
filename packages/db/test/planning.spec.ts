import type { Audience, PlanDevice } from '@herald/domain'
import { until } from '@herald/testkit'
import { sampleMessage } from '@herald/testkit/sample-message'
import { afterEach, describe, expect, it } from '@jest/globals'
import type pg from 'pg'
import { findImbalances } from '../src/readings/index.ts'
import type { Database } from '../src/store/index.ts'
import {
  acceptTasks,
  beginTasks,
  devicePage,
  devicesById,
  finishPlanning,
  planPage,
  resolveSmallAudiences,
  takeDueTasks,
} from '../src/tasks/index.ts'
import { useDatabase } from './setup.ts'

const db = useDatabase()
afterEach(async () => expect(await findImbalances(db)).toEqual([]))

async function addDevices(appId: string, count: number): Promise<number[]> {
  const { rows } = await db.pool.query<{ id: number }>(
    `INSERT INTO device (app_id, guid, push_token, alias, user_id)
     SELECT $1, 'g' || n, $1 || n, 'alias', 7 FROM generate_series(1, $2::int) n RETURNING id`,
    [appId, count],
  )
  const ids = rows.map(({ id }) => id)
  const tag = await db.pool.query<{ id: number }>(
    `INSERT INTO tag (app_id, name) VALUES ($1, 'tag') ON CONFLICT (app_id, name) DO UPDATE SET name = 'tag' RETURNING id`,
    [appId],
  )
  await db.pool.query('INSERT INTO device_tag (tag_id, device_id) SELECT $1, unnest($2::bigint[])', [
    tag.rows[0]!.id,
    ids,
  ])
  return ids
}

/** Accepts a task without a plan. */
async function acceptLarge(appId: string): Promise<number> {
  const [accepted] = await acceptTasks(db, [
    {
      task: {
        appId,
        audience: { kind: 'all' },
        strategy: 'nativepush_only',
        sequence: [],
        message: sampleMessage(),
        ttl: 100,
      },
      mayRelease: () => false,
    },
  ])
  return accepted!.taskId
}
/** Begins all due tasks with large audiences. */
async function begin(): Promise<number[]> {
  const due = await takeDueTasks(db, { lane: 'normal', after: '', max: 64, except: [] })
  const begun = await beginTasks(db, due?.tasks.map(({ taskId }) => ({ taskId })) ?? [])
  await db.pool.query('DELETE FROM begin_lease')
  return [...begun]
}
const next = { lane: 'normal' as const, after: '', except: [] }
const inboxOf = (ids: number[]) => ({
  plan: { batches: [], inbox: ids, unreachable: 0 },
  devices: ids.length,
})
const finish = (taskId: number) => db.pool.query(`UPDATE task SET state = 'finished' WHERE id = $1`, [taskId])
const targets = async (taskId: number) =>
  (await db.pool.query('SELECT target FROM counter WHERE task_id = $1', [taskId])).rows.map(
    ({ target }) => target,
  )
const endLeases = () => db.pool.query(`UPDATE slice SET planning_until = now() - interval '1 millisecond'`)

describe('two planners', () => {
  it('do not read a page at the same time', async () => {
    const [id] = await addDevices('paged', 1)
    const taskId = await acceptLarge('paged')
    await begin()
    const planned: unknown[] = []
    await planPage(db, next, async () => {
      planned.push(await planPage(db, next, async () => inboxOf([id!])))
      return inboxOf([id!])
    })
    expect(planned).toEqual([undefined])
    expect(await targets(taskId)).toEqual([1])
    await finish(taskId)
  })

  it('commit a page once if both have read it', async () => {
    const [id] = await addDevices('read twice', 1)
    const taskId = await acceptLarge('read twice')
    await begin()
    const late = await planPage(db, next, async () => {
      await endLeases()
      expect(await planPage(db, next, async () => inboxOf([id!]))).toMatchObject({ taskId, last: true })
      return inboxOf([id!])
    })
    expect(late).toEqual({ taskId, appId: 'read twice', plan: undefined, last: false })
    expect(await targets(taskId)).toEqual([1])
    await finish(taskId)
  })

  it('do not block the end of a task whose page they commit', async () => {
    const [id] = await addDevices('ended', 1)
    const taskId = await acceptLarge('ended')
    await begin()
    const client = await db.pool.connect()
    try {
      // As the end of a cancelled task: first the task, then its slices.
      await client.query('BEGIN')
      await client.query('SELECT 1 FROM task WHERE id = $1 FOR UPDATE', [taskId])
      const late = planPage(db, next, async () => inboxOf([id!]))
      await until(async () => {
        const { rows } = await db.pool.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
        return rows.length > 0
      })
      await client.query('DELETE FROM slice WHERE task_id = $1', [taskId])
      await client.query('COMMIT')
      expect(await late).toMatchObject({ taskId, plan: undefined })
    } finally {
      client.release()
    }
    expect(await targets(taskId)).toEqual([])
    await finish(taskId)
  })

  it('halve a page once if both found it too large', async () => {
    await addDevices('halved twice', 1)
    const taskId = await acceptLarge('halved twice')
    await begin()
    await planPage(db, next, async () => {
      await endLeases()
      await planPage(db, next, async () => undefined)
      return undefined
    })
    const { rows } = await db.pool.query('SELECT width FROM slice WHERE task_id = $1', [taskId])
    expect(rows).toEqual([{ width: 8000 }])
    await finish(taskId)
  })

  it('go on when one of them hangs or dies with a page, and what it commits later is dropped', async () => {
    const ids = await addDevices('hanging', 40)
    const taskId = await acceptLarge('hanging')
    await begin()
    const hasRead = Promise.withResolvers<void>()
    const asleep = Promise.withResolvers<void>()
    const page = async ({ lo, hi }: { lo: number; hi: number }) =>
      inboxOf(ids.filter((id) => id >= lo && id < hi))
    const hanging = planPage(db, next, async (slice) => {
      hasRead.resolve()
      await asleep.promise
      return page(slice)
    })
    await hasRead.promise
    // Nothing is locked: the task can be cancelled, finished and settled.
    for (const table of ['task', 'slice']) {
      const { rows } = await db.pool.query(`SELECT 1 FROM ${table} FOR UPDATE NOWAIT`)
      expect(rows.length).toBeGreaterThan(0)
    }
    const { rows: open } = await db.pool.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
    )
    expect(open).toEqual([])
    while (await planPage(db, next, page)) {}
    expect(await finishPlanning(db, [taskId])).toBe(0)
    await endLeases()
    expect(await planPage(db, next, page)).toMatchObject({ last: true })
    expect(await finishPlanning(db, [taskId])).toBe(1)
    asleep.resolve()
    expect(await hanging).toMatchObject({ plan: undefined, last: false })
    expect(await targets(taskId)).toEqual([40])
    await finish(taskId)
  })
})

/** The database, with a listener to the results of named statements. */
function watched(
  onResult: (name: string, rows: unknown[][], client: Pick<pg.PoolClient, 'query'>) => unknown,
): Database {
  const connect = async () => {
    const client = await db.pool.connect()
    const query = async (statement: { name?: string }) => {
      const result = await client.query<unknown[]>(statement as never)
      if (statement.name) await onResult(statement.name, result.rows, client)
      return result
    }
    return { query, release: () => client.release(), on() {}, off() {} }
  }
  return { ...db, pool: { connect } as unknown as Database['pool'] }
}

describe('a page', () => {
  it('with too many devices is halved, and every device is planned once', async () => {
    const ids = await addDevices('cut', 100)
    const taskId = await acceptLarge('cut')
    await begin()
    const pages: number[][] = []
    const more = () =>
      planPage(db, next, async ({ task, lo, hi }) => {
        const page = await devicePage(db, task, { lo, hi, max: 7 })
        if (!page) return undefined
        const found = page.groups.flatMap(({ ids }) => ids)
        pages.push(found)
        return inboxOf(found)
      })
    expect(await finishPlanning(db, [taskId])).toBe(0)
    while (await more()) {}
    expect(pages.flat().sort((a, b) => a - b)).toEqual(ids)
    expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(7)
    expect(await finishPlanning(db, [taskId])).toBe(1)
    const { rows } = await db.pool.query('SELECT state FROM task WHERE id = $1', [taskId])
    expect(rows).toEqual([{ state: 'sending' }])
  })

  it('with fewer than 10,000 devices is followed by a wider one, so that sparse audiences get full batches', async () => {
    await addDevices('sparse', 1)
    const taskId = await acceptLarge('sparse')
    await begin()
    await db.pool.query('UPDATE slice SET hi = cursor + 1000000 WHERE task_id = $1', [taskId])
    const widths: number[] = []
    for (const devices of [9_999, 10_000, 10_000]) {
      await planPage(db, { ...next, after: 'spars' }, async ({ lo, hi }) => {
        widths.push(hi - lo)
        return { ...inboxOf([]), devices }
      })
    }
    expect(widths).toEqual([16_000, 32_000, 32_000])
    await finish(taskId)
  })

  it('with too many devices is not read to its end', async () => {
    await addDevices('wide', 100)
    let read = 0
    const counting = watched((_, [first]) => {
      read = String(first![0]).split(',').length
    })
    const scope = { appId: 'wide', audience: { kind: 'all' as const } }
    const everything = { lo: 0, hi: Number.MAX_SAFE_INTEGER, max: 5 }
    expect(await devicePage(counting, scope, everything)).toBeUndefined()
    expect(read).toBe(6)
  })

  it('groups devices by what their routes depend on; those with several bindings are alone', async () => {
    const ids = await addDevices('kinds', 40)
    await db.pool.query(
      `UPDATE device SET platform = (ARRAY['ios', 'android', NULL])[1 + id % 3] WHERE app_id = 'kinds'`,
    )
    await db.pool.query(
      `INSERT INTO binding (device_id, channel, app_id, token, environment, bundle_id, region, registered_at)
       SELECT id, c.channel, 'kinds', c.channel || id, id % 2, CASE WHEN id % 4 = 0 THEN 'com.example' END,
         CASE WHEN id % 5 = 0 THEN 'de' END, now() - make_interval(secs => id)
       FROM device, unnest(ARRAY['apns', 'fcm', 'xiaomi']) WITH ORDINALITY AS c (channel, n)
       WHERE app_id = 'kinds' AND n <= id % 4`,
    )
    await db.pool.query(
      `INSERT INTO gateway_node (id, lease_until) VALUES ('alive', now() + interval '1 hour'), ('dead', now() - interval '1 hour')`,
    )
    await db.pool.query(
      `INSERT INTO presence (device_id, node, connection, away)
       SELECT id, CASE WHEN id % 2 = 0 THEN 'alive' ELSE 'dead' END, 1, id % 6 = 0 FROM device WHERE app_id = 'kinds' AND id % 3 = 0`,
    )
    const scope = { appId: 'kinds', audience: { kind: 'all' as const } }
    const page = await devicePage(db, scope, { lo: ids[0]!, hi: ids.at(-1)! + 1, max: 100 })
    const { groups, count } = page!
    expect(count).toBe(40)
    for (const group of groups) {
      expect(group.ids).toEqual([...group.ids].sort((a, b) => a - b))
      if (group.bindings.length > 1) expect(group.ids).toHaveLength(1)
    }
    expect(groups.length).toBeLessThan(40)
    // The time of registration orders several bindings; of a single one it is not read.
    const kindOf = ({ bindings, ...device }: Omit<PlanDevice, 'id'>) => ({
      ...device,
      bindings: bindings
        .map((binding) => (bindings.length > 1 ? binding : { ...binding, registeredAt: 0 }))
        .sort((a, b) => (a.channel < b.channel ? -1 : 1)),
    })
    const found = groups
      .flatMap(({ ids: some, ...kind }) => some.map((id) => ({ id, ...kindOf(kind) })))
      .sort((a, b) => a.id - b.id)
    const single = await devicesById(db.pool, ids)
    expect(found).toEqual(single.map(({ id, ...kind }) => ({ id, ...kindOf(kind) })))
  })

  it('merges its tables if it is narrow and looks devices up if it is wide, whatever the statistics say', async () => {
    const ids = await addDevices('planned', 40)
    const scope = { appId: 'planned', audience: { kind: 'all' as const } }
    const planOf = async (hi: number) => {
      let plan = ''
      const explaining = watched(async (name, _, client) => {
        const { rows } = await client.query(
          `EXPLAIN EXECUTE "${name}" ('planned', NULL, NULL, ${ids[0]}, ${hi})`,
        )
        plan = rows.map((row) => row['QUERY PLAN']).join('\n')
      })
      const page = await devicePage(explaining, scope, { lo: ids[0]!, hi, max: 40 })
      expect(page!.groups.flatMap((group) => group.ids)).toEqual(ids)
      return plan
    }
    for (const statistics of ['none', 'many applications']) {
      if (statistics !== 'none')
        await db.pool.query(
          `INSERT INTO device (app_id, guid) SELECT 'other' || n, 'one' FROM generate_series(1, 5000) AS n; ANALYZE device`,
        )
      expect(await planOf(ids[0]! + 80)).not.toContain('Nested Loop')
      const wide = await planOf(ids[0]! + 81)
      expect(wide).not.toMatch(/Merge|Hash (Left )?Join|Seq Scan on (presence|binding)/)
      expect(wide.match(/Index Cond: \(device_id = d\.id\)/g)).toHaveLength(2)
    }
  })

  it('looks for devices with several bindings only after it found one in the application', async () => {
    const ids = await addDevices('some', 30)
    await db.pool.query(
      `INSERT INTO binding (device_id, channel, app_id, token)
       SELECT id, CASE WHEN id % 2 = 0 THEN 'fcm' ELSE 'xiaomi' END, 'some', 't' || id FROM device WHERE app_id = 'some'`,
    )
    const names: string[] = []
    const naming = watched((name) => names.push(name))
    const scope = { appId: 'some', audience: { kind: 'all' as const } }
    const read = () => devicePage(naming, scope, { lo: ids[0]!, hi: ids.at(-1)! + 1, max: 30 })
    const simple = await read()
    expect(simple!.count).toBe(30)
    expect(
      simple!.groups.map(({ bindings, ids: some }) => [bindings[0]!.channel, some.length]).sort(),
    ).toEqual([
      ['fcm', 15],
      ['xiaomi', 15],
    ])
    const [, second] = ids
    await db.pool.query(
      `INSERT INTO binding (device_id, channel, app_id, token) VALUES ($1, 'meizu', 'some', 'another')`,
      [second],
    )
    const first = await read()
    expect(first!.count).toBe(30)
    const several = first!.groups.filter(({ bindings }) => bindings.length === 2)
    expect(several.map(({ ids: some }) => some)).toEqual([[second]])
    expect(await read()).toEqual(first)
    expect(names).toEqual(['page-all-30', 'page-all-30', 'several-page-all-30', 'several-page-all-30'])
  })

  it.each<[string, Audience]>([
    ['two tags', { kind: 'tag', tags: ['tag', 'other'] }],
    ['two Live Activities', { kind: 'activity', activities: ['game', 'match'] }],
  ])('has a device of %s once', async (what, audience) => {
    const appId = `of ${what}`
    const ids = await addDevices(appId, 3)
    await db.pool.query(
      `WITH other AS (INSERT INTO tag (app_id, name) VALUES ($1, 'other') RETURNING id)
       INSERT INTO device_tag (tag_id, device_id) SELECT other.id, d.id FROM other, device d WHERE d.app_id = $1`,
      [appId],
    )
    await db.pool.query(
      `INSERT INTO activity (device_id, kind, name, app_id, token)
       SELECT id, 'activity', name, app_id, name || id FROM device, unnest(ARRAY['game', 'match']) name WHERE app_id = $1`,
      [appId],
    )
    await db.pool.query(
      `INSERT INTO binding (device_id, channel, app_id, token) SELECT id, 'apns', app_id, 't' || id FROM device WHERE app_id = $1`,
      [appId],
    )
    const page = await devicePage(db, { appId, audience }, { lo: ids[0]!, hi: ids.at(-1)! + 1, max: 100 })
    expect(page!.count).toBe(3)
    expect(page!.groups.flatMap((group) => group.ids)).toEqual(ids)
    const { audiences } = await resolveSmallAudiences(db, [{ appId, audience }])
    expect(audiences[0]!.map(({ id, bindings }) => [id, bindings.length])).toEqual(ids.map((id) => [id, 1]))
  })

  it('that was planned last ends the planning of its task alone', async () => {
    await addDevices('ends', 1)
    const tasks = [await acceptLarge('ends'), await acceptLarge('ends')]
    await begin()
    while (await planPage(db, next, async () => inboxOf([]))) {}
    await finishPlanning(db, [tasks[0]!])
    const { rows } = await db.pool.query('SELECT state FROM task WHERE id = ANY($1) ORDER BY id', [tasks])
    expect(rows).toEqual([{ state: 'sending' }, { state: 'planning' }])
    for (const task of tasks) await finish(task)
  })

  it('adds nothing to a task that was cancelled while it was planned', async () => {
    const [id] = await addDevices('cancelled', 1)
    const taskId = await acceptLarge('cancelled')
    await begin()
    await planPage(db, next, async () => {
      await db.pool.query(`UPDATE task SET state = 'cancelled' WHERE id = $1`, [taskId])
      return inboxOf([id!])
    })
    expect((await db.pool.query('SELECT 1 FROM inbox WHERE task_id = $1', [taskId])).rows).toEqual([])
    expect((await db.pool.query('SELECT 1 FROM counter WHERE task_id = $1', [taskId])).rows).toEqual([])
  })
})

describe('an audience', () => {
  it('of push tokens is stored as hashes, and found by the planner', async () => {
    const appId = 'by token'
    const ids = await addDevices(appId, 3)
    const audience = { kind: 'push_token' as const, pushTokens: [`${appId}2`, `${appId}3`, 'unknown'] }
    const task = { appId, audience, strategy: 'nativepush_only' as const, sequence: [], ttl: 100 }
    await acceptTasks(db, [{ task: { ...task, message: sampleMessage() }, mayRelease: () => false }])
    const due = await takeDueTasks(db, { ...next, max: 64 })
    const planned = due?.tasks[0]?.audience
    expect(JSON.stringify(planned)).not.toContain(appId)
    for (const scope of [
      { appId, audience },
      { appId, audience: planned! },
    ]) {
      const { audiences } = await resolveSmallAudiences(db, [scope])
      expect(audiences[0]?.map(({ id }) => id)).toEqual(ids.slice(1))
    }
    await finish(due!.tasks[0]!.taskId)
  })

  it('is resolved with few connections, however many there are', async () => {
    await addDevices('many scopes', 1)
    let running = 0
    let most = 0
    const pool = {
      async query(statement: never) {
        most = Math.max(most, ++running)
        try {
          return await db.pool.query(statement)
        } finally {
          running--
        }
      },
    }
    const scopes = Array.from({ length: 20 }, () => ({
      appId: 'many scopes',
      audience: { kind: 'all' as const },
    }))
    const found = await resolveSmallAudiences({ ...db, pool } as never, scopes)
    expect(found.audiences.map((devices) => devices?.length)).toEqual(scopes.map(() => 1))
    expect(most).toBe(3)
  })

  const five = ['a', 'b', 'c', 'd', 'e']
  it.each<[string, Audience]>([
    ['all', { kind: 'all' }],
    ['a tag', { kind: 'tag', tags: ['tag'] }],
    ['an alias', { kind: 'alias', aliases: ['alias'] }],
    ['many aliases', { kind: 'alias', aliases: ['alias', ...five] }],
    ['a user', { kind: 'user_id', userIds: [7n] }],
  ])('of %s is small up to a thousand devices', async (what, audience) => {
    const appId = `small ${what}`
    const ids = await addDevices(appId, 1000)
    const { audiences } = await resolveSmallAudiences(db, [{ appId, audience }])
    expect(audiences[0]?.map(({ id }) => id)).toEqual(ids)
    await db.pool.query(
      `WITH d AS (INSERT INTO device (app_id, guid, push_token, alias, user_id) VALUES ($1, 'last', $1 || 'last', 'alias', 7) RETURNING id)
       INSERT INTO device_tag (tag_id, device_id) SELECT tag.id, d.id FROM tag, d WHERE tag.app_id = $1`,
      [appId],
    )
    const many = await resolveSmallAudiences(db, [{ appId, audience }])
    expect(many.audiences).toEqual([undefined])
  })
})
