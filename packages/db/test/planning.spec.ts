import type { Audience } from '@herald/domain'
import { sampleMessage } from '@herald/testkit'
import { afterEach, describe, expect, it } from '@jest/globals'
import { findImbalances } from '../src/readings/index.ts'
import type { Runner } from '../src/store/index.ts'
import { separator } from '../src/store/text-columns.ts'
import {
  acceptTasks,
  beginDueTask,
  devicePage,
  finishPlanning,
  planPage,
  resolveSmallAudiences,
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
const begin = () => beginDueTask(db, [], async () => undefined)
const inboxOf = (ids: number[]) => ({
  plan: { batches: [], inbox: ids, unreachable: 0 },
  devices: ids.length,
})
const finish = (taskId: number) => db.pool.query(`UPDATE task SET state = 'finished' WHERE id = $1`, [taskId])

describe('two planners', () => {
  it('start a task once', async () => {
    await addDevices('begun', 1)
    const taskId = await acceptLarge('begun')
    const begun: unknown[] = []
    await beginDueTask(db, [], async () => {
      begun.push(await begin())
      return undefined
    })
    expect(begun).toEqual([undefined])
    await finish(taskId)
  })

  it('plan a page once', async () => {
    const [id] = await addDevices('paged', 1)
    const taskId = await acceptLarge('paged')
    await begin()
    const planned: unknown[] = []
    await planPage(db, [], async () => {
      planned.push(await planPage(db, [], async () => inboxOf([id!])))
      return inboxOf([id!])
    })
    expect(planned).toEqual([undefined])
    const { rows } = await db.pool.query('SELECT target FROM counter WHERE task_id = $1', [taskId])
    expect(rows).toEqual([{ target: 1 }])
    await finish(taskId)
  })
})

describe('a page', () => {
  it('with too many devices is halved, and every device is planned once', async () => {
    const ids = await addDevices('cut', 100)
    const taskId = await acceptLarge('cut')
    await begin()
    const pages: number[][] = []
    const more = () =>
      planPage(db, [], async ({ task, lo, hi }, runner) => {
        const page = await devicePage(runner, task, { lo, hi, max: 7 })
        if (!page) return undefined
        const found = [...page.devices].map(({ id }) => id)
        pages.push(found)
        return inboxOf(found)
      })
    expect(await finishPlanning(db)).toBe(0)
    while (await more()) {}
    expect(pages.flat().sort((a, b) => a - b)).toEqual(ids)
    expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(7)
    expect(await finishPlanning(db)).toBe(1)
    const { rows } = await db.pool.query('SELECT state FROM task WHERE id = $1', [taskId])
    expect(rows).toEqual([{ state: 'sending' }])
  })

  it('with too many devices is not read to its end', async () => {
    await addDevices('wide', 100)
    let read = 0
    const counting = {
      async query(statement: Parameters<Runner['query']>[0]) {
        const result = await db.pool.query(statement)
        read = String(result.rows[0][0]).split(separator).length
        return result
      },
    } as unknown as Runner
    const scope = { appId: 'wide', audience: { kind: 'all' as const } }
    const everything = { lo: 0, hi: Number.MAX_SAFE_INTEGER, max: 5 }
    expect(await devicePage(counting, scope, everything)).toBeUndefined()
    expect(read).toBe(6)
  })

  it('adds nothing to a task that was cancelled while it was planned', async () => {
    const [id] = await addDevices('cancelled', 1)
    const taskId = await acceptLarge('cancelled')
    await begin()
    await planPage(db, [], async () => {
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
    let planned: Audience | undefined
    const begun = await beginDueTask(db, [], async (due) => {
      planned = due.audience
      return undefined
    })
    expect(JSON.stringify(planned)).not.toContain(appId)
    for (const scope of [
      { appId, audience },
      { appId, audience: planned! },
    ]) {
      const [devices] = await resolveSmallAudiences(db, [scope])
      expect(devices?.map(({ id }) => id)).toEqual(ids.slice(1))
    }
    await finish(begun!.taskId)
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
    const [few] = await resolveSmallAudiences(db, [{ appId, audience }])
    expect(few?.map(({ id }) => id)).toEqual(ids)
    await db.pool.query(
      `WITH d AS (INSERT INTO device (app_id, guid, push_token, alias, user_id) VALUES ($1, 'last', $1 || 'last', 'alias', 7) RETURNING id)
       INSERT INTO device_tag (tag_id, device_id) SELECT tag.id, d.id FROM tag, d WHERE tag.app_id = $1`,
      [appId],
    )
    expect(await resolveSmallAudiences(db, [{ appId, audience }])).toEqual([undefined])
  })
})
