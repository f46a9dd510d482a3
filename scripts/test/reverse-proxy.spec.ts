import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { claimDevice, openPushTokens } from '@herald/db/devices'
import { createSealer, openDatabase } from '@herald/db/store'
import { createApplication } from '@herald/db/tenants'
import { describeWith, freePort, type RunningProcess, startApp, startProcess, until } from '@herald/testkit'
import { testDatabase } from '@herald/testkit/database'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WebSocket } from 'ws'
import { read } from './deployed-programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'herald-proxy-'))
const closings: (() => Promise<unknown>)[] = []
let api: number
let gateway: number
let application: { appId: string; appSecret: string }
let pushToken: string

beforeAll(async () => {
  const database = await testDatabase()
  closings.push(database.drop)
  api = await freePort()
  gateway = await freePort()
  const env = {
    DATABASE_URL: database.url,
    HERALD_MASTER_KEY: '0'.repeat(64),
    HERALD_OPERATOR_KEY: 'operator-key-of-the-specs',
    HERALD_PORT: String(api),
    HERALD_GATEWAY_PORT: String(gateway),
    HERALD_METRICS_PORT: '0',
    HERALD_LOG_LEVEL: 'error',
    HERALD_TRUSTED_PROXIES: '1',
  }
  const programs = ['api', 'worker-native'].map((name) => startApp(`apps/${name}/src/main.ts`, env))
  closings.push(() => Promise.all(programs.map((program) => program.stop('SIGKILL'))))
  const db = openDatabase(database.url, { max: 1, name: 'spec', waitMs: 60_000 })
  const made = await createApplication(db, { name: 'proxied', packageName: 'com.example' })
  if (made === 'taken') throw new Error('taken')
  application = made
  const tokens = await openPushTokens(db, createSealer(Buffer.alloc(32)))
  await db.pool.query(`INSERT INTO app_user (id, app_id, username) VALUES (1, $1, 'one')`, [made.appId])
  const device = await claimDevice(db, tokens, { appId: made.appId, guid: 'one', userId: 1n })
  pushToken = device.pushToken
  await db.close()
  const answers = (port: number, path: string) =>
    until(async () => (await fetch(`http://127.0.0.1:${port}${path}`)).status > 0, {
      what: path,
    })
  await answers(api, '/healthz')
  await answers(gateway, '/')
})
afterAll(async () => {
  for (let close = closings.pop(); close; close = closings.pop()) await close()
  rmSync(folder, { recursive: true, force: true })
})

type Proxy = { port: number; stop(): Promise<unknown>; accessLog?(): string; output(): string }

/** Uses the deployed files with other ports. */
async function startNginx(to = { api, gateway }): Promise<Proxy> {
  const port = await freePort()
  const home = mkdtempSync(join(folder, 'nginx-'))
  const accessLog = join(home, 'access.log')
  const conf = read('deploy/nginx/herald.conf')
    .replace('listen 8080', `listen 127.0.0.1:${port}`)
    .replace('/var/log/nginx/access.log', accessLog)
  const upstreams = read('deploy/nginx/upstreams-host.conf')
    .replace('127.0.0.1:7100', `127.0.0.1:${to.api}`)
    .replace('127.0.0.1:7105', `127.0.0.1:${to.gateway}`)
  mkdirSync(join(home, 'conf.d'))
  writeFileSync(join(home, 'conf.d/herald.conf'), conf)
  writeFileSync(join(home, 'conf.d/upstreams.conf'), upstreams)
  const main = read('deploy/nginx/nginx.conf')
    .replaceAll('/tmp/', `${home}/`)
    .replace('/etc/nginx/conf.d/*.conf', `${home}/conf.d/*.conf`)
    .replace('worker_rlimit_nofile 200000;', '')
    .replace('worker_connections 65536', 'worker_connections 512')
  writeFileSync(join(home, 'nginx.conf'), main)
  const nginx = startProcess('nginx', [
    ...['-p', home, '-e', 'stderr', '-c', join(home, 'nginx.conf')],
    ...['-g', 'daemon off; master_process off;'],
  ])
  return { ...(await running(port, nginx)), accessLog: () => readFileSync(accessLog, 'utf8') }
}

async function startCaddy(to = { api, gateway }): Promise<Proxy> {
  const port = await freePort()
  const home = mkdtempSync(join(folder, 'caddy-'))
  mkdirSync(join(home, 'data'))
  // The default admin port may be in use on this machine. The access log is enabled to see what it would contain.
  const conf = read('deploy/caddy/Caddyfile')
    .replace(/^\{$/m, '{\n\tadmin off')
    .replace(/^\{\$HERALD_SITE.*$/m, '$&\n\tlog')
  writeFileSync(join(home, 'Caddyfile'), conf)
  const caddy = startProcess(
    'caddy',
    ['run', '--config', join(home, 'Caddyfile'), '--adapter', 'caddyfile'],
    {
      env: {
        HOME: home,
        XDG_DATA_HOME: join(home, 'data'),
        HERALD_SITE: `http://127.0.0.1:${port}`,
        HERALD_API: `127.0.0.1:${to.api}`,
        HERALD_NATIVE: `127.0.0.1:${to.gateway}`,
      },
    },
  )
  return running(port, caddy)
}

async function running(port: number, process: RunningProcess): Promise<Proxy> {
  const up = until(async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).status === 404, {
    what: 'the proxy',
  })
  const ended = process.exited.then(() => Promise.reject(new Error('The proxy ended.')))
  await Promise.race([up, ended]).catch(async (error) => {
    await process.stop('SIGKILL')
    throw new Error(`${error.message} It printed: ${process.output()}`)
  })
  return { port, stop: () => process.stop('SIGTERM'), output: process.output }
}

// biome-ignore lint/suspicious/noExplicitAny: responses are untyped here
type Json = any

async function call(port: number, path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { app_id: application.appId, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, body: (await response.json()) as Json }
}

function suite(start: (to?: { api: number; gateway: number }) => Promise<Proxy>) {
  let proxy: Proxy
  let token: string
  beforeAll(async () => {
    proxy = await start()
  })
  afterAll(() => proxy?.stop())

  it('passes headers with underscores', async () => {
    const { body } = await call(proxy.port, '/token/admin', { app_secret: application.appSecret })
    expect(body).toMatchObject({ code: 200, message: null })
    token = body.data.token
  })

  it('passes the headers that need no underscores', async () => {
    const headers = { app_id: '', 'x-app-id': application.appId, authorization: `Bearer ${token}` }
    expect((await call(proxy.port, '/push/task/list', {}, headers)).body).toMatchObject({ code: 200 })
  })

  it('keeps the request id of the caller', async () => {
    const { headers } = await call(
      proxy.port,
      '/push/task/list',
      {},
      { 'access-token': token, 'x-request-id': 'through-the-proxy' },
    )
    expect(headers.get('x-request-id')).toBe('through-the-proxy')
    if (!proxy.accessLog) return
    const line = await until(() => /^.*through-the-proxy.*$/m.exec(proxy.accessLog!())?.[0])
    expect(JSON.parse(line)).toMatchObject({
      path: '/push/task/list',
      status: 200,
      requestId: 'through-the-proxy',
    })
  })

  it('connects a device at /native and delivers a push', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${proxy.port}/native`, 'herald.v1')
    const frames: Json[] = []
    socket.on('message', (data) => frames.push(JSON.parse(String(data))))
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    socket.send(JSON.stringify({ op: 'hello', push_token: pushToken }))
    await until(() => frames.some(({ op }) => op === 'welcome'), { what: 'the welcome' })
    const { body } = await call(
      proxy.port,
      '/push/notify',
      {
        audience: { push_token: [pushToken] },
        setting: { distribution_strategy: 'nativepush_only' },
        message: { title: 'Hello' },
      },
      { 'access-token': token },
    )
    expect(body.code).toBe(200)
    const { task_id } = body.data
    await until(() => frames.some((frame) => frame.op === 'push' && frame.task_id === task_id), {
      what: 'the push',
    })
    socket.send(JSON.stringify({ op: 'ack', task_ids: [task_id] }))
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.close()
    await closed
  })

  it('streams an import larger than the limit for other bodies', async () => {
    const line = (i: number) =>
      JSON.stringify({ device_guid: `imported-${i}`, platform: 'android', tags: ['x'.repeat(60)] })
    const lines = Array.from({ length: 12_000 }, (_, i) => line(i % 50)).join('\n')
    expect(lines.length).toBeGreaterThan(1_200_000)
    const { status, body } = await call(proxy.port, '/admin/device/import', lines, {
      'access-token': token,
      'content-type': 'application/x-ndjson',
    })
    expect([status, body.code]).toEqual([200, 200])
  })

  it('leaves the refusal of large bodies to Herald', async () => {
    const { body } = await call(
      proxy.port,
      '/push/notify',
      { audience: 'all', message: { title: 'x'.repeat(1_200_000) } },
      { 'access-token': token },
    )
    expect(body.code).toBe(41301)
  })

  it('does not expose metrics', async () => {
    expect((await fetch(`http://127.0.0.1:${proxy.port}/metrics`)).status).toBe(404)
    expect((await fetch(`http://127.0.0.1:${proxy.port}/readyz`)).status).toBe(200)
  })

  it('responds in Herald’s format when Herald is down, and never logs a callback key', async () => {
    const callback = `/callback/xiaomi/${application.appId}/`
    expect((await call(proxy.port, `${callback}key-of-a-certificate`, {})).body.code).toBe(40401)
    const down = await start({ api: await freePort(), gateway: await freePort() })
    for (const path of ['/push/notify', `${callback}key-of-a-certificate?key-of-a-certificate`]) {
      const { status, headers, body } = await call(down.port, path, {})
      expect([status, body.code, headers.get('retry-after')]).toEqual([502, 50201, '2'])
    }
    await down.stop()
    const written = [proxy, down].map((one) => one.output() + (one.accessLog?.() ?? '')).join('\n')
    expect(written).toContain(callback)
    expect(written).not.toContain('key-of-a-certificate')
  })

  it('says that a call may have been carried out whose response was lost', async () => {
    const received: string[] = []
    const silent = createServer((request) => {
      received.push(`${request.method} ${request.url}`)
      request.resume().once('end', () => request.socket.destroy())
    }).listen(0, '127.0.0.1')
    closings.push(async () => silent.close())
    await once(silent, 'listening')
    const lossy = await start({ api: (silent.address() as AddressInfo).port, gateway })
    try {
      const { status, headers, body } = await call(lossy.port, '/push/notify', {})
      expect([status, body.code, headers.get('retry-after')]).toEqual([502, 50201, '2'])
      expect(body.message).toContain('may have been carried out')
      expect(received).toEqual(['POST /push/notify'])
    } finally {
      await lossy.stop()
    }
  })
}

describe('behind a proxy', () => {
  describeWith('nginx')('nginx', () => suite(startNginx))
  describeWith('caddy')('Caddy', () => suite(startCaddy))
  it('the guide refers to the tested files', () => {
    for (const path of [
      'deploy/nginx/herald.conf',
      'deploy/nginx/upstreams-host.conf',
      'deploy/caddy/Caddyfile',
    ])
      expect(read('docs/reverse-proxy.md')).toContain(path)
    expect(read('docs/reverse-proxy.md')).toContain('underscores_in_headers on')
  })
  it('the table of codes has the code of a lost response', () => {
    for (const path of ['deploy/nginx/herald.conf', 'deploy/caddy/Caddyfile'])
      expect(read(path).match(/"code":\d+/g)).toEqual(['"code":50201'])
    expect(read('docs/api-reference.md')).toContain('| `50201` |')
  })
})
