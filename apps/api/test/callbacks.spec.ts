import type { ChannelAdapter, Receipt } from '@herald/channels'
import { adapters } from '@herald/channels/all'
import { until } from '@herald/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { createCallbackHandler } from '../src/receipts/callback-handler.ts'
import { openTestApi, type TestApi } from './harness.ts'

/** Huawei with a minimal receipt format, `{"sign": "good", "receipts": […]}`: this spec is not about the vendor's format. */
const huawei: ChannelAdapter = {
  ...adapters.huawei!,
  readCallback(request) {
    const { sign, receipts } = JSON.parse(request.body.toString()) as { sign: string; receipts: Receipt[] }
    const response = { status: 200, contentType: 'application/json', body: '{"code":"0"}' }
    if (sign !== 'good')
      return { ok: false, problem: 'wrong signature', response: { ...response, status: 401 } }
    return { ok: true, receipts, response }
  },
}

let api: TestApi
let path: string
let taskId: number
const token = 'huawei-token-of-the-phone'

beforeAll(async () => {
  api = await openTestApi({ certificateAdapters: { ...adapters, huawei } })
  const saved = await api.client.putCertificate({ provider: 2, app_id: '100', app_secret: 'secret' })
  path = new URL(saved.callback_url!).pathname
  await api.client.putCertificate({ provider: 5, app_id: '105550001', app_key: 'key', app_secret: 'secret' })
})
beforeEach(async () => {
  await api.client.importDevices([
    { device_guid: 'phone', platform: 'android', bindings: [{ provider: 2, device_token: token }] },
  ])
  taskId = Number(
    (
      await api.client.notify({
        audience: 'all',
        setting: { distribution_strategy: 'ospush_only' },
        message: { title: 'x' },
      })
    ).task_id,
  )
})
afterAll(() => api.close())

async function post(to: string, body: unknown, method = 'POST') {
  const response = await fetch(`${api.url}${to}`, {
    method,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}
const report = (receipts: Receipt[], sign = 'good') => post(path, { sign, receipts })
const received = async () => (await api.client.taskDetail([taskId]))[0]!.huawei_received
const stored = async () =>
  (await api.context.db.pool.query('SELECT count(*)::int AS n FROM callback')).rows[0].n

describe('a vendor’s callback', () => {
  it('is answered in the vendor’s format, counted once, and removed', async () => {
    const answer = await report([{ taskId, token, event: 'received' }])
    expect(answer).toEqual({ status: 200, type: 'application/json', text: '{"code":"0"}' })
    await until(async () => (await received()) === 1)
    await report([
      { taskId, token, event: 'received' },
      { taskId, token, event: 'clicked' },
      { taskId: 0, token, event: 'received' },
      { taskId, token: 'unknown', event: 'received' },
    ])
    await until(async () => (await stored()) === 0)
    expect(await received()).toBe(1)
  })

  it('finds the device of a token that was replaced since', async () => {
    await api.client.importDevices([
      {
        device_guid: 'phone',
        platform: 'android',
        bindings: [{ provider: 2, device_token: 'a-newer-token' }],
      },
    ])
    await report([{ taskId, token, event: 'received' }])
    await until(async () => (await received()) === 1)
  })

  it('retires a token that it reports as gone, unless it was registered again since', async () => {
    const bindings = async () => (await api.client.devices({ device_guid: 'phone' })).list[0]!.bindings.length
    const { push_token } = (await api.client.devices({ device_guid: 'phone' })).list[0]!
    await api.call('/user/token/bind', {
      token: null,
      body: { push_token, provider: 2, device_token: token },
    })
    await report([{ taskId, token, event: 'gone' }])
    await until(async () => (await stored()) === 0)
    expect(await bindings()).toBe(1)
    await api.context.db.pool.query(`UPDATE binding SET registered_at = now() - interval '1 hour'`)
    await report([{ taskId, token, event: 'gone' }])
    await until(async () => (await bindings()) === 0)
    const { rows } = await api.context.db.pool.query('SELECT reason FROM retired_token WHERE token = $1', [
      token,
    ])
    expect(rows).toEqual([{ reason: 'gone' }])
  })

  it('retires no token of a device that the push did not go to, nor one of a task in the future', async () => {
    const other = 'huawei-token-of-another-phone'
    await api.client.importDevices([
      { device_guid: 'other', platform: 'android', bindings: [{ provider: 2, device_token: other }] },
    ])
    await api.context.db.pool.query(`UPDATE binding SET registered_at = now() - interval '1 hour'`)
    const foreign = await api.createApplication('of another')
    const { data } = await api.call('/push/notify', {
      appId: foreign.appId,
      token: foreign.token,
      body: { audience: 'all', message: { title: 'x' } },
    })
    const state = async () =>
      (
        await api.context.db.pool.query(
          `SELECT (SELECT count(*)::int FROM binding WHERE token = ANY ($1)) AS bound,
            (SELECT coalesce(sum(gone), 0)::int FROM token_window) AS gone`,
          [[token, other]],
        )
      ).rows[0]
    const before = await state()
    const future = taskId + 2 ** 40
    for (const task of [taskId, data.task_id, future, 0])
      await report([{ taskId: task, token: other, event: 'gone' }])
    await report([{ taskId: future, token, event: 'gone' }])
    await until(async () => (await stored()) === 0)
    expect(await state()).toEqual({ ...before, bound: 2 })
  })

  it('retires nothing en masse', async () => {
    const many = Array.from({ length: 30 }, (_, i) => `mass-token-${i}`)
    await api.client.importDevices(
      many.map((device_token, i) => ({
        device_guid: `mass-${i}`,
        platform: 'android',
        bindings: [{ provider: 2, device_token }],
      })),
    )
    await api.context.db.pool.query(`UPDATE binding SET registered_at = now() - interval '1 hour'`)
    const { task_id } = await api.client.notify({
      audience: 'all',
      setting: { distribution_strategy: 'ospush_only' },
      message: { title: 'x' },
    })
    await report(many.map((device) => ({ taskId: Number(task_id), token: device, event: 'gone' as const })))
    await until(async () => (await stored()) === 0)
    const { rows } = await api.context.db.pool.query(
      `SELECT count(*)::int AS n FROM binding WHERE token LIKE 'mass-token-%'`,
    )
    expect(rows).toEqual([{ n: 30 }])
    expect((await api.client.certificates()).find(({ provider }) => provider === 2)).toMatchObject({
      state: 'suspect',
    })
  })

  it('is refused with the vendor’s own answer when its signature is wrong, and not stored', async () => {
    expect((await report([{ taskId, token, event: 'received' }], 'bad')).status).toBe(401)
    expect(await stored()).toBe(0)
  })

  it('is stored and counted without what Postgres cannot store (U+0000)', async () => {
    const receipts: Receipt[] = [
      { taskId, token: 'a\u0000b', event: 'received' },
      { taskId, token: 'a\u0000b', event: 'gone' },
      { taskId, token, event: 'received' },
    ]
    const answer = await post(`${path}?a=%00&%00=b`, { sign: 'good', receipts })
    expect(answer.status).toBe(200)
    await until(async () => (await received()) === 1)
    await until(async () => (await stored()) === 0)
  })

  it('is 404 at every other address', async () => {
    const [, , channel, app, key] = path.split('/') as [string, string, string, string, string]
    const wrong = [
      `/callback/${channel}/${app}/${'x'.repeat(22)}`,
      `/callback/${channel}/${app}/${key.slice(1)}`,
      `/callback/${channel}/other/${key}`,
      `/callback/honor/${app}/${key}`,
      `/callback/vivo/${app}/${key}`,
      `/callback/meizu/${app}/${key}`,
      `/callback/nativepush/${app}/${key}`,
      `/callback/${channel}/${app}%00/${key}`,
      `/callback/${channel}/${app}/%zz`,
    ]
    for (const address of wrong) {
      const answer = await post(address, { sign: 'good', receipts: [] })
      expect([address, answer.status]).toEqual([address, 404])
      expect(JSON.parse(answer.text).code).toBe(40401)
    }
  })

  it('at such an address is answered before its body is read', async () => {
    const [, , channel, app, key] = path.split('/') as [string, string, string, string, string]
    const unfinished = 'HTTP/1.1\r\nhost: x\r\ncontent-length: 4194304\r\n\r\nx'
    for (const wrong of [
      `${channel}/${app}/${'x'.repeat(22)}`,
      `${channel}/unknown/${key}`,
      `vivo/${app}/${key}`,
      `nothing/${app}/${key}`,
    ])
      expect(await api.socket(`POST /callback/${wrong} ${unfinished}`)).toMatch(/^HTTP\/1\.1 404 /)
  })

  it('is accepted soon at a new address, and soon no longer at a removed one', async () => {
    const certificate = { app_id: '100', app_key: 'key', app_secret: 'secret' }
    const saved = await api.client.putCertificate({ provider: 8, ...certificate })
    const honor = new URL(saved.callback_url!).pathname
    await until(async () => (await post(honor, '{"statuses":[]}')).status !== 404)
    await api.client.removeCertificate(8)
    await until(async () => (await post(honor, '{"statuses":[]}')).status === 404)
  })

  it('may have 4 MiB', async () => {
    const padded = (bytes: number) => JSON.stringify({ sign: 'good', receipts: [], pad: 'x'.repeat(bytes) })
    expect((await post(path, padded(4 * 1024 * 1024 - 100))).status).toBe(200)
    expect((await post(path, padded(4 * 1024 * 1024))).status).toBe(413)
  })

  it('that a process did not finish before it died is applied by another', async () => {
    const body = Buffer.from(
      JSON.stringify({ sign: 'good', receipts: [{ taskId, token, event: 'received' }] }),
    )
    await api.context.db.pool.query(
      `INSERT INTO callback (certificate_id, headers, query, body, lease_until)
       SELECT id, '{}', '{}', $1, now() - interval '1 second' FROM certificate WHERE channel = 'huawei'`,
      [body],
    )
    const found = await Promise.all([api.deps.callbacks.sweep(), api.deps.callbacks.sweep()])
    expect(found.sort()).toEqual([0, 1])
    expect(await received()).toBe(1)
    expect(await stored()).toBe(0)
  })

  it('is left to the sweep while too many are being applied', async () => {
    const tokens = Array.from({ length: 6 }, (_, i) => `busy-token-${i}`)
    await api.client.importDevices(
      tokens.map((device_token, i) => ({
        device_guid: `busy-${i}`,
        platform: 'android',
        bindings: [{ provider: 2, device_token }],
      })),
    )
    const { task_id } = await api.client.notify({
      audience: 'all',
      setting: { distribution_strategy: 'ospush_only' },
      message: { title: 'x' },
    })
    taskId = Number(task_id)
    const { db, certificates, meters, log, receipts } = api.deps
    const counting = Promise.withResolvers<void>()
    let applied = 0
    const handler = createCallbackHandler({
      db,
      certificates,
      meters,
      log,
      async receipts(records) {
        applied++
        await counting.promise
        await receipts(records)
      },
      // The sweep is that of the API.
      isQuiet: () => true,
      // Three callbacks with one receipt.
      maxApplying: 15_000,
    })
    const [, , channel, appId, key] = path.split('/') as [string, string, string, string, string]
    const certificateId = (await handler.find({ channel, appId, key }))!
    const handle = (of: string) => {
      const body = JSON.stringify({ sign: 'good', receipts: [{ taskId, token: of, event: 'received' }] })
      return handler.handle(certificateId, {
        headers: {},
        query: {},
        body: Buffer.from(body),
        now: Date.now(),
      })
    }
    for (const of of tokens) expect(await handle(of)).toMatchObject({ status: 200 })
    await until(async () => {
      await api.deps.callbacks.sweep()
      return applied + (await received())! === 6
    })
    expect(applied).toBe(3)
    counting.resolve()
    await until(async () => (await received()) === 6)
    await until(async () => (await stored()) === 0)
    // There is room again.
    await handle(tokens[0]!)
    await until(() => applied === 4)
    await handler.close()
    expect(await stored()).toBe(0)
  })

  it('is dropped after twenty attempts that failed, not before', async () => {
    const { pool } = api.context.db
    const sweep = () => api.deps.callbacks.sweep().catch(() => {})
    await pool.query(
      `INSERT INTO callback (certificate_id, headers, query, body, attempts)
       SELECT id, '{}', '{}', 'no JSON', 19 FROM certificate WHERE channel = 'huawei'`,
    )
    await sweep()
    // Another attempt is due.
    const { rows } = await pool.query('UPDATE callback SET lease_until = NULL RETURNING attempts')
    expect(rows).toEqual([{ attempts: 20 }])
    await sweep()
    await until(async () => (await stored()) === 0)
  })

  it('is dropped when its certificate was removed', async () => {
    await api.context.db.pool.query(
      `INSERT INTO callback (certificate_id, headers, query, body) VALUES (99999, '{}', '{}', '')`,
    )
    await api.deps.callbacks.sweep()
    expect(await stored()).toBe(0)
  })
})
