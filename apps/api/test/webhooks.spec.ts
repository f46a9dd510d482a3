import { createServer, type Server } from 'node:http'
import { moveOutbox } from '@herald/db/events'
import { eventNames } from '@herald/domain'
import { closeServer, listen, until } from '@herald/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { createWebhookCalls } from '../src/webhook-calls.ts'
import { freeLimits, openTestApi, type TestApi } from './harness.ts'

describe('webhooks and the stream of events', () => {
  let api: TestApi
  let server: Server
  let url: string
  let status = 204
  let requests: { headers: Record<string, unknown>; body: string }[] = []

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      requests.push({ headers: request.headers, body })
      response.writeHead(status, { location: '/elsewhere' }).end()
    })
    url = `http://127.0.0.1:${await listen(server)}/hook`
    api = await openTestApi({ env: { HERALD_WEBHOOK_PRIVATE: 'on' }, overrides: { limits: freeLimits() } })
  })
  beforeEach(() => {
    status = 204
    requests = []
  })
  afterAll(async () => {
    await api.close()
    await closeServer(server)
  })

  const put = (body: object, token?: string, appId?: string) =>
    api.call('/admin/webhook', { method: 'PUT', body, token, appId })
  const list = async () => (await api.call('/admin/webhook/list')).data
  const taskEvents = async (setting?: object) => {
    const { data } = await api.call('/push/notify', {
      body: { audience: { alias: ['nobody'] }, setting, message: { title: 'Hello' } },
    })
    const { rows } = await api.deps.db.pool.query('SELECT events FROM task WHERE id = $1', [data.task_id])
    return rows[0].events
  }
  const write = async (kind: string, devices: number[] | null, detail?: object) => {
    await api.deps.db.pool.query(
      `INSERT INTO outbox (app_id, kind, task_id, channel, devices, detail) VALUES ($1, $2, 5, 'meizu', $3, $4)`,
      [api.appId, kind, devices, detail ?? null],
    )
  }

  it('saves a webhook, shows its secret once and keeps it', async () => {
    const added = await put({ name: 'crm', url, events: ['task.finished'] })
    expect(added.data).toEqual({
      webhook_id: expect.any(Number),
      secret: expect.stringMatching(/^whsec_.{44}$/),
    })
    const id = added.data.webhook_id
    const { secret } = added.data
    expect((await api.call('/admin/webhook/list')).text).not.toContain(secret)

    const changed = await put({ name: 'crm', url: `${url}/2`, events: ['device.sent'], campaign: 'spring' })
    expect(changed.data).toEqual({ webhook_id: id })
    expect((await put({ webhook_id: id, name: 'renamed', url, events: ['task.finished'] })).data).toEqual({
      webhook_id: id,
    })
    expect(await list()).toMatchObject([
      {
        webhook_id: id,
        name: 'renamed',
        url,
        events: ['task.finished'],
        campaign: null,
        state: 'active',
        backlog: 0,
      },
    ])
    await api.call('/admin/webhook/test', { body: { webhook_id: id } })
    const rotated = await put({
      webhook_id: id,
      name: 'renamed',
      url,
      events: ['task.finished'],
      rotate_secret: true,
    })
    expect(rotated.data.secret).not.toBe(secret)

    const removed = await api.call('/admin/webhook/remove', { body: { webhook_id: id } })
    expect(removed.data).toEqual({ removed: true })
    expect(await list()).toEqual([])
    const { rows } = await api.deps.db.pool.query(
      `SELECT action, detail FROM audit WHERE action LIKE 'webhook.%' ORDER BY id`,
    )
    expect(rows.map(({ action }) => action)).toEqual([
      ...['webhook.save', 'webhook.save', 'webhook.save', 'webhook.test', 'webhook.save', 'webhook.remove'],
    ])
    expect(JSON.stringify(rows)).not.toContain('whsec_')
  })

  it('takes an event that is named several times once', async () => {
    const events = (length: number) => Array.from({ length }, (_, i) => eventNames[i % 2]!)
    const added = await put({ name: 'twice', url, events: events(100) })
    expect(added.code).toBe(200)
    expect((await list())[0].events.sort()).toEqual(eventNames.slice(0, 2).sort())
    expect(await put({ name: 'twice', url, events: events(101) })).toMatchObject({
      code: 40002,
      message: 'events must have at most 100 items.',
    })
    const removed = { body: { webhook_id: added.data.webhook_id } }
    expect((await api.call('/admin/webhook/remove', removed)).code).toBe(200)
  })

  it('says what is wrong', async () => {
    const good = { name: 'x', url, events: ['task.finished'] }
    expect(await put({ ...good, url: 'ftp://example.com' })).toMatchObject({
      code: 40002,
      message: 'url must begin with https:// or http://.',
    })
    expect(await put({ ...good, url: 'https://user:pass@example.com' })).toMatchObject({
      code: 40002,
      message: 'url must not contain a user name or password.',
    })
    const wrong = await put({ ...good, events: ['task.done'] })
    expect(wrong).toMatchObject({ code: 40002 })
    for (const name of eventNames) expect(wrong.message).toContain(name)
    expect(await put({ ...good, webhook_id: 99999 })).toMatchObject({ code: 40401 })
    expect(await api.call('/admin/webhook/remove', { body: { webhook_id: 99999 } })).toMatchObject({
      code: 40401,
    })
    expect(await api.call('/admin/webhook/test', { body: { webhook_id: 99999 } })).toMatchObject({
      code: 40401,
    })
    expect(await api.call('/admin/webhook/replay', { body: { webhook_id: 99999, from: 0 } })).toMatchObject({
      code: 40401,
    })
    for (const after of ['nonsense', '0-1000', '0-999999'])
      expect(await api.call('/admin/event/list', { body: { after } })).toMatchObject({
        code: 40002,
        message: 'after must be the id of an entry.',
      })
  })

  it('refuses a private address, also behind a name', async () => {
    const strict = createWebhookCalls({
      allowPrivate: false,
      resolveName: async (host) =>
        host === 'inside.example.com' ? ['93.184.216.34', '10.0.0.1'] : ['93.184.216.34'],
    })
    const PRIVATE = 'must not point to a private address, unless HERALD_WEBHOOK_PRIVATE is on'
    expect(await strict.problemOf('https://inside.example.com')).toBe(PRIVATE)
    expect(await strict.problemOf('http://127.0.0.1')).toBe(PRIVATE)
    expect(await strict.problemOf('http://[::1]')).toBe(PRIVATE)
    expect(await strict.problemOf('https://outside.example.com')).toBeUndefined()
    expect(await strict.post({ url, secret: 'whsec_', id: 'msg_1', body: Buffer.from('{}') })).toEqual({
      error: 'the url must not point to a private address',
    })
    expect(requests).toEqual([])
  })

  it('allows 20 webhooks per application, and none of them is seen by others', async () => {
    const other = await api.createApplication('other')
    for (let i = 0; i < 20; i++) {
      const { code } = await put({ name: `n${i}`, url, events: ['task.finished'] }, other.token, other.appId)
      expect(code).toBe(200)
    }
    expect(
      await put({ name: 'n20', url, events: ['task.finished'] }, other.token, other.appId),
    ).toMatchObject({
      code: 40002,
      message: 'The application has 20 webhooks, which is the limit.',
    })
    expect(await list()).toEqual([])
    const theirs = await api.call('/admin/webhook/list', { token: other.token, appId: other.appId })
    const [{ webhook_id }] = theirs.data
    expect(await api.call('/admin/webhook/remove', { body: { webhook_id } })).toMatchObject({ code: 40401 })
    expect(await api.call('/admin/webhook/test', { body: { webhook_id } })).toMatchObject({ code: 40401 })
    expect(await put({ webhook_id, name: 'mine', url, events: ['task.finished'] })).toMatchObject({
      code: 40401,
    })
  })

  it('decides which events a new task has', async () => {
    expect(await taskEvents()).toBe(0)
    expect(await taskEvents({ events: true })).toBe(2)
    const { data } = await put({ name: 'levels', url, events: ['device.sent'] })
    expect(await taskEvents()).toBe(0)
    await put({ name: 'levels', url, events: ['task.finished'] })
    expect(await taskEvents()).toBe(1)
    await put({ name: 'levels', url, events: ['task.finished', 'device.sent'], campaign: 'spring' })
    expect(await taskEvents()).toBe(0)
    expect(await taskEvents({ campaign: 'autumn' })).toBe(0)
    expect(await taskEvents({ campaign: 'spring' })).toBe(2)
    await api.call('/admin/webhook/remove', { body: { webhook_id: data.webhook_id } })
    expect(await taskEvents({ campaign: 'spring' })).toBe(0)
  })

  it('tests a webhook, and wakes it when it answers', async () => {
    const { data } = await put({ name: 'tested', url, events: ['task.finished'] })
    const test = async () =>
      (await api.call('/admin/webhook/test', { body: { webhook_id: data.webhook_id } })).data
    await api.deps.db.pool.query(
      `UPDATE webhook SET rested_at = now(), rest_reason = 'gone', attempts = 3, failing_since = now() WHERE id = $1`,
      [data.webhook_id],
    )
    status = 500
    expect(await test()).toEqual({ ok: false, status: 500, error: 'status 500' })
    status = 302
    expect(await test()).toMatchObject({ ok: false, status: 302 })
    expect(requests.length).toBe(2)
    expect(await list()).toMatchObject([{ state: 'rested', last_status: 302 }])
    status = 204
    expect(await test()).toEqual({ ok: true, status: 204, error: null })
    expect(await list()).toMatchObject([
      { state: 'active', rest_reason: null, last_status: 204, last_error: null },
    ])
    expect(JSON.parse(requests.at(-1)!.body)).toMatchObject({
      type: 'herald.events',
      data: [{ type: 'webhook.test' }],
    })
    await api.call('/admin/webhook/remove', { body: { webhook_id: data.webhook_id } })
  })

  it('lists the stream by pages, and the backlog of a webhook', async () => {
    const { data } = await put({ name: 'reader', url, events: ['device.sent', 'task.finished'] })
    const id = data.webhook_id
    const { pushToken } = await api.user('reader', { guid: 'guid-1' })
    expect(pushToken).toBeTruthy()
    const { rows } = await api.deps.db.pool.query(`SELECT id FROM device WHERE guid = 'guid-1'`)
    await write('device.sent', [rows[0].id, 999_999_999])
    await write('certificate.closed', null, { certificate_id: 3, channel: 'meizu' })
    await write('task.finished', null, { sent: 2 })
    expect(await moveOutbox(api.deps.db)).toBe(3)

    const all = (await api.call('/admin/event/list', { body: {} })).data
    expect(all.list).toMatchObject([
      { type: 'device.sent', channel: 'flyme', device_guid: 'guid-1', username: 'reader', task_id: 5 },
      { type: 'device.sent', channel: 'flyme' },
      { type: 'certificate.closed', certificate_id: 3, channel: 'flyme' },
      { type: 'task.finished', sent: 2 },
    ])
    expect(all.list[1]).not.toHaveProperty('device_guid')
    expect(all.next).toBe(all.list[3].id)
    const paged: unknown[] = []
    for (let after: string | undefined; ; ) {
      const { data: page } = await api.call('/admin/event/list', { body: { after, limit: 1 } })
      if (page.list.length === 0) {
        expect(page.next).toBe(after)
        break
      }
      paged.push(...page.list)
      after = page.next
    }
    expect(paged).toEqual(all.list)

    expect(await list()).toMatchObject([
      { backlog: 3, backlog_exact: true, backlog_since: expect.any(Number) },
    ])
    const replay = (from: unknown) => api.call('/admin/webhook/replay', { body: { webhook_id: id, from } })
    expect((await replay(all.list[1].id)).data).toEqual({ replayed: true })
    expect(await list()).toMatchObject([{ backlog: 2 }])
    await replay(Math.floor(Date.now() / 1000) + 3600)
    expect(await list()).toMatchObject([{ backlog: 0 }])
    await replay(Math.floor(Date.now() / 1000) - 3600)
    expect(await list()).toMatchObject([{ backlog: 3 }])
    expect(await replay('x')).toMatchObject({ code: 40002 })
  })

  it('has events of tasks without a webhook while it is read', async () => {
    const readOn = (day: string) =>
      api.deps.db.pool.query(`UPDATE application SET events_read_on = ${day} WHERE id = $1`, [api.appId])
    const untilLevel = (level: number) => until(async () => (await taskEvents()) === level)
    for (const { webhook_id } of await list())
      await api.call('/admin/webhook/remove', { body: { webhook_id } })
    await readOn('NULL')
    await untilLevel(0)
    await api.call('/admin/event/list', { body: {} })
    expect(await taskEvents()).toBe(1)
    await readOn("now() - interval '31 days'")
    await untilLevel(0)
    await api.call('/admin/event/list', { body: {} })
    expect(await taskEvents()).toBe(1)
  })

  it('is refused to groups', async () => {
    const { data } = await api.call('/admin/group', { body: { name: 'g' } })
    const headers = { group_id: String(data.group_id) }
    expect((await api.call('/admin/webhook/list', { headers })).status).toBe(403)
    expect((await api.call('/admin/event/list', { headers, body: {} })).status).toBe(403)
  })
})
