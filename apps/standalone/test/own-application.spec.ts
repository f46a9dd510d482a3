import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectDevice } from '@herald/client/device'
import { findImbalances } from '@herald/db/readings'
import { cardOf, publicName, vendorChannels } from '@herald/domain'
import type { Demo } from '@herald/settings'
import { loadDemo } from '@herald/simulators'
import { dumpOf, freePort, type RunningProcess, startApp, until } from '@herald/testkit'
import { useDatabase } from '@herald/testkit/use-database'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { WebSocket } from 'ws'
import { demoToken } from '../src/index.ts'

jest.setTimeout(600_000)

// biome-ignore lint/suspicious/noExplicitAny: the specs of the API check the types of responses
type Json = any

let dataDir: string
let herald: RunningProcess
let demo: Required<Demo>
let app: { app_id: string; app_secret: string }
let token: string

// Before the database is dropped, because jest calls these in the order of registration.
afterAll(async () => {
  await herald.stop('SIGTERM')
  rmSync(dataDir, { recursive: true, force: true })
})
const db = useDatabase({ partitions: false })
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'herald-own-'))
  const port = await freePort()
  herald = startApp('apps/standalone/src/main.ts', {
    HERALD_PORT: String(port),
    HERALD_DATA_DIR: dataDir,
    DATABASE_URL: db.url,
    HERALD_MASTER_KEY: '1'.repeat(64),
    HERALD_OPERATOR_KEY: 'operator-key-of-this-spec',
    HERALD_LOG_LEVEL: 'trace',
  })
  const readyz = `http://127.0.0.1:${port}/readyz`
  await until(async () => (await fetch(readyz)).status === 200, { what: readyz })
  demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
})

async function call(method: string, path: string, body?: unknown, headers: object = {}): Promise<Json> {
  const response = await fetch(demo.base_url + path, {
    method,
    headers: {
      ...(app && { app_id: app.app_id }),
      ...(token && { 'access-token': token }),
      'content-type': 'application/json',
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const { code, data, message } = (await response.json()) as Json
  if (code !== 200) throw new Error(`${method} ${path}: ${code} ${message}`)
  return data
}
const post = (path: string, body: unknown) => call('POST', path, body)
const put = (path: string, body: unknown) => call('PUT', path, body)

const notify = async (title: string, audience: unknown) =>
  (await post('/push/notify', { audience, message: { title, body: 'Hello' } })).task_id as number
const taskOf = async (task: number) =>
  (await post('/push/task/list', { before: task + 1, limit: 1 })).list[0] as Json
const finished = (task: number) =>
  until(async () => ((await taskOf(task)).state === 'finished' ? taskOf(task) : undefined), {
    what: `task ${task} to finish`,
  })

const alias = 'usr_zoe_91'
const guids = vendorChannels.map((channel) => `zoe-${channel}`)

describe('an application of a newcomer, without a user of Herald', () => {
  it('is created and gets its settings', async () => {
    app = await call(
      'POST',
      '/admin/app',
      { name: 'Newcomer', package_name: 'com.newcomer' },
      { authorization: 'Bearer operator-key-of-this-spec' },
    )
    token = (await post('/token/admin', { app_secret: app.app_secret })).token
    const settings = await put('/admin/app/settings', { default_strategy: 'combined', default_ttl: 3600 })
    expect(settings).toMatchObject({ default_strategy: 'combined', default_ttl: 3600, register: false })
  })

  it('saves credentials of its own for every vendor, which the simulators accept', async () => {
    for (const channel of vendorChannels) {
      const vendor = await loadDemo(channel)
      const { appId, appKey, appSecret, certificate, extra } = vendor.certificate(
        await vendor.makeCredentials(),
      )
      const { provider } = cardOf(channel)
      await put('/admin/push/certificate', {
        provider,
        app_id: appId,
        app_key: appKey,
        app_secret: appSecret,
        certificate,
        extra: {
          default_class: 'service',
          ...(extra.package_name !== undefined && { package_name: extra.package_name }),
        },
      })
      const checked = await post('/admin/push/certificate/check', { provider })
      expect({ channel, ...checked }).toEqual({
        channel,
        ok: true,
        problem: null,
        code: null,
        temporary: false,
        simulator: true,
        warnings: [],
      })
    }
  })

  it('registers the devices of a person and pushes to them by alias', async () => {
    for (const [i, channel] of vendorChannels.entries()) {
      const made = await put('/admin/device', {
        device_guid: guids[i],
        platform: cardOf(channel).solePlatform ?? 'android',
        alias,
        bindings: [{ provider: publicName(channel), device_token: demoToken(channel, guids[i]!) }],
        attributes: { plan: 'gold-of-zoe' },
        locale: 'de-DE',
        timezone: 'Europe/Berlin',
      })
      expect(made).toEqual({ push_token: expect.any(String), created: true })
    }
    const tagged = await post('/admin/tag/member', { tag: 'newcomers', add: [{ alias }] })
    expect(tagged).toMatchObject({ added: vendorChannels.length })
    for (const audience of [{ alias: [alias] }, { tag: ['newcomers'] }]) {
      const task = await notify('For Zoe', audience)
      expect(await finished(task)).toMatchObject({
        target: vendorChannels.length,
        sent: vendorChannels.length,
      })
      const [counters] = await post('/push/task/detail', { list: [task] })
      for (const channel of vendorChannels) expect(counters[`${publicName(channel)}_sent`]).toBe(1)
    }
  })

  it('receives on the native channel, and a push to a device whose app is away goes to its vendor', async () => {
    const shown: number[] = []
    const { push_token } = await put('/admin/device', { device_guid: guids[0] })
    const device = connectDevice({
      url: `${demo.base_url.replace('http', 'ws')}/native`,
      pushToken: push_token,
      WebSocket: WebSocket as never,
      onMessage: ({ taskId }) => shown.push(taskId),
    })
    try {
      await until(() => device.state() === 'online', { what: 'the connection' })
      const first = await notify('Online', { push_token: [push_token] })
      await until(() => shown.includes(first), { what: 'the push' })
      device.away()
      await until(async () => (await db.pool.query('SELECT 1 FROM presence WHERE away')).rowCount === 1, {
        what: 'away',
      })
      const second = await notify('In the background', { push_token: [push_token] })
      await finished(second)
      const [counters] = await post('/push/task/detail', { list: [second] })
      expect(counters[`${publicName(vendorChannels[0]!)}_sent`]).toBe(1)
      expect(shown).toEqual([first])
      device.here()
      await until(() => shown.includes(second), { what: 'the copy' })
    } finally {
      device.close()
    }
  })

  it('logs a device out by clearing its alias', async () => {
    await put('/admin/device', { device_guid: guids[1], alias: null })
    const task = await notify('After logout', { alias: [alias] })
    expect(await finished(task)).toMatchObject({ target: vendorChannels.length - 1 })
    await put('/admin/device', { device_guid: guids[1], alias })
  })

  it('is refused by a simulator that is told to refuse', async () => {
    const fault = (refuseAuth: boolean) =>
      fetch(`${demo.simulators.xiaomi}/_sim/faults`, { method: 'POST', body: JSON.stringify({ refuseAuth }) })
    await fault(true)
    const provider = cardOf('xiaomi').provider
    expect(await post('/admin/push/certificate/check', { provider })).toMatchObject({ ok: false })
    await fault(false)
    expect(await post('/admin/push/certificate/check', { provider })).toMatchObject({ ok: true })
  })

  it('erases the person; nothing is left in the tables, the queue and the log', async () => {
    const before = await dumpOf(db)
    const tokens = vendorChannels.map((channel, i) => demoToken(channel, guids[i]!))
    for (const value of [alias, guids[0]!, tokens[0]!, 'gold-of-zoe', 'For Zoe'])
      expect(before).toContain(value)
    const { list } = await post('/admin/device/list', { alias, limit: 100 })
    const pushTokens = list.map((device: Json) => device.push_token as string)
    expect(pushTokens).toHaveLength(vendorChannels.length)

    expect(await post('/admin/erase', { alias })).toEqual({ devices: vendorChannels.length })

    const after = await dumpOf(db)
    const output = herald.output()
    expect(output.length).toBeGreaterThan(1000)
    for (const value of [alias, ...guids, ...tokens, ...pushTokens, 'gold-of-zoe']) {
      expect(after).not.toContain(value)
      expect(output).not.toContain(value)
    }
    // A push to a tag names nobody.
    expect(after).toContain('For Zoe')
    expect(await findImbalances(db)).toEqual([])
    expect(await post('/admin/erase', { alias })).toEqual({ devices: 0 })
    const task = await notify('To nobody', { alias: [alias] })
    expect(await finished(task)).toMatchObject({ target: 0 })
    const again = await put('/admin/device', { device_guid: guids[0], alias })
    expect(again).toMatchObject({ created: true })
    expect(pushTokens).not.toContain(again.push_token)
  })
})
