import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { get as getPlain } from 'node:http'
import { get as getSecurely } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { sleep } from '@herald/async'
import { cardOf, publicName, vendorChannels } from '@herald/domain'
import { processStart, stopLeftBehind } from '@herald/embedded'
import type { Demo } from '@herald/settings'
import { metricNames } from '@herald/telemetry'
import { freePort, type RunningProcess, startApp, until } from '@herald/testkit'
import { fillDataDirectory } from '@herald/testkit/data-directory'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { demoDevices } from '../src/demo/devices.ts'

jest.setTimeout(600_000)

const vendors = vendorChannels.map(publicName)
const withReceipts = vendorChannels.filter((name) => cardOf(name).reportsReceipts).map(publicName)
const deviceCount = demoDevices(1n, vendorChannels).length

type Counters = Record<string, number>
type Device = {
  device_guid: string
  badge: number
  push_token: string
  bindings: { channel: string; device_token: string }[]
}

let dataDir: string
let port: number
let herald: RunningProcess
let demo: Required<Demo>

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'herald-demo-'))
  // The last test begins with an empty directory.
  await fillDataDirectory(dataDir)
  port = await freePort()
  await start()
})
afterAll(async () => {
  await herald.stop('SIGTERM')
  await stopLeftBehind(join(dataDir, 'postgres'))
  rmSync(dataDir, { recursive: true, force: true })
})

const launch = () =>
  startApp('apps/standalone/src/main.ts', { HERALD_PORT: String(port), HERALD_DATA_DIR: dataDir })

async function start(): Promise<void> {
  herald = launch()
  // Once ready, the file exists and is complete.
  await untilReady()
  demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
}

async function untilReady(): Promise<void> {
  const readyz = `http://127.0.0.1:${port}/readyz`
  await until(async () => (await fetch(readyz)).status === 200, { what: readyz })
}

const postgresPid = () =>
  Number.parseInt(readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8'), 10)

/** Untyped: the specs of the API check the types of responses. */
type Json = ReturnType<JSON['parse']>

async function call(path: string, body?: unknown): Promise<Json> {
  const response = await fetch(demo.base_url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      app_id: demo.app_id,
      'access-token': demo.admin_token,
      'content-type': 'application/json',
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const { code, data, message } = (await response.json()) as Json
  if (code !== 200) throw new Error(`${path}: ${code} ${message}`)
  return data
}

async function notify(audience: unknown, setting: object = {}): Promise<number> {
  const message = { title: 'Hello', body: 'A push to every demo device' }
  return (await call('/push/notify', { audience, setting, message })).task_id
}

const detail = async (...ids: number[]): Promise<Counters[]> => call('/push/task/detail', { list: ids })
const listDevices = async (): Promise<Device[]> => (await call('/admin/device/list', { limit: 100 })).list

/** Waits until all vendor targets are sent, and received where the vendor sends receipts. */
async function settled(...ids: number[]): Promise<Counters[]> {
  const done = (counters: Counters) =>
    vendors.every((name) => counters[`${name}_sent`] === counters[`${name}_target`]) &&
    withReceipts.every((name) => counters[`${name}_received`] === counters[`${name}_target`])
  let last: Counters[] = []
  await until(
    async () => {
      last = await detail(...ids)
      return last.length === ids.length && last.every(done)
    },
    { what: 'everything to be sent and received' },
  ).catch((error) => {
    throw new Error(`${error.message} ${JSON.stringify(last.find((counters) => !done(counters)))}`)
  })
  return last
}

async function ledger(name: string, taskId: number): Promise<unknown> {
  const url = `${demo.simulators[name]}/_sim/ledger?task_id=${taskId}`
  return new Promise((resolve, reject) => {
    const request = url.startsWith('https') ? getSecurely(url, { rejectUnauthorized: false }) : getPlain(url)
    request.on('error', reject).on('response', async (response) => resolve(JSON.parse(await text(response))))
  })
}

describe('the demo of the standalone', () => {
  it.each([
    ['ospush_only', 0],
    ['combined', 1],
  ])(
    'reaches every vendor under %s, and the counters agree with the vendors’ ledgers',
    async (strategy, native) => {
      const taskId = await notify('all', { distribution_strategy: strategy })
      const [counters] = await settled(taskId)
      for (const name of vendors) {
        const sent = counters![`${name}_sent`]!
        expect(sent).toBeGreaterThanOrEqual(1)
        expect(await ledger(name, taskId)).toEqual({ accepted: sent, distinct: sent, duplicates: 0 })
      }
      // No device is connected, so the one without a vendor has the message in its inbox.
      expect(counters).toMatchObject({
        nativepush_target: native,
        nativepush_sent: 0,
        nativepush_received: 0,
      })
      expect(vendors.reduce((sum, name) => sum + counters![`${name}_target`]!, native)).toBe(
        deviceCount - 1 + native,
      )
    },
  )

  it('counts receipts from apps for vendors without receipts', async () => {
    const taskId = await notify('all')
    await settled(taskId)
    const silent = (await listDevices()).filter(
      ({ bindings }) =>
        bindings.length > 0 && bindings.every(({ channel }) => !withReceipts.includes(channel)),
    )
    expect(silent).not.toEqual([])
    for (const { push_token } of silent)
      await call('/push/receipt', { push_token, list: [{ task_id: taskId, event: 'received' }] })
    await until(async () => {
      const [counters] = await detail(taskId)
      return counters!.apns_received === 2 && counters!.fcm_received === 1
    })
  })

  it('shows all metrics of its pushes at /metrics', async () => {
    const scrape = async () => (await fetch(`${demo.base_url}/metrics`)).text()
    const samples = (text: string, series: string, labels = '') =>
      text
        .split('\n')
        .filter((line) => line.startsWith(`${series}{`) && line.includes(labels))
        .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    // Depth, age and certificates are read at intervals.
    let text = ''
    await until(async () => {
      text = await scrape()
      return (
        text.includes('herald_queue_age_seconds{channel="apns"') &&
        samples(text, 'herald_certificates') > 0 &&
        // 0 for 15 seconds after a check that took longer than two on a busy machine.
        samples(text, 'herald_dependency_up') === 2
      )
    })
    for (const name of metricNames) expect(text).toMatch(new RegExp(`^# TYPE ${name} `, 'm'))
    for (const channel of vendors) {
      const label = `channel="${channel}"`
      expect(samples(text, 'herald_recipients_planned_total', label)).toBeGreaterThan(0)
      expect(samples(text, 'herald_recipients_total', label)).toBeGreaterThan(0)
      expect(samples(text, 'herald_received_total', label)).toBeGreaterThan(0)
      expect(samples(text, 'herald_outcomes_total', label)).toBeGreaterThan(0)
      expect(samples(text, 'herald_notify_to_vendor_seconds_count', label)).toBeGreaterThan(0)
      expect(samples(text, 'herald_vendor_call_seconds_count', label)).toBeGreaterThan(0)
      expect(samples(text, 'herald_job_seconds_count', label)).toBeGreaterThan(0)
      expect(samples(text, 'herald_certificates', label)).toBeGreaterThan(0)
    }
    for (const channel of withReceipts)
      expect(samples(text, 'herald_callbacks_total', `channel="${channel}",result="read"`)).toBeGreaterThan(0)
    expect(samples(text, 'herald_tasks_accepted_total', 'kind="fresh"')).toBeGreaterThan(0)
    expect(samples(text, 'herald_http_seconds_count', 'path="/push/notify"')).toBeGreaterThan(0)
    expect(samples(text, 'herald_database_bytes')).toBeGreaterThan(0)
    for (const name of ['herald_leases_lost_total', 'herald_jobs_failed_total'])
      expect([name, samples(text, name)]).toEqual([name, 0])
    // No application is a label.
    expect(text).not.toContain(demo.app_id)
  })

  it('has devices for every kind of audience', async () => {
    const [iphone] = (await listDevices()).filter(({ device_guid }) => device_guid === 'demo-iphone')
    const tasks = await Promise.all([
      notify({ tag: ['vip'] }),
      notify({ alias: ['alice'] }),
      notify({ user_id: [demo.user.user_id] }),
      notify({ push_token: [iphone!.push_token] }),
    ])
    const counters = await settled(...tasks)
    expect(
      counters.map((one) => [one.apns_sent, one.fcm_sent, one.huawei_sent, one.nativepush_target]),
    ).toEqual([
      [1, 0, 1, 0],
      [1, 1, 0, 0],
      [1, 1, 0, 1],
      [1, 0, 0, 0],
    ])
  })

  it('adds to the badge of an iPhone', async () => {
    const iphone = async () => (await listDevices()).find(({ device_guid }) => device_guid === 'demo-iphone')!
    const { push_token } = await iphone()
    await call('/user/push/badge', { push_token, badge: 5 })
    await settled(await notify({ push_token: [push_token] }))
    expect((await iphone()).badge).toBe(6)
  })

  it('has a user who can log in on a device', async () => {
    const { username: name, password, user_id } = demo.user
    const record = await call('/token/user', { name, password, device_guid: 'demo-native' })
    expect(record).toMatchObject({ user_id, push_token: expect.any(String) })
  })

  it('accepts fifty pushes in a row', async () => {
    const tasks: number[] = []
    for (let count = 0; count < 50; count++)
      tasks.push(await notify('all', { distribution_strategy: 'ospush_only' }))
    await settled(...tasks)
    expect(await call('/push/task/failures', { task_id: tasks.at(-1) })).toEqual([])
  })

  it('shows how a device falls back, and is complete again after a restart', async () => {
    const several = async () =>
      (await listDevices()).find(({ device_guid }) => device_guid === 'demo-several')!
    const explain = async () =>
      (
        await call('/push/explain', {
          push_token: (await several()).push_token,
          audience: 'all',
          message: { title: 'Hello', body: 'World' },
        })
      ).channel
    const first = await explain()
    const dead = (await several()).bindings.find(({ channel }) => channel === first)!
    await fetch(`${demo.simulators[first]}/_sim/dead`, {
      method: 'POST',
      body: JSON.stringify({ tokens: [dead.device_token] }),
    })
    const taskId = await notify({ push_token: [(await several()).push_token] })
    await until(async () => {
      const [counters] = await detail(taskId)
      return vendors.some((name) => name !== first && counters![`${name}_sent`] === 1)
    })
    expect((await several()).bindings.map(({ channel }) => channel)).not.toContain(first)

    const before = demo
    expect(await herald.stop('SIGTERM')).toEqual({ code: 0, signal: null })
    await start()
    const { app_id, app_secret, operator_key, user } = before
    expect(demo).toMatchObject({ app_id, app_secret, operator_key, user })
    expect((await several()).bindings.map(({ channel }) => channel).sort()).toEqual([
      'fcm',
      'huawei',
      'xiaomi',
    ])
    expect(await listDevices()).toHaveLength(deviceCount)
    // The simulators have new ports and do not know the access tokens that they issued before.
    const [counters] = await settled(await notify('all'))
    expect(counters!.nativepush_target).toBe(1)
  })

  it('loses nothing to kill -9, of itself and of Postgres', async () => {
    const { app_id, app_secret } = demo
    const taskId = await notify('all', { distribution_strategy: 'ospush_only' })
    await herald.stop('SIGKILL')
    expect(existsSync(join(dataDir, 'demo.json'))).toBe(true)
    const orphan = postgresPid()
    expect(processStart(orphan)).toBeDefined()
    await start()
    expect(processStart(orphan)).toBeUndefined()
    expect(demo).toMatchObject({ app_id, app_secret })
    await until(
      async () => {
        const [counters] = await detail(taskId)
        return vendors.every((name) => counters![`${name}_sent`] === counters![`${name}_target`])
      },
      { what: 'accepted devices to be sent' },
    )

    process.kill(postgresPid(), 'SIGKILL')
    await herald.prints(/Postgres has been restarted/)
    await untilReady()
    await settled(await notify('all'))
  })

  it('is created once, even if its creation is killed several times', async () => {
    await herald.stop('SIGTERM')
    await stopLeftBehind(join(dataDir, 'postgres'))
    rmSync(dataDir, { recursive: true })
    for (const [sign, delay] of [
      [/starting Postgres/, 0],
      [/creating the database/, 0],
      [/applying/, 300],
      [/starting Postgres/, 1200],
    ] as const) {
      herald = launch()
      await until(() => sign.test(herald.output()) || (delay > 0 && /is ready/.test(herald.output())))
      await sleep(delay)
      await herald.stop('SIGKILL')
    }
    await start()
    expect(await listDevices()).toHaveLength(deviceCount)
    expect(await call('/admin/push/certificate/list')).toHaveLength(vendors.length)
    expect((await call('/admin/user/list', {})).list).toHaveLength(1)
    const response = await fetch(`${demo.base_url}/admin/app/list`, {
      headers: { authorization: `Bearer ${demo.operator_key}` },
    })
    expect(((await response.json()) as Json).data).toHaveLength(1)
    await settled(await notify('all'))
  })
})
