import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, openDatabase } from '@herald/db/store'
import { findRunning } from '@herald/embedded'
import type { Demo } from '@herald/settings'
import { freePort, type RunningProcess, startApp, until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'

jest.setTimeout(600_000)

/** Files for secrets; only their owner may read them. */
const secretFiles = ['secrets.json', 'demo-credentials.json', 'demo.json']
/** Tables for vendor tokens; no table contains a push token. */
const tokenTables = ['public.binding', 'public.retired_token']

let dataDir: string
let db: Database
let herald: RunningProcess
let demo: Required<Demo>
/** All responses that must not contain secrets. */
const responses: string[] = []
const secrets = new Map<string, string>()
const tokens = new Map<string, string>()

const WRONG = 'WRONG-SECRET-5f1c0a9d77'
const BOUND = 'BOUNDphone93ab12cd:APA91bBOUND-DEVICE-TOKEN-93ab12cd'
const guessed = 'GUESSED-PASSWORD-41d2'
const fresh = 'FRESH-PASSWORD-8a77e1'

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'herald-secrets-'))
  const port = await freePort()
  herald = startApp('apps/standalone/src/main.ts', {
    HERALD_PORT: String(port),
    HERALD_DATA_DIR: dataDir,
    HERALD_LOG_LEVEL: 'trace',
  })
  const readyz = `http://127.0.0.1:${port}/readyz`
  await until(async () => (await fetch(readyz)).status === 200, { what: readyz })
  demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
  db = openDatabase(findRunning(join(dataDir, 'postgres'))!)
})
afterAll(async () => {
  await db.close()
  await herald.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

type Json = ReturnType<JSON['parse']>
async function call(
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
  method?: string,
): Promise<Json> {
  const response = await fetch(demo.base_url + path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      app_id: demo.app_id,
      'access-token': demo.admin_token,
      'content-type': 'application/json',
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await response.text()
  if (response.status >= 400) responses.push(text)
  return JSON.parse(text)
}

/** Strings of a JSON file that are long enough to be a secret, by their path. */
function collect(value: unknown, path: string, into: Map<string, string>): void {
  if (typeof value === 'string') {
    if (value.length >= 12) into.set(path, value)
  } else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) collect(item, `${path}.${key}`, into)
}

/** Fields that are no secrets. */
const open =
  /(app_id|appId|appKey|clientId|keyId|teamId|projectId|callbackId|callbackUser|subAccount|username|base_url|simulators)/

async function fullFlow(): Promise<void> {
  const json = (name: string) => JSON.parse(readFileSync(join(dataDir, name), 'utf8'))
  for (const name of secretFiles) collect(json(name), name, secrets)
  for (const path of secrets.keys()) if (open.test(path)) secrets.delete(path)
  secrets.set('wrong secret', WRONG).set('guessed password', guessed).set('fresh password', fresh)
  const { list } = (await call('/admin/device/list', { limit: 100 })).data
  for (const device of list as Json[]) {
    tokens.set(`push token of ${device.device_guid}`, device.push_token)
    for (const { channel, device_token } of device.bindings)
      tokens.set(`${channel} token of ${device.device_guid}`, device_token)
  }
  tokens.set('bound token', BOUND)

  const nobody = { 'access-token': '' }
  const login = await call(
    '/token/user',
    { name: demo.user.username, password: demo.user.password, device_guid: 'secret-phone' },
    nobody,
  )
  for (const field of ['token', 'store_token', 'access_key_secret'])
    secrets.set(`login ${field}`, login.data[field])
  tokens.set('push token of the login', login.data.push_token)
  await call('/token/user', { name: demo.user.username, password: guessed }, nobody)
  await call('/token/admin', { app_secret: WRONG }, nobody)
  await call('/admin/user', { username: 'fresh', password: fresh })
  await call('/user/token/bind', { push_token: login.data.push_token, provider: 7, device_token: BOUND })
  await call('/user/token/bind', { push_token: login.data.push_token, provider: 1, device_token: BOUND })
  await call(
    '/push/receipt',
    { push_token: login.data.push_token, list: [{ task_id: 1, event: 'received' }] },
    nobody,
  )
  await call('/push/task/list', {}, { 'access-token': `${demo.admin_token}x` })
  await call('/admin/app/list', undefined, { authorization: `Bearer ${WRONG}` })

  // Credentials of the wrong form, and of the right form that the vendor refuses.
  for (const provider of [1, 2, 3, 4, 5, 6, 7, 8])
    await call(
      '/admin/push/certificate',
      { provider, environment: 0, app_id: WRONG, app_secret: WRONG, certificate: WRONG },
      {},
      'PUT',
    )
  await call(
    '/admin/push/certificate',
    { provider: 2, environment: 0, app_id: '100', app_secret: WRONG },
    {},
    'PUT',
  )
  await call('/admin/push/certificate/check', { provider: 2, environment: 0 })
  responses.push(JSON.stringify(await call('/admin/push/certificate/list')))
  responses.push(
    JSON.stringify(
      await call('/push/certificate?provider=2', undefined, { user_id: String(demo.user.user_id) }),
    ),
  )

  for (const strategy of ['combined', 'ospush_only']) {
    const { data } = await call('/push/notify', {
      audience: 'all',
      setting: { distribution_strategy: strategy },
      message: { title: 'Secret run', body: strategy },
    })
    await until(
      async () => {
        const task = (await call('/push/task/list', { limit: 5 })).data.list.find(
          (one: Json) => one.task_id === data.task_id,
        )
        const { rows } = await db.pool.query(
          `SELECT sum(target) AS target, sum(sent + failed + moved + expired) AS done FROM counter WHERE task_id = $1`,
          [data.task_id],
        )
        return task && Number(rows[0].target) > 5 && Number(rows[0].done) >= Number(rows[0].target) - 3
      },
      { what: 'the deliveries' },
    )
    responses.push(JSON.stringify(await call('/push/task/failures', { task_id: data.task_id })))
  }
  await until(async () => (await db.pool.query('SELECT 1 FROM callback')).rowCount === 0)
  for (const path of ['/metrics', '/healthz', '/readyz', '/openapi.json', '/docs', '/console/'])
    responses.push(await (await fetch(demo.base_url + path)).text())
}

/** Every row of every table as text, by table. */
async function everyRow(): Promise<Map<string, string>> {
  const { rows } = await db.pool.query<{ name: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|information_schema)'`,
  )
  const found = new Map<string, string>()
  for (const { name } of rows) {
    const { rows: all } = await db.pool.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`)
    found.set(name, all.map(({ row }) => row).join('\n'))
  }
  return found
}

/** Encodings of a secret: plain, inside JSON, hex, and base64. */
const encodings = (secret: string) => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  JSON.stringify(JSON.stringify(secret).slice(1, -1)).slice(1, -1),
  Buffer.from(secret).toString('hex'),
  ...(secret.length > 24 ? [Buffer.from(secret).toString('base64').slice(0, -4)] : []),
]
const found = (text: string, list: Map<string, string>) =>
  [...list].filter(([, secret]) => encodings(secret).some((one) => text.includes(one))).map(([name]) => name)

describe('after a run of all features at log level trace', () => {
  beforeAll(fullFlow, 170_000)

  it('there is enough output that could contain a secret', () => {
    expect(secrets.size).toBeGreaterThan(25)
    expect(tokens.size).toBeGreaterThan(15)
    expect(responses.length).toBeGreaterThan(15)
    expect(herald.output().split('\n').length).toBeGreaterThan(10)
  })

  it('no printed or logged line contains a secret or a token', () => {
    const printed = herald.output()
    expect(found(printed, secrets)).toEqual([])
    expect(found(printed, tokens)).toEqual([])
  })

  it('no error, list, metric or page contains a secret or a token', () => {
    const all = responses.join('\n')
    expect(found(all, secrets)).toEqual([])
    expect(found(all, tokens)).toEqual([])
  })

  it('no table contains a secret, and only token tables contain tokens', async () => {
    const rows = await everyRow()
    expect([...rows.keys()].filter((name) => /bull/.test(name)).length).toBeGreaterThan(0)
    for (const [name, text] of rows) {
      expect([name, found(text, secrets)]).toEqual([name, []])
      if (!tokenTables.includes(name)) expect([name, found(text, tokens)]).toEqual([name, []])
    }
    // The simulated vendor may have reported it as dead.
    expect(`${rows.get('public.binding')}${rows.get('public.retired_token')}`).toContain(BOUND)
  })

  it('only files for secrets contain secrets, and only their owner may read them', () => {
    for (const name of secretFiles)
      expect([name, statSync(join(dataDir, name)).mode & 0o077]).toEqual([name, 0])
    for (const entry of readdirSync(dataDir, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      // The tables were searched above.
      if (!entry.isFile() || secretFiles.includes(entry.name) || path.includes('/postgres/')) continue
      const text = readFileSync(path, 'latin1')
      expect([entry.name, found(text, secrets), found(text, tokens)]).toEqual([entry.name, [], []])
    }
  })
})
