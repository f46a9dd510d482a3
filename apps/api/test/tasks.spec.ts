import { timeOfTaskId } from '@herald/db/store'
import { publicChannelNames } from '@herald/domain'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { openTestApi, type TestApi } from './harness.ts'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi()
  await api.client.importDevices([{ device_guid: 'phone', platform: 'android', alias: 'me', tags: ['t'] }])
})
afterAll(() => api.close())

const native = { distribution_strategy: 'nativepush_only' } as const

describe('statistics', () => {
  it('have the counters of all channels, zero for channels without targets', async () => {
    const { task_id } = await api.client.notify({
      audience: { alias: ['me'] },
      setting: native,
      message: { title: 'x' },
    })
    const [record] = await api.client.taskDetail([task_id])
    const names = publicChannelNames.flatMap((name) =>
      ['sent', 'received', 'target'].map((kind) => `${name}_${kind}`),
    )
    expect(Object.keys(record!).sort()).toEqual([...names, 'task_id'].sort())
    expect(record).toMatchObject({ task_id, nativepush_target: 1, nativepush_sent: 0, flyme_target: 0 })
  })

  it('come in the requested order, without duplicates or unknown ids', async () => {
    const ids = []
    for (let i = 0; i < 3; i++)
      ids.push((await api.client.notify({ audience: 'all', message: { title: 'x' } })).task_id)
    const asked = [ids[2]!, 5, ids[0]!, 9007199254740993n, ids[2]!, -1]
    expect((await api.client.taskDetail(asked)).map((record) => record.task_id)).toEqual([ids[2], ids[0]])
  })

  it('take 1000 ids at most', async () => {
    const detail = (list: unknown) => api.call('/push/task/detail', { body: { list } })
    expect((await detail(Array(1000).fill(1))).data).toEqual([])
    expect((await detail(Array(1001).fill(1))).message).toBe('list must have at most 1000 items.')
    expect((await detail([])).message).toBe('list is required.')
    expect((await detail('1')).message).toBe('list must be a list.')
    expect((await detail([1, 'x'])).message).toBe('list[1] must be a 64-bit integer.')
  })
})

describe('a push while the queue is down', () => {
  it('is accepted, and its batch waits in Postgres for the feeder', async () => {
    await api.client.putCertificate({ provider: 2, app_id: '100', app_secret: 's' })
    await api.client.importDevices([
      {
        device_guid: 'queued',
        platform: 'android',
        bindings: [{ provider: 2, device_token: 'queued-token' }],
      },
    ])
    const add = api.context.queues.add
    api.context.queues.add = () => Promise.reject(new Error('the queue is down'))
    try {
      const [phone] = (await api.client.devices({ device_guid: 'queued' })).list
      const { task_id } = await api.client.notify({
        audience: { push_token: [phone!.push_token] },
        message: { title: 'x' },
      })
      const { rows } = await api.context.db.pool.query(
        `SELECT b.state, b.channel FROM task t JOIN bundle b ON b.task_id = t.bundle WHERE t.id = $1 AND t.state = 'bundled'`,
        [task_id],
      )
      expect(rows).toEqual([{ state: 'released', channel: 'huawei' }])
      expect((await api.client.taskDetail([task_id]))[0]).toMatchObject({ huawei_target: 1, huawei_sent: 0 })
    } finally {
      api.context.queues.add = add
    }
  })
})

describe('a request_id', () => {
  const push = (request_id: string, message: object = { title: 'x' }) =>
    api.call('/push/notify', { body: { audience: 'all', setting: { request_id }, message } })

  it('pushes once under a hundred concurrent copies, and every copy gets the id', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => push('same')))
    expect(new Set(answers.map(({ data }) => data.task_id)).size).toBe(1)
    const { rows } = await api.context.db.pool.query(
      `SELECT count(*)::int AS n FROM task WHERE request_id = 'same'`,
    )
    expect(rows).toEqual([{ n: 1 }])
  })

  it('is found before the checks that depend on the time', async () => {
    const end = Math.floor(Date.now() / 1000) + 600
    const first = await push('expiring', { title: 'x', show_end_time: end })
    const later = jest.spyOn(Date, 'now').mockReturnValue((end + 1) * 1000)
    try {
      expect((await push('expiring', { title: 'x', show_end_time: end })).data).toEqual({
        ...first.data,
        repeated: true,
      })
      expect((await push('new', { title: 'x', show_end_time: end })).code).toBe(40002)
    } finally {
      later.mockRestore()
    }
  })

  it('belongs to its application', async () => {
    const other = await api.createApplication('ids')
    const first = await push('shared')
    const second = await api.call('/push/notify', {
      appId: other.appId,
      token: other.token,
      body: { audience: 'all', setting: { request_id: 'shared' }, message: { title: 'x' } },
    })
    expect(second.data.task_id).not.toBe(first.data.task_id)
  })
})

describe('a task', () => {
  const later = () => Math.floor(Date.now() / 1000) + 3600

  it('is listed newest first, in pages, by state', async () => {
    const ids = []
    for (let i = 0; i < 3; i++)
      ids.unshift(
        (
          await api.client.notify({
            audience: 'all',
            setting: { request_id: `list${i}` },
            message: { title: `t${i}`, show_begin_time: later() },
          })
        ).task_id,
      )
    const first = await api.client.taskList({ limit: 2, state: 'scheduled' })
    expect(first.list).toMatchObject([
      {
        task_id: ids[0],
        state: 'scheduled',
        title: 't2',
        request_id: 'list2',
        group_id: null,
        finished_at: null,
      },
      { task_id: ids[1] },
    ])
    expect((await api.client.taskList({ limit: 1, before: first.next! })).list[0]!.task_id).toBe(ids[2])
    const far = await api.call('/push/task/list', { body: { before: '9223372036854775807', limit: 1 } })
    expect(far.data.list[0].task_id).toBe(ids[0])
    const past = await api.call('/push/task/list', { body: { before: '-9223372036854775808' } })
    expect(past.data.list).toEqual([])
    expect((await api.call('/push/task/list', { body: { state: 'lost' } })).code).toBe(40002)
    expect((await api.call('/push/task/list', { body: { limit: 1001 } })).code).toBe(40002)
  })

  it('is paused, resumed and cancelled, until it is finished', async () => {
    const { task_id } = await api.client.notify({
      audience: 'all',
      message: { title: 'x', show_begin_time: later() },
    })
    const state = async () => (await api.client.taskList({ limit: 1 })).list[0]!.state
    await api.client.pauseTask(task_id)
    expect(await state()).toBe('paused')
    await api.client.resumeTask(task_id)
    expect(await state()).toBe('scheduled')
    await api.client.cancelTask(task_id)
    expect(await state()).toBe('cancelling')
    for (const verb of ['pause', 'resume'])
      expect(await api.call(`/push/task/${verb}`, { body: { task_id } })).toMatchObject({ code: 40902 })
    await api.client.cancelTask(task_id)
    expect(await state()).toBe('cancelling')
    await api.context.db.pool.query(
      `UPDATE task SET state = 'cancelled', finished_at = now() WHERE id = $1`,
      [task_id],
    )
    for (const verb of ['pause', 'resume', 'cancel'])
      expect(await api.call(`/push/task/${verb}`, { body: { task_id } })).toMatchObject({
        status: 409,
        code: 40902,
      })
  })

  it('shows its failures by channel and reason', async () => {
    const { task_id } = await api.client.notify({ audience: 'all', message: { title: 'x' } })
    const [{ id: device_id }] = (await api.context.db.pool.query('SELECT id FROM device LIMIT 1')).rows
    await api.context.db.pool.query(
      `INSERT INTO failure (task_id, channel, fate, reason, count, samples, text) VALUES
       ($1, 'meizu', 'failed', 'token gone', 3, ARRAY[$2::bigint, 99], NULL),
       ($1, 'meizu', 'failed', 'flyme.110003', 1, '{}', 'pushId malformed')`,
      [task_id, device_id],
    )
    const failures = (await api.client.taskFailures(task_id)).filter(({ fate }) => fate === 'failed')
    expect(failures).toEqual([
      {
        channel: 'flyme',
        fate: 'failed',
        code: null,
        reason: 'token gone',
        count: 3,
        since: null,
        next_attempt_at: null,
        samples: [
          { device_id, device_guid: 'phone' },
          { device_id: 99, device_guid: null },
        ],
      },
      {
        channel: 'flyme',
        fate: 'failed',
        code: 'flyme.110003',
        reason: 'pushId malformed',
        count: 1,
        since: null,
        next_attempt_at: null,
        samples: [],
      },
    ])
  })
})

describe('explain', () => {
  it('returns the channel of a device and the reason', async () => {
    const [phone] = (await api.client.devices({ device_guid: 'phone' })).list
    const answer = await api.client.explain({ message: { title: 'x' }, setting: native }, phone!.push_token)
    expect(answer).toMatchObject({ channel: 'nativepush', code: expect.stringMatching(/^herald\.\w+$/) })
    expect(answer.reason).not.toBe('')
    const before = (await api.client.taskList({ limit: 1 })).list[0]!.task_id
    const call = (body: object) => api.call('/push/explain', { body })
    expect((await call({ message: { title: 'x' } })).message).toBe('push_token is required.')
    expect((await call({ message: {}, push_token: phone!.push_token })).code).toBe(40004)
    expect((await call({ audience: 'nobody', message: { title: 'x' }, push_token: 'x' })).code).toBe(40003)
    expect((await call({ audience: 'all', message: { title: 'x' }, push_token: 'x' })).code).toBe(40401)
    expect((await api.client.taskList({ limit: 1 })).list[0]!.task_id).toBe(before)
  })
})

describe('what was asked for', () => {
  const sendText = (raw: string) =>
    api.call('/push/notify', { raw, headers: { 'content-type': 'application/json' } })
  const requestOf = (taskId: unknown) => api.call('/push/task/request', { body: { task_id: taskId } })

  it('can be sent again as it is, with all digits', async () => {
    const asked = `{"audience":{"user_id":[9007199254740993]},
      "setting":{"distribution_strategy":"ospush_only","ospush_sequence":["huawei","ups"],"speed":7,"priority":"normal","ttl":60,
        "message_class":"service","campaign":"spring","events":true},
      "message":{"type":"text","title":"Hello","body":"b","big_text":"bb","badge":"+2","click_action":"url","url":"https://example.com/a",
        "collapse_key":"k","foreground":"hide","urgent":true,"show_begin_time":4000000000,"show_end_time":4000003600,
        "ios":{"thread_id":"t","content_available":true},"android":{"channel_id":"c"},"vivo":{"classification":1},
        "ext":{ "order": 9007199254740993, "price": 1.10 }}}`
    const accepted = await sendText(asked)
    const { data } = await requestOf(accepted.data.task_id)
    expect(data).toMatchObject({
      task_id: accepted.data.task_id,
      actor: 'admin',
      address: expect.any(String),
      group_id: null,
      tokens_lost: 0,
    })
    expect(data.body).toContain('"user_id":[9007199254740993]')
    expect(data.body).toContain('"ext":{ "order": 9007199254740993, "price": 1.10 }')
    expect(JSON.parse(data.body)).toEqual(JSON.parse(asked))
    const again = await sendText(data.body)
    expect((await requestOf(again.data.task_id)).data.body).toBe(data.body)
  })

  it.each([
    ['all', 'all'],
    ['tags', { tag: ['a', 'b'] }],
    ['aliases', { alias: ['me'] }],
  ])('names %s', async (_, audience) => {
    const { task_id } = await api.client.notify({ audience: audience as 'all', message: { title: 'x' } })
    const { body } = (await requestOf(task_id)).data
    // Settings that were left out have the values that were used.
    expect(JSON.parse(body)).toEqual({
      audience,
      setting: { distribution_strategy: 'combined', ospush_sequence: ['ups', 'fcm'], ttl: 86_400 },
      message: { type: 'text', title: 'x' },
    })
  })

  it('names push tokens, of which only hashes are stored, while a device has them', async () => {
    await api.client.importDevices([{ device_guid: 'kept', platform: 'android' }])
    const [device] = (await api.client.devices({ device_guid: 'kept' })).list
    const push_token = [device!.push_token, 'nobody-has-this']
    const { task_id } = await api.client.notify({ audience: { push_token }, message: { title: 'x' } })
    const { data } = await requestOf(task_id)
    expect(JSON.parse(data.body).audience).toEqual({ push_token: [device!.push_token] })
    expect(data.tokens_lost).toBe(1)
  })

  it('is shown to its own application only', async () => {
    const { task_id } = await api.client.notify({ audience: 'all', message: { title: 'secret' } })
    const other = await api.createApplication('reader')
    for (const path of ['/push/task/request', '/push/task/channels'])
      expect((await api.call(path, { body: { task_id }, appId: other.appId, token: other.token })).code).toBe(
        40401,
      )
  })
})

describe('counters by channel', () => {
  it('add up on every channel', async () => {
    const { task_id } = await api.client.notify({
      audience: { alias: ['me'] },
      setting: native,
      message: { title: 'x' },
    })
    await api.context.db.pool.query(
      `INSERT INTO counter (task_id, channel, target, sent, received, clicked, failed, moved, expired, cancelled)
       VALUES ($1, 'meizu', 100, 50, 40, 4, 5, 20, 3, 2)`,
      [task_id],
    )
    const channels = await api.client.taskChannels(task_id)
    expect(channels).toEqual([
      {
        channel: 'flyme',
        target: 100,
        sent: 50,
        received: 40,
        clicked: 4,
        failed: 5,
        moved: 20,
        expired: 3,
        cancelled: 2,
        pending: 20,
      },
      expect.objectContaining({ channel: 'nativepush', target: 1, pending: 1 }),
    ])
    await api.context.db.pool.query(`DELETE FROM counter WHERE task_id = $1 AND channel = 'meizu'`, [task_id])
    const nobody = await api.client.notify({ audience: { tag: ['nobody'] }, message: { title: 'x' } })
    expect(await api.client.taskChannels(nobody.task_id)).toEqual([])
  })

  it('count a device that moved to another channel once in the record of the task', async () => {
    const { task_id } = await api.client.notify({ audience: { tag: ['nobody'] }, message: { title: 'x' } })
    const { pool } = api.context.db
    await pool.query(
      `INSERT INTO counter (task_id, channel, target, sent, failed, moved, expired, cancelled)
       VALUES ($1, 'meizu', 10000000, 5000000, 500000, 2000000, 300000, 200000)`,
      [task_id],
    )
    await pool.query(
      `UPDATE task SET state = 'sending', finished_at = NULL, begin_at = now() - interval '1000000 seconds' WHERE id = $1`,
      [task_id],
    )
    const [record] = (await api.client.taskList({ task_ids: [task_id] })).list
    expect(record).toMatchObject({ target: 8_000_000, pending: 2_000_000, progress: 0.75, rate: 6 })
    expect(Math.round(record!.eta! / 1000)).toBe(333)
    await pool.query('DELETE FROM counter WHERE task_id = $1', [task_id])
    await pool.query(`UPDATE task SET state = 'finished', finished_at = now() WHERE id = $1`, [task_id])
  })
})

describe('a search for tasks', () => {
  let other: { appId: string; token: string }
  const ids: Record<string, number> = {}
  const search = async (body: object) => {
    const { data } = await api.call('/push/task/list', { body, appId: other.appId, token: other.token })
    const names = data.list.map(({ task_id }: { task_id: number }) =>
      Object.keys(ids).find((name) => ids[name] === task_id),
    )
    return { names, next: data.next }
  }
  beforeAll(async () => {
    other = await api.createApplication('searched')
    const send = async (name: string, body: object) => {
      const { data } = await api.call('/push/notify', { body, appId: other.appId, token: other.token })
      ids[name] = data.task_id
    }
    await send('sale', { audience: 'all', message: { title: 'Spring SALE 50%' } })
    await send('order', { audience: { alias: ['x'] }, message: { title: 'Your order' } })
    await send('later', {
      audience: { alias: ['x'] },
      message: { title: 'Reminder', show_begin_time: 4_000_000_000 },
    })
    await send('tagged', { audience: { tag: ['vip'] }, message: { body: 'no title' } })
    await api.context.db.pool.query(
      `INSERT INTO counter (task_id, channel, target, moved) VALUES ($1, 'apns', 200, 0), ($2, 'apns', 90, 30)`,
      [ids.sale, ids.tagged],
    )
    await api.context.db.pool.query('UPDATE task SET wide = true WHERE id = $1', [ids.sale])
    await api.context.db.pool.query(`UPDATE task SET actor = 'operator' WHERE id = $1`, [ids.order])
  })

  it('finds a text in the title, a size, a sender, and broadcasts', async () => {
    expect((await search({ title: 'sale 50%' })).names).toEqual(['sale'])
    expect((await search({ title: '_' })).names).toEqual([])
    expect((await search({ min_target: 61 })).names).toEqual(['sale'])
    expect((await search({ min_target: 60 })).names).toEqual(['tagged', 'sale'])
    expect((await search({ min_target: 150 })).names).toEqual(['sale'])
    expect((await search({ actor: 'operator' })).names).toEqual(['order'])
    expect((await search({ broadcasts: true })).names).toEqual(['tagged', 'later', 'sale'])
    expect((await search({ broadcasts: false })).names).toHaveLength(4)
    expect((await search({ broadcasts: true, state: 'scheduled' })).names).toEqual(['later'])
  })

  it('finds by the time at which they were accepted', async () => {
    const { rows } = await api.context.db.pool.query(`SELECT id FROM task WHERE id = $1`, [ids.sale])
    const accepted = Math.floor(timeOfTaskId(rows[0].id) / 1000)
    expect((await search({ from: accepted - 1 })).names).toHaveLength(4)
    expect((await search({ from: accepted + 3600 })).names).toEqual([])
    expect((await search({ to: accepted - 1 })).names).toEqual([])
    expect((await search({ from: accepted - 1, to: accepted + 3600, title: 'order' })).names).toEqual([
      'order',
    ])
  })

  it('compares a limited number of tasks per call and says where to go on', async () => {
    await api.context.db.pool.query(
      `INSERT INTO task (id, app_id, state, audience, strategy, sequence, message, lane, ttl, wide)
       SELECT next_task_id(), $1, 'finished', '{"kind":"alias"}', 'combined', '{}', '{}', 'high', 0, false FROM generate_series(1, 20100) n`,
      [other.appId],
    )
    const first = await search({ title: 'spring', limit: 10 })
    expect(first.names).toEqual([])
    expect(first.next).toBeGreaterThan(ids.tagged!)
    expect(await search({ title: 'spring', limit: 10, before: first.next })).toEqual({
      names: ['sale'],
      next: null,
    })
  })
})
