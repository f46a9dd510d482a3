import type { NewTask, Why } from '@herald/domain'
import { acceptPlan } from '@herald/testkit/accept-plan'
import { sampleMessage } from '@herald/testkit/sample-message'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { devicesOfEvents, entryWriter } from '../src/events/index.ts'
import { deviceMessages, findRecipientDevices, pathsInTask } from '../src/history/index.ts'
import { findEventImbalances, findImbalances, findLetterImbalances } from '../src/readings/index.ts'
import type { Database } from '../src/store/index.ts'
import {
  acceptTasks,
  addRecall,
  beginTasks,
  cancelTask,
  claimBatches,
  failLost,
  recallable,
  type Settlement,
  settleBatches,
  settleEnded,
} from '../src/tasks/index.ts'
import { addApplication, addCertificate, settlementOf, useDatabase } from './setup.ts'

const db = useDatabase()
let app: string
let certificate: number
let claims = 0
beforeAll(async () => {
  app = await addApplication(db)
  certificate = await addCertificate(db, app, 'fcm')
})
beforeEach(() => db.pool.query('DELETE FROM outbox'))
afterEach(async () => {
  expect(await findImbalances(db)).toEqual([])
  expect(await findLetterImbalances(db)).toEqual([])
})

const query = async <Row>(sql: string, values: unknown[] = []) =>
  (await db.pool.query(sql, values)).rows as Row[]

async function accept(recipients: number[], task: Partial<NewTask> = {}) {
  const { taskId, released } = await acceptPlan(
    db,
    app,
    { batches: [{ channel: 'fcm', certificateId: certificate, recipients, tried: [] }] },
    task,
  )
  return { taskId, id: released[0]!.id }
}
type Key = Awaited<ReturnType<typeof accept>>

async function claim(key: Key, seconds = 30) {
  await db.pool.query(`UPDATE batch SET state = 'released' WHERE task_id = $1 AND state = 'ready'`, [
    key.taskId,
  ])
  const [batch] = await claimBatches(
    db.pool,
    { channel: 'fcm', certificateIds: [certificate], batches: [key] },
    { seconds, worker: `w${claims++}` },
  )
  return batch!
}
/** Claims the batch and writes these results. */
async function settle(key: Key, change: Partial<Settlement>, version?: number) {
  const claimed = version ?? (await claim(key)).version
  const { settled } = await settleBatches(db, [settlementOf({ ...key, version: claimed }, change)])
  expect(settled.size).toBe(1)
}

const why = (f: Why['f'], code: string, ...p: number[]): Why => ({ f, c: code, t: `text ${code}`, p })
const reasonsOf = (whys: readonly Why[]): Settlement['reasons'] =>
  whys.flatMap(({ f: fate, c: code, t: text, p }) =>
    fate === 'pending' ? [] : [{ fate, code, text, count: p.length, samples: [] }],
  )
const stored = async ({ taskId, id }: Key) =>
  (
    await query<{ whys: Why[] | null; settled_at: Date | null; status: string }>(
      'SELECT whys, settled_at, status FROM batch WHERE task_id = $1 AND id = $2',
      [taskId, id],
    )
  )[0]!
const outbox = () =>
  query<Record<string, unknown>>(
    'SELECT app_id, kind, task_id, campaign, channel, code, text, devices FROM outbox ORDER BY id',
  )

describe('the reasons of a batch', () => {
  it('are not written if all recipients were sent to; the time is', async () => {
    const key = await accept([1, 2])
    expect(await stored(key)).toEqual({ whys: null, settled_at: null, status: '..' })
    await settle(key, { status: 'ss', sent: 2 })
    expect(await stored(key)).toEqual({ whys: null, settled_at: expect.any(Date), status: 'ss' })
  })

  it('of waiting are replaced by each attempt, the others stay; the time is that of the last letter', async () => {
    const key = await accept([1, 2, 3])
    await settle(key, { status: '...', state: 'retry', whys: [why('pending', 'slow', 0, 1, 2)] })
    expect(await stored(key)).toEqual({
      whys: [why('pending', 'slow', 0, 1, 2)],
      settled_at: null,
      status: '...',
    })
    const failed = why('failed', 'bad', 0)
    await settle(key, {
      status: 'f..',
      state: 'retry',
      failed: 1,
      whys: [failed, why('pending', 'down', 1, 2)],
      reasons: reasonsOf([failed]),
    })
    const { whys, settled_at: first } = await stored(key)
    expect(whys).toEqual([failed, why('pending', 'down', 1, 2)])
    await settle(key, { status: 'f..', state: 'retry', whys: [why('pending', 'slow', 1, 2)] })
    expect(await stored(key)).toEqual({
      whys: [failed, why('pending', 'slow', 1, 2)],
      settled_at: first,
      status: 'f..',
    })
    await settle(key, { status: 'fss', sent: 2 })
    expect(await stored(key)).toMatchObject({ whys: [failed], status: 'fss' })
  })

  it('are none again after a wait that ended well, and stay during a part of an attempt', async () => {
    const key = await accept([1, 2])
    const waiting = why('pending', 'slow', 0, 1)
    await settle(key, { status: '..', state: 'retry', whys: [waiting] })
    const { version } = await claim(key)
    await settle(key, { status: 's.', state: 'sending', sent: 1 }, version)
    expect(await stored(key)).toMatchObject({ whys: [waiting], status: 's.' })
    await settle(key, { status: 'ss', sent: 1 }, version + 1)
    expect(await stored(key)).toMatchObject({ whys: null, status: 'ss' })
  })

  it('of a batch that the sweep ends have no places: they are those of all its other recipients', async () => {
    const late = await accept([1, 2, 3])
    const failed = why('failed', 'bad', 1)
    await settle(late, {
      status: '.f.',
      state: 'retry',
      failed: 1,
      whys: [why('pending', 'slow', 0, 2), failed],
      reasons: reasonsOf([failed]),
    })
    await db.pool.query('UPDATE batch SET deadline = now() WHERE task_id = $1', [late.taskId])
    const cancelled = await accept([4])
    await cancelTask(db, { appId: app }, cancelled.taskId)
    await settleEnded(db)
    expect(await stored(late)).toEqual({
      status: 'xfx',
      settled_at: expect.any(Date),
      whys: [failed, { f: 'expired', c: 'herald.expired_waiting', t: expect.any(String) }],
    })
    expect(await stored(cancelled)).toEqual({
      status: 'c',
      settled_at: expect.any(Date),
      whys: [{ f: 'cancelled', c: 'herald.task_cancelled', t: expect.any(String) }],
    })
    const poison = await accept([5])
    await claim(poison)
    await db.pool.query(
      `UPDATE batch SET lost = 9, lease_until = now() - interval '1 s' WHERE task_id = $1`,
      [poison.taskId],
    )
    await failLost(db, new Date().toISOString())
    expect(await stored(poison)).toMatchObject({
      status: 'f',
      whys: [{ f: 'failed', c: 'herald.attempts_lost' }],
    })
  })
})

describe('a message that was written natively and then sent by a vendor', () => {
  it('keeps its native place when it leaves the inbox; a copy leaves none', async () => {
    const key = await accept([1, 2])
    await db.pool.query(
      `INSERT INTO inbox (task_id, device_id, app_id, expires_at, sent_at, is_copy)
       VALUES ($1, 1, $2, now() + interval '1 hour', now(), false), ($1, 2, $2, now() + interval '1 hour', now(), true)`,
      [key.taskId, app],
    )
    await settle(key, { status: 'ss', sent: 2, clearInbox: [1, 2] })
    expect(await query('SELECT 1 FROM inbox WHERE task_id = $1', [key.taskId])).toEqual([])
    expect(
      await query('SELECT channel, recipients, status, state FROM batch WHERE task_id = $1 AND is_record', [
        key.taskId,
      ]),
    ).toEqual([{ channel: 'native', recipients: [1], status: 's', state: 'settled' }])
  })
})

describe('events of devices', () => {
  const wanted = { events: 2, campaign: 'spring' } as const

  it('are written by the settle that counts them, once, with the lists or for all recipients', async () => {
    const all = await accept([1, 2], wanted)
    const some = await accept([3, 4, 5, 6], wanted)
    const { version } = await claim(all)
    const settlement = settlementOf(
      { ...all, version },
      { status: 'ss', sent: 2, events: [{ kind: 'device.sent' }] },
    )
    await settleBatches(db, [settlement])
    // After a lost reply.
    await settleBatches(db, [settlement])
    const whys = [why('failed', 'bad', 1), why('expired', 'gone', 2), why('moved', 'next', 3)]
    await settle(some, {
      status: 'sfxm',
      sent: 1,
      failed: 1,
      expired: 1,
      moved: 1,
      inbox: [6],
      whys,
      reasons: reasonsOf(whys),
      events: [
        { kind: 'device.sent', devices: [3] },
        { kind: 'device.failed', code: 'bad', text: 'text bad', devices: [4] },
        { kind: 'device.expired', code: 'gone', text: 'text gone', devices: [5] },
      ],
    })
    const event = (task: Key, kind: string, devices: number[], code: string | null = null) => ({
      app_id: app,
      kind,
      task_id: task.taskId,
      campaign: 'spring',
      channel: 'fcm',
      code,
      text: code && `text ${code}`,
      devices,
    })
    expect(await outbox()).toEqual([
      event(all, 'device.sent', [1, 2]),
      event(some, 'device.expired', [5], 'gone'),
      event(some, 'device.failed', [4], 'bad'),
      event(some, 'device.sent', [3]),
    ])
    expect(await findEventImbalances(db, [all.taskId, some.taskId])).toEqual([])
  })

  it('are not written for tasks that do not want them', async () => {
    for (const events of [0, 1] as const) {
      const key = await accept([1, 2], { events })
      await settle(key, { status: 'ss', sent: 2, events: [{ kind: 'device.sent' }] })
    }
    expect(await outbox()).toEqual([])
  })

  it('are written by the sweep for devices that expired or failed, not for those of a cancelled task', async () => {
    const late = await accept([1, 2, 3], wanted)
    await settle(late, {
      status: '.s.',
      state: 'retry',
      sent: 1,
      whys: [why('pending', 'slow', 0, 2)],
      events: [{ kind: 'device.sent', devices: [2] }],
    })
    await db.pool.query('UPDATE batch SET deadline = now() WHERE task_id = $1', [late.taskId])
    const cancelled = await accept([4], wanted)
    await cancelTask(db, { appId: app }, cancelled.taskId)
    const silent = await accept([7])
    await db.pool.query('UPDATE batch SET deadline = now() WHERE task_id = $1', [silent.taskId])
    await settleEnded(db)
    const poison = await accept([5], wanted)
    await claim(poison)
    await db.pool.query(
      `UPDATE batch SET lost = 9, lease_until = now() - interval '1 s' WHERE task_id = $1`,
      [poison.taskId],
    )
    await failLost(db, new Date().toISOString())
    const rows = await outbox()
    expect(rows.map(({ kind, task_id, code, devices }) => [kind, task_id, code, devices])).toEqual([
      ['device.sent', late.taskId, null, [2]],
      ['device.expired', late.taskId, 'herald.expired_waiting', [1, 3]],
      ['device.failed', poison.taskId, 'herald.attempts_lost', [5]],
    ])
    expect(
      await findEventImbalances(db, [late.taskId, cancelled.taskId, poison.taskId, silent.taskId]),
    ).toEqual([])
  })

  it('that are missing or repeated are found by the check', async () => {
    const key = await accept([1, 2], wanted)
    await settle(key, { status: 'ss', sent: 2, events: [{ kind: 'device.sent' }] })
    const row = { taskId: key.taskId, channel: 'fcm', kind: 'device.sent' }
    await db.pool.query(
      `INSERT INTO event (id, app_id, at, kind, task_id, channel, devices)
       SELECT next_task_id(), app_id, at, kind, task_id, channel, devices[1:1] FROM outbox`,
    )
    expect(await findEventImbalances(db, [key.taskId])).toEqual([
      { ...row, counted: 2, entries: 3, repeated: 1 },
    ])
    await db.pool.query('DELETE FROM outbox')
    expect(await findEventImbalances(db, [key.taskId])).toEqual([
      { ...row, counted: 2, entries: 1, repeated: 0 },
    ])
    await db.pool.query('DELETE FROM event')
  })

  it('tell which tokens a settle retired, of whatever task', async () => {
    const [device] = await query<{ id: number }>(
      `INSERT INTO device (app_id, guid, push_token) VALUES ($1, 'dead', 'dead') RETURNING id`,
      [app],
    )
    await db.pool.query(
      `INSERT INTO binding (device_id, channel, app_id, token) VALUES ($1, 'fcm', $2, 'dead-token')`,
      [device!.id, app],
    )
    const key = await accept([device!.id])
    const failed = why('failed', 'gone', 0)
    await settle(key, {
      status: 'f',
      failed: 1,
      whys: [failed],
      reasons: reasonsOf([failed]),
      retire: [{ deviceId: device!.id, token: 'dead-token', since: Date.now() + 60_000 }],
      answered: 1000,
      gone: 1,
    })
    expect(await outbox()).toMatchObject([
      { app_id: app, kind: 'token.retired', channel: 'fcm', devices: [device!.id], task_id: null },
    ])
  })
})

describe('a task', () => {
  type Row = Record<'campaign' | 'events' | 'actor' | 'address' | 'wide' | 'state', unknown>
  const rowOf = async (taskId: number) =>
    (
      await query<Row>('SELECT campaign, events, actor, address, wide, state FROM task WHERE id = $1', [
        taskId,
      ])
    )[0]!
  const newTask = (): NewTask => ({
    appId: app,
    audience: { kind: 'all' },
    strategy: 'ospush_only',
    sequence: [],
    message: sampleMessage(),
    ttl: 100,
  })
  const sender = { campaign: 'spring', actor: 'token sender', address: '192.0.2.1' }
  const devices = (count: number) => Array.from({ length: count }, (_, i) => 1000 + i)
  const planOf = (recipients: number[], inbox: number[] = []) => ({
    batches: [{ channel: 'fcm' as const, certificateId: certificate, recipients, tried: [] }],
    inbox,
    unreachable: 0,
  })

  it('is stored with its campaign, its events and its sender; also one that begins later', async () => {
    const now = await accept([1], { ...sender, events: 1 })
    expect(await rowOf(now.taskId)).toEqual({ ...sender, events: 1, wide: false, state: 'sending' })
    await settle(now, { status: 's', sent: 1 })
    const [later] = await acceptTasks(db, [
      {
        task: { ...newTask(), ...sender, events: 2 },
        mayRelease: () => false,
      },
    ])
    expect(await rowOf(later!.taskId)).toEqual({ ...sender, events: 2, wide: false, state: 'accepted' })
    await beginTasks(db, [{ taskId: later!.taskId, plan: planOf([1]) }])
    expect(await rowOf(later!.taskId)).toEqual({ ...sender, events: 2, wide: false, state: 'sending' })
  })

  it('to one device is written into a bundle unless it has events', async () => {
    const accepted = await acceptTasks(
      db,
      ([undefined, 0, 1, 2] as const).map((events) => ({
        task: { ...newTask(), events },
        plan: planOf([1]),
        mayRelease: () => true,
        mayBundle: true,
      })),
    )
    const states = await Promise.all(accepted.map(async ({ taskId }) => (await rowOf(taskId)).state))
    expect(states).toEqual(['bundled', 'bundled', 'sending', 'sending'])
  })

  it('is wide if more than 64 devices may meet in one of its batches', async () => {
    const wideOf = async (plan: ReturnType<typeof planOf>) =>
      (await rowOf((await acceptPlan(db, app, plan)).taskId)).wide
    expect(await wideOf(planOf(devices(64)))).toBe(false)
    expect(await wideOf(planOf(devices(65)))).toBe(true)
    expect(await wideOf(planOf(devices(60), [1, 2, 3, 4, 5]))).toBe(true)
    const begun = async (plan?: ReturnType<typeof planOf>) => {
      const [task] = await acceptTasks(db, [
        {
          task: newTask(),
          mayRelease: () => false,
        },
      ])
      await beginTasks(db, [{ taskId: task!.taskId, plan }])
      return (await rowOf(task!.taskId)).wide
    }
    expect(await begun(planOf(devices(64)))).toBe(false)
    expect(await begun(planOf(devices(65)))).toBe(true)
    // Its audience is planned in slices.
    expect(await begun()).toBe(true)
  })

  it('that recalls another is stored with its sender and events, and is as wide as the first', async () => {
    for (const [recipients, wide] of [
      [devices(65), true],
      [[1], false],
    ] as const) {
      const key = await accept([...recipients])
      await settle(key, { status: 's'.repeat(recipients.length), sent: recipients.length })
      const first = (await recallable(db, { appId: app }, key.taskId))!
      const by = { actor: 'token recaller', detail: { address: '192.0.2.9' }, events: 1 as const }
      const { taskId: recallId } = await addRecall(db, { appId: app }, first, sampleMessage(), by)
      expect(await rowOf(recallId)).toEqual({
        campaign: null,
        actor: 'token recaller',
        address: '192.0.2.9',
        events: 1,
        wide,
        state: 'accepted',
      })
    }
  })

  it('that recalls another is added once, also if what is left of the first cannot be cancelled', async () => {
    const key = await accept([1])
    await settle(key, { status: 's', sent: 1 })
    await db.pool.query(`UPDATE task SET state = 'finished' WHERE id = $1`, [key.taskId])
    const first = (await recallable(db, { appId: app }, key.taskId))!
    const failed: string[] = []
    const pool = new Proxy(db.pool, {
      get(target, name) {
        const value = Reflect.get(target, name)
        if (name !== 'query') return typeof value === 'function' ? value.bind(target) : value
        return (statement: { name?: string }, ...rest: unknown[]) => {
          if (!statement.name?.startsWith('cancel-bundled')) return value.call(target, statement, ...rest)
          failed.push(statement.name)
          return Promise.reject(new Error('the statement failed'))
        }
      },
    })
    const failing: Database = { ...db, pool }
    const by = { actor: 'token recaller', detail: {} }
    const added = await addRecall(failing, { appId: app }, first, sampleMessage(), by)
    expect(failed).toHaveLength(1)
    expect(added.fresh).toBe(true)
    expect(await rowOf(added.taskId)).toMatchObject({ actor: 'token recaller', state: 'accepted' })
  })

  it('of a program that does not know the column is wide', async () => {
    await db.pool.query(
      `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl)
       VALUES (next_task_id(), 'old-program', 'finished', '{"kind":"all"}', 'combined', '{}', '{}', 'high', 60)`,
    )
    expect(await query(`SELECT wide, events FROM task WHERE app_id = 'old-program'`)).toEqual([
      { wide: true, events: 0 },
    ])
  })
})

describe('a device that was made before the clock was set back', () => {
  /** Adds a device whose creation is an hour ahead. */
  async function addAhead(name: string): Promise<number> {
    const [row] = await query<{ id: number }>(
      `INSERT INTO device (app_id, guid, push_token, alias, created_at, moved_at)
       SELECT $1, $2, $2, $2, t, t FROM (SELECT now() + interval '1 hour') AS clock (t) RETURNING id`,
      [app, name],
    )
    return row!.id
  }
  const entryOf = async (id: number) => {
    const at = Date.now()
    const found = await devicesOfEvents(db, app, [id], at)
    const none = { taskId: null, campaign: null, channel: null, code: null, text: null, detail: null }
    return JSON.parse(entryWriter({ id: 1, at, kind: 'device.sent', devices: [id], ...none }, found)(0))
  }
  /** Whether a person finds a task of the device: by the task, and in the messages. */
  const isFound = async (alias: string, taskId: number) => {
    const found = await findRecipientDevices(db, { appId: app }, { alias })
    const [paths] = (await pathsInTask(db, { appId: app }, taskId, found))!
    const { messages } = await deviceMessages(db, { appId: app }, found, { limit: 100 })
    return [paths!.path.length > 0, messages.some((message) => message.taskId === taskId)]
  }

  it('is named in events, and its messages are found by the person', async () => {
    const id = await addAhead('ahead')
    expect(await entryOf(id)).toMatchObject({ device_guid: 'ahead', alias: 'ahead' })
    const { taskId } = await accept([id])
    expect(await isFound('ahead', taskId)).toEqual([true, true])
  })

  it('is not if it got another person before that', async () => {
    const id = await addAhead('moved')
    await db.pool.query(`UPDATE device SET moved_at = now() + interval '30 minutes' WHERE id = $1`, [id])
    const entry = await entryOf(id)
    expect(entry).toMatchObject({ device_guid: 'moved' })
    expect(entry).not.toHaveProperty('alias')
    const { taskId } = await accept([id])
    expect(await isFound('moved', taskId)).toEqual([false, false])
  })
})
