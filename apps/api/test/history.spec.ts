import { get } from 'node:http'
import { recordReceipts } from '@herald/db/tasks'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openTestApi, type TestApi } from './harness.ts'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi()
  await api.client.putCertificate({ provider: 2, app_id: '100', app_secret: 's' })
  await api.client.importDevices([
    {
      device_guid: 'phone',
      platform: 'android',
      alias: 'ann',
      bindings: [{ provider: 2, device_token: 'p' }],
    },
    { device_guid: 'tablet', platform: 'android', alias: 'ann' },
    {
      device_guid: 'other',
      platform: 'android',
      alias: 'ben',
      bindings: [{ provider: 2, device_token: 'o' }],
    },
  ])
})
afterAll(() => api.close())

const push = async (setting: object = {}, audience: object | 'all' = { alias: ['ann'] }) =>
  (await api.call('/push/notify', { body: { audience, setting, message: { title: 'Shipped' } } })).data
    .task_id
const idOf = async (guid: string) =>
  Number((await api.client.devices({ device_guid: guid })).list[0]!.device_id)
const click = async (task: number, guid: string) =>
  recordReceipts(api.context.db, [
    { appId: api.appId, taskId: task, deviceId: await idOf(guid), event: 'clicked' },
  ])

/** Statistics begin and end with a quarter of an hour. */
const quarter = (n: number) => (Math.floor(Date.now() / 900_000) + n) * 900

describe('the result of a push', () => {
  it('is told for each device of a person, in one call', async () => {
    const task = await push({ campaign: 'spring' })
    await click(task, 'phone')
    const paths = await api.client.taskDevice(task, { alias: 'ann' })
    const [phone, tablet] = paths.sort((a, b) => (a.device_guid < b.device_guid ? -1 : 1))
    expect(phone).toMatchObject({
      device_guid: 'phone',
      alias: 'ann',
      user_id: null,
      path: [{ channel: 'huawei', fate: 'pending', code: 'herald.waiting_for_turn', next_attempt_at: null }],
      received_at: expect.any(Number),
      clicked_at: expect.any(Number),
    })
    expect(tablet).toMatchObject({
      device_guid: 'tablet',
      path: [{ channel: 'nativepush', fate: 'pending', code: 'herald.offline_to_inbox' }],
      received_at: null,
    })
    expect(await api.client.taskDevice(task, { device_guid: 'other' })).toMatchObject([{ path: [] }])
    const [record] = (await api.client.taskList({ task_ids: [task] })).list
    expect(record).toMatchObject({ campaign: 'spring', received: 1, clicked: 1, waiting: 0, pending: 2 })
  })

  it('is refused with a sentence that names the mistake', async () => {
    const task = await push()
    const asked = async (body: object) => {
      const { code, message } = await api.call('/push/task/device', { body: { task_id: task, ...body } })
      return `${code} ${message}`
    }
    expect(await asked({ alias: 'nobody' })).toBe(
      '40401 No device of this application has the alias "nobody".',
    )
    expect(await asked({ device_guid: 'x' })).toBe(
      '40401 No device of this application has the device_guid "x".',
    )
    expect(await asked({ push_token: 'x' })).toBe('40401 No device of this application has this push_token.')
    const needed = '40002 Exactly one of push_token, device_guid, alias and user_id is needed.'
    expect(await asked({})).toBe(needed)
    expect(await asked({ alias: 'ann', device_guid: 'phone' })).toBe(needed)
    expect(await asked({ alias: 'ann', task_id: task + 1 })).toBe(
      `40401 The task ${task + 1} does not exist.`,
    )
    expect(await asked({ alias: 'ann', task_id: 4096 * 86_400_000 })).toBe(
      `40401 The task ${4096 * 86_400_000} is of 2025-01-02; tasks that old have been removed.`,
    )
    const foreign = await api.createApplication('foreign')
    const body = { task_id: task, device_guid: 'phone' }
    const answer = await api.call('/push/task/device', { appId: foreign.appId, token: foreign.token, body })
    expect(answer).toMatchObject({
      code: 40401,
      message: 'No device of this application has the device_guid "phone".',
    })
  })

  it('of an alias with very many devices is refused', async () => {
    await api.client.importDevices(
      Array.from({ length: 101 }, (_, n) => ({ device_guid: `crowd-${n}`, alias: 'crowd' })),
    )
    expect(await api.call('/admin/device/messages', { body: { alias: 'crowd' } })).toMatchObject({
      code: 40002,
      message: 'More than 100 devices have the alias "crowd"; ask about one of them.',
    })
  })

  it('is listed by device and by person', async () => {
    const tasks = [await push({ campaign: 'one' }), await push({ campaign: 'two' })]
    const { list } = await api.client.deviceMessages({ device_guid: 'phone' }, { limit: 2 })
    expect(list).toMatchObject([
      {
        task_id: tasks[1],
        device_guid: 'phone',
        title: 'Shipped',
        campaign: 'two',
        channel: 'huawei',
        fate: 'pending',
      },
      { task_id: tasks[0], campaign: 'one' },
    ])
    const fromTheTop = { device_guid: 'phone', limit: 1, before: '9223372036854775807' }
    expect((await api.call('/admin/device/messages', { body: fromTheTop })).data.list).toMatchObject([
      { task_id: tasks[1] },
    ])
    const person = await api.client.deviceMessages({ alias: 'ann' }, { limit: 1 })
    expect(person.list.map(({ task_id, device_guid }) => [task_id, device_guid]).sort()).toEqual([
      [tasks[1], 'phone'],
      [tasks[1], 'tablet'],
    ])
    const next = await api.client.deviceMessages({ alias: 'ann' }, { limit: 1, before: person.next! })
    expect(next.list[0]).toMatchObject({ task_id: tasks[0] })
  })

  it('is seen by a group only in its own tasks and devices', async () => {
    const { userId } = await api.user('member', { guid: 'member-phone' })
    const { group_id } = await api.client.createGroup('support')
    await api.client.addMembers(group_id, [userId])
    const group = api.client.asGroup(group_id)
    const everyones = await push({}, { user_id: [userId] })
    const own = (await group.notify({ audience: { user_id: [userId] }, message: { title: 'Own' } })).task_id
    expect((await group.deviceMessages({ user_id: userId })).list.map(({ task_id }) => task_id)).toEqual([
      own,
    ])
    await expect(group.taskDevice(everyones, { user_id: userId })).rejects.toMatchObject({ code: 40401 })
    await expect(group.deviceMessages({ device_guid: 'phone' })).rejects.toMatchObject({ code: 40401 })
    await expect(group.exportTask(everyones).next()).rejects.toMatchObject({ code: 40401 })
    expect((await group.exportTask(own).next()).value).toMatchObject({ device_guid: 'member-phone' })
    const day = { from: quarter(-4), to: quarter(1), by: 'hour' as const }
    expect((await group.stats(day)).total.target).toBe(1)
  })
})

describe('a task list', () => {
  it('is filtered by every state that it shows, by campaign and by ids', async () => {
    const campaign = 'states'
    const later = Math.floor(Date.now() / 1000) + 3600
    const scheduled = await api.client.notify({
      audience: 'all',
      setting: { campaign },
      message: { title: 'x', show_begin_time: later },
    })
    const sending = await push({ campaign })
    const paused = await push({ campaign })
    await api.client.pauseTask(paused)
    const cancelling = await push({ campaign })
    await api.client.cancelTask(cancelling)
    const shown = async (search: object) =>
      (await api.client.taskList(search)).list.map(({ task_id }) => task_id)
    expect(await shown({ campaign })).toEqual([cancelling, paused, sending, scheduled.task_id])
    const states = { scheduled: scheduled.task_id, sending, paused, cancelling }
    for (const [state, task] of Object.entries(states))
      expect(await shown({ campaign, state })).toEqual([task])
    for (const state of ['accepted', 'planning', 'finished', 'cancelled'])
      expect(await shown({ campaign, state })).toEqual([])
    expect(await shown({ task_ids: [sending, 7, paused] })).toEqual([paused, sending])
    expect(await shown({ task_ids: [sending, paused], state: 'paused' })).toEqual([paused])
    const unknown = [paused, cancelling, scheduled.task_id]
    for (const record of (await api.client.taskList({ task_ids: unknown })).list)
      expect(record).toMatchObject({ eta: null })
    expect(await shown({ task_ids: [sending, paused], from: later })).toEqual([])
    expect(await shown({ task_ids: [sending, paused], to: later - 7200 })).toEqual([])
    expect(await shown({ task_ids: [sending, paused], from: later - 7200, to: later })).toEqual([
      paused,
      sending,
    ])
  })

  it('has the task of a request id, so that a caller who lost the answer finds it', async () => {
    const first = await push({ request_id: 'lost-answer' })
    const shown = async (search: object) =>
      (await api.client.taskList(search)).list.map(({ task_id }) => task_id)
    expect(await shown({ request_id: 'lost-answer' })).toEqual([first])
    expect(await shown({ request_id: 'lost-answer', task_ids: [first - 1] })).toEqual([])
    expect(await shown({ request_id: 'never-sent' })).toEqual([])
  })

  it('has failures that tell why devices wait', async () => {
    const task = await push()
    await api.client.pauseTask(task)
    expect(await api.client.taskFailures(task)).toEqual([
      {
        channel: 'huawei',
        fate: 'held',
        code: 'herald.task_paused',
        reason: 'the task is paused',
        count: 1,
        since: null,
        next_attempt_at: null,
        samples: [{ device_id: await idOf('phone'), device_guid: 'phone' }],
      },
      {
        channel: 'nativepush',
        fate: 'held',
        code: 'herald.task_paused',
        reason: 'the task is paused',
        count: 1,
        since: null,
        next_attempt_at: null,
        samples: [{ device_id: await idOf('tablet'), device_guid: 'tablet' }],
      },
    ])
  })
})

describe('the statistics', () => {
  it('sum tasks by the time of their beginning, by channel and campaign', async () => {
    const { appId, token } = await api.createApplication('stats')
    const call = async (path: string, body: object) => {
      const answer = await api.call(path, { appId, token, body })
      expect([answer.code, answer.message]).toEqual([200, null])
      return answer.data
    }
    await api.call('/admin/push/certificate', {
      method: 'PUT',
      appId,
      token,
      body: { provider: 2, app_id: '100', app_secret: 's' },
    })
    await api.call('/admin/device/import', {
      appId,
      token,
      raw: ['{"device_guid":"a","bindings":[{"provider":2,"device_token":"a"}]}', '{"device_guid":"b"}'].join(
        '\n',
      ),
      headers: { 'content-type': 'application/x-ndjson' },
    })
    const send = async (setting: object) =>
      (await call('/push/notify', { audience: 'all', setting, message: { title: 'x' } })).task_id as number
    const first = await send({ campaign: 'c' })
    const second = await send({ campaign: 'c' })
    await send({ distribution_strategy: 'ospush_only' })
    // As if the second had been accepted days ago to begin two hours ago.
    await api.context.db.pool.query(
      `UPDATE task SET begin_at = now() - interval '2 hours', created_at = now() - interval '3 days' WHERE id = $1`,
      [second],
    )
    await api.context.db.pool.query(
      `UPDATE counter SET sent = 1, received = 1, clicked = 1 WHERE task_id = $1 AND channel = 'huawei'`,
      [first],
    )
    const to = quarter(1)
    const search = { from: to - 4 * 3600, to, by: 'hour' }
    const all = await call('/push/stats', search)
    expect(all.list).toHaveLength(4)
    const earlier = all.list.findIndex(({ target }: { target: number }) => target === 2)
    expect(all.list[earlier]).toMatchObject({ at: search.from + earlier * 3600, target: 2, sent: 0 })
    expect([1, 2]).toContain(earlier)
    expect(all.list[3]).toMatchObject({ target: 3, sent: 1, received: 1, clicked: 1, unreachable: 1 })
    expect(all.total).toEqual({ target: 5, sent: 1, failed: 0, received: 1, clicked: 1, unreachable: 1 })
    expect(all.channels).toEqual([
      { channel: 'huawei', target: 3, sent: 1, failed: 0, received: 1, clicked: 1 },
      { channel: 'nativepush', target: 2, sent: 0, failed: 0, received: 0, clicked: 0 },
    ])
    expect((await call('/push/stats', { ...search, campaign: 'c' })).total).toMatchObject({
      target: 4,
      unreachable: 0,
    })
    expect((await call('/push/stats', { ...search, channel: 'nativepush' })).total).toMatchObject({
      target: 2,
    })
    expect((await call('/push/stats', { ...search, by: 'day' })).list).toHaveLength(1)
  })

  it('take any times, and answer for whole quarters of an hour', async () => {
    const task = await push()
    const now = Math.floor(Date.now() / 1000)
    const { data } = await api.call('/push/stats', { body: { from: now - 3601, to: now + 1, by: 'hour' } })
    const begin = Math.floor((now - 3601) / 900) * 900
    expect(data.list[0].at).toBe(begin)
    expect(data.list).toHaveLength(Math.ceil((Math.ceil((now + 1) / 900) * 900 - begin) / 3600))
    const { list } = (await api.call('/push/task/list', { body: { task_ids: [task] } })).data
    expect(data.total.target).toBeGreaterThanOrEqual(list[0].target)
    expect(list[0].target).toBeGreaterThan(0)
  })

  it('refuse ranges that are too long or empty', async () => {
    const asked = async (body: object) =>
      (await api.call('/push/stats', { body: { from: 86_400, by: 'hour', ...body } })).message
    expect(await asked({ to: 86_400 })).toBe('to must be after from.')
    expect(await asked({ to: 33 * 86_400 })).toBe('from and to may be at most 31 days apart with by: hour.')
    expect(await asked({ by: 'day', to: 402 * 86_400 })).toBe(
      'from and to may be at most 400 days apart with by: day.',
    )
    expect(await asked({ to: 172_800, channel: 'fax' })).toMatch(/^channel must be one of/)
  })
})

describe('the export', () => {
  it('has a line per device and channel, and ends with the sums', async () => {
    const task = await push()
    const lines = api.client.exportTask(task)
    const seen: string[] = []
    let next = await lines.next()
    for (; !next.done; next = await lines.next()) seen.push(`${next.value.device_guid} ${next.value.channel}`)
    expect(seen).toEqual(['phone huawei', 'tablet nativepush'])
    expect(next.value).toMatchObject({ equal: true, lines: 2, sums: { huawei: { target: 1, pending: 1 } } })
    const { headers } = await api.call(`/push/task/export?task_id=${task}`)
    expect(headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
    expect((await api.call('/push/task/export?task_id=5')).code).toBe(40401)
    expect((await api.call('/push/task/export')).message).toBe('task_id is required.')
  })

  it('waits for a slow reader, and ends when the reader goes away', async () => {
    const { pool } = api.context.db
    const task = await push()
    // Larger than the buffers of both sockets.
    await pool.query(
      `INSERT INTO batch (task_id, app_id, channel, lane, state, size, recipients, status, deadline)
       SELECT $1, $2, 'fcm', 'high', 'settled', 1000, ARRAY(SELECT g FROM generate_series(n * 1000, n * 1000 + 999) g), repeat('s', 1000), now()
       FROM generate_series(1, 200) n`,
      [task, api.appId],
    )
    await pool.query(
      `INSERT INTO counter (task_id, channel, target, ranged, spread, sent) VALUES ($1, 'fcm', 200000, 200000, 999, 200000)`,
      [task],
    )
    const open = async () => {
      const { rows } = await pool.query(
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'
         AND query LIKE 'FETCH%'`,
      )
      return rows[0].n as number
    }
    const request = get(`${api.url}/push/task/export?task_id=${task}`, {
      headers: { app_id: api.appId, 'access-token': api.adminToken },
    })
    const response = await new Promise<import('node:http').IncomingMessage>((resolve) =>
      request.once('response', resolve),
    )
    await new Promise((resolve) => response.once('readable', resolve))
    await until(async () => (await open()) === 1, { what: 'the export to wait for its reader' })
    // Two of one application at a time; the second is read to its end while the first waits.
    const { data } = await api.call(`/push/task/export?task_id=${task}`)
    expect(data).toHaveLength(200_003)
    expect(data.at(-1)).toMatchObject({ equal: true, lines: 200_002 })
    expect(await open()).toBe(1)
    request.destroy()
    await until(async () => (await open()) === 0, { what: 'the transaction to end' })
    await until(async () => (await api.call(`/push/task/export?task_id=5`)).code === 40401, {
      what: 'the place of the export to be free',
    })
  })
})
