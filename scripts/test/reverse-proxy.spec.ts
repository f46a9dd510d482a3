import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApplication, openDatabase, registerDevice } from '@herald/db'
import {
  describeWith,
  freePort,
  type RunningProcess,
  startApp,
  startProcess,
  testDatabase,
  until,
} from '@herald/testkit'
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
  const db = openDatabase(database.url, { max: 1, name: 'spec' })
  const made = await createApplication(db, { name: 'proxied', packageName: 'com.example' })
  if (made === 'taken') throw new Error('taken')
  application = made
  const device = await registerDevice(db, { appId: made.appId, guid: 'one', platform: 'android' })
  if (device === 'owned') throw new Error('owned')
  pushToken = device.pushToken
  await db.close()
  const answers = (port: number, path: string) =>
    until(async () => (await fetch(`http://127.0.0.1:${port}${path}`)).status > 0, {
      seconds: 60,
      what: path,
    })
  await answers(api, '/healthz')
  await answers(gateway, '/')
}, 90_000)
afterAll(async () => {
  for (let close = closings.pop(); close; close = closings.pop()) await close()
  rmSync(folder, { recursive: true, force: true })
}, 60_000)

type Proxy = { port: number; stop(): Promise<unknown>; log?(): string }

/** The real files, with other ports. */
async function startNginx(to = { api, gateway }): Promise<Proxy> {
  const port = await freePort()
  const home = mkdtempSync(join(folder, 'nginx-'))
  const conf = read('deploy/nginx/herald.conf').replace('listen 8080', `listen 127.0.0.1:${port}`)
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
    .replace('/dev/stdout', join(home, 'access.log'))
  writeFileSync(join(home, 'nginx.conf'), main)
  const nginx = startProcess('nginx', [
    ...['-p', home, '-e', 'stderr', '-c', join(home, 'nginx.conf')],
    ...['-g', 'daemon off; master_process off;'],
  ])
  return { ...(await running(port, nginx)), log: () => readFileSync(join(home, 'access.log'), 'utf8') }
}

async function startCaddy(to = { api, gateway }): Promise<Proxy> {
  const port = await freePort()
  const home = mkdtempSync(join(folder, 'caddy-'))
  mkdirSync(join(home, 'data'))
  // Its admin port is the machine's, not the spec's.
  writeFileSync(join(home, 'Caddyfile'), `{\n\tadmin off\n}\n${read('deploy/caddy/Caddyfile')}`)
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
    seconds: 30,
    what: 'the proxy',
  })
  const ended = process.exited.then(() => Promise.reject(new Error('The proxy ended.')))
  await Promise.race([up, ended]).catch(async (error) => {
    await process.stop('SIGKILL')
    throw new Error(`${error.message} It printed: ${process.output()}`)
  })
  return { port, stop: () => process.stop('SIGTERM') }
}

// biome-ignore lint/suspicious/noExplicitAny: specs look into answers freely
type Json = any

async function call(port: number, path: string, body: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { app_id: application.appId, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Json }
}

function suite(start: (to?: { api: number; gateway: number }) => Promise<Proxy>) {
  let proxy: Proxy
  let token: string
  beforeAll(async () => {
    proxy = await start()
  }, 60_000)
  afterAll(() => proxy?.stop())

  it('lets headers with underscores through', async () => {
    const { body } = await call(proxy.port, '/token/admin', { app_secret: application.appSecret })
    expect(body).toMatchObject({ code: 200, message: null })
    token = body.data.token
  })

  it('keeps the request id of the caller', async () => {
    const { headers } = await call(
      proxy.port,
      '/push/task/list',
      {},
      { 'access-token': token, 'x-request-id': 'through-the-proxy' },
    )
    expect(headers.get('x-request-id')).toBe('through-the-proxy')
    if (!proxy.log) return
    const line = await until(() => /^.*through-the-proxy.*$/m.exec(proxy.log!())?.[0])
    expect(JSON.parse(line)).toMatchObject({
      path: '/push/task/list',
      status: 200,
      requestId: 'through-the-proxy',
    })
  })

  it('connects a device at /native and carries a push to it', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${proxy.port}/native`, 'herald.v1')
    const frames: Json[] = []
    socket.on('message', (data) => frames.push(JSON.parse(String(data))))
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    socket.send(JSON.stringify({ op: 'hello', push_token: pushToken }))
    await until(() => frames.some(({ op }) => op === 'welcome'), { seconds: 30, what: 'the welcome' })
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
      seconds: 30,
      what: 'the push',
    })
    socket.send(JSON.stringify({ op: 'ack', task_ids: [task_id] }))
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.close()
    await closed
  })

  it('streams an import that is larger than any other body may be', async () => {
    const line = (i: number) =>
      JSON.stringify({ device_guid: `imported-${i}`, platform: 'android', tags: ['x'.repeat(60)] })
    const lines = Array.from({ length: 12_000 }, (_, i) => line(i % 50)).join('\n')
    expect(lines.length).toBeGreaterThan(1_200_000)
    const { status, body } = await call(proxy.port, '/admin/device/import', lines, {
      'access-token': token,
      'content-type': 'application/x-ndjson',
    })
    expect([status, body.code]).toEqual([200, 200])
  }, 60_000)

  it('leaves the refusal of large bodies to Herald', async () => {
    const { body } = await call(
      proxy.port,
      '/push/notify',
      { audience: 'all', message: { title: 'x'.repeat(1_200_000) } },
      { 'access-token': token },
    )
    expect(body.code).toBe(41301)
  })

  it('does not show metrics', async () => {
    expect((await fetch(`http://127.0.0.1:${proxy.port}/metrics`)).status).toBe(404)
    expect((await fetch(`http://127.0.0.1:${proxy.port}/readyz`)).status).toBe(200)
  })

  it('answers in Herald’s form when Herald is away', async () => {
    const nobody = await start({ api: await freePort(), gateway: await freePort() })
    const { status, headers, body } = await call(nobody.port, '/push/notify', {}).finally(nobody.stop)
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 50301, '2'])
  })
}

describe('behind a proxy', () => {
  describeWith('nginx')('nginx', () => suite(startNginx))
  describeWith('caddy')('Caddy', () => suite(startCaddy))
  it('is told of in the guide with the files that are tested here', () => {
    for (const path of [
      'deploy/nginx/herald.conf',
      'deploy/nginx/upstreams-host.conf',
      'deploy/caddy/Caddyfile',
    ])
      expect(read('docs/reverse-proxy.md')).toContain(path)
    expect(read('docs/reverse-proxy.md')).toContain('underscores_in_headers on')
  })
})
