import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, openDatabase } from '@herald/db/store'
import {
  freePort,
  type RunningProcess,
  startApp,
  type TestDatabase,
  testDatabase,
  until,
} from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { Demo } from '../src/demo-file.ts'

jest.setTimeout(180_000)

/** Files whose purpose is to hold secrets; nobody but their owner may read them. */
const secretFiles = ['secrets.json', 'demo-credentials.json', 'demo.json']
/** Tables whose purpose is to hold vendor tokens or push tokens. */
const tokenTables = ['public.device', 'public.binding', 'public.retired_token']

let dataDir: string
let database: TestDatabase
let db: Database
let herald: RunningProcess
let demo: Required<Demo>
/** Everything that was answered to somebody who must not see secrets. */
const answers: string[] = []
const secrets = new Map<string, string>()
const tokens = new Map<string, string>()

const WRONG = 'WRONG-SECRET-5f1c0a9d77'
const BOUND = 'BOUNDphone93ab12cd:APA91bBOUND-DEVICE-TOKEN-93ab12cd'
const guessed = 'GUESSED-PASSWORD-41d2'
const fresh = 'FRESH-PASSWORD-8a77e1'

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'herald-secrets-'))
  database = await testDatabase()
  db = openDatabase(database.url)
  const port = await freePort()
  herald = startApp('apps/standalone/src/main.ts', {
    HERALD_PORT: String(port),
    HERALD_DATA_DIR: dataDir,
    HERALD_LOG_LEVEL: 'trace',
    DATABASE_URL: database.url,
  })
  const readyz = `http://127.0.0.1:${port}/readyz`
  await until(async () => (await fetch(readyz)).status === 200, { seconds: 120, what: readyz })
  demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'))
})
afterAll(async () => {
  await herald.stop()
  await db.close()
  await database.drop()
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
  if (response.status >= 400) answers.push(text)
  return JSON.parse(text)
}

/** Strings of a JSON file that are long enough to be a secret, under the path that leads to them. */
function collect(value: unknown, path: string, into: Map<string, string>): void {
  if (typeof value === 'string') {
    if (value.length >= 12) into.set(path, value)
  } else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) collect(item, `${path}.${key}`, into)
}

/** Names that the certificate shows to anybody, and which vendors do not treat as secrets. */
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
  answers.push(JSON.stringify(await call('/admin/push/certificate/list')))
  answers.push(
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
      { seconds: 90, what: 'the deliveries' },
    )
    answers.push(JSON.stringify(await call('/push/task/failures', { task_id: data.task_id })))
  }
  await until(async () => (await db.pool.query('SELECT 1 FROM callback')).rowCount === 0, { seconds: 60 })
  for (const path of ['/metrics', '/healthz', '/readyz', '/openapi.json', '/docs', '/console/'])
    answers.push(await (await fetch(demo.base_url + path)).text())
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

/** How a secret may stand in a text: as it is, inside JSON, as bytes in hex, or as base64. */
const spellings = (secret: string) => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  JSON.stringify(JSON.stringify(secret).slice(1, -1)).slice(1, -1),
  Buffer.from(secret).toString('hex'),
  ...(secret.length > 24 ? [Buffer.from(secret).toString('base64').slice(0, -4)] : []),
]
const found = (text: string, list: Map<string, string>) =>
  [...list].filter(([, secret]) => spellings(secret).some((one) => text.includes(one))).map(([name]) => name)

describe('after everything was done once, at the finest log level', () => {
  beforeAll(fullFlow, 170_000)

  it('there is much that could have told a secret', () => {
    expect(secrets.size).toBeGreaterThan(25)
    expect(tokens.size).toBeGreaterThan(15)
    expect(answers.length).toBeGreaterThan(15)
    expect(herald.output().split('\n').length).toBeGreaterThan(10)
  })

  it('no line that was printed or logged holds a secret or a token', () => {
    const printed = herald.output()
    // The curl line of the banner is there to be pasted, and to a terminal of the machine's owner.
    const banner = new Set([
      'demo.json.admin_token',
      'demo.json.app_secret',
      'demo.json.user.password',
      'demo.json.operator_key',
      'secrets.json.HERALD_OPERATOR_KEY',
    ])
    const logged = printed
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .join('\n')
    expect(found(logged, secrets)).toEqual([])
    expect(found(logged, tokens)).toEqual([])
    expect(found(printed, secrets).filter((name) => !banner.has(name))).toEqual([])
    expect(found(printed, tokens)).toEqual([])
  })

  it('no refusal, list, metric or page holds a secret or a token', () => {
    const all = answers.join('\n')
    expect(found(all, secrets)).toEqual([])
    expect(found(all, tokens)).toEqual([])
  })

  it('no table holds a secret, and none but its own a token: not the jobs, not the audit, not a failure', async () => {
    const rows = await everyRow()
    expect([...rows.keys()].filter((name) => /bull/.test(name)).length).toBeGreaterThan(0)
    for (const [name, text] of rows) {
      expect([name, found(text, secrets)]).toEqual([name, []])
      if (!tokenTables.includes(name)) expect([name, found(text, tokens)]).toEqual([name, []])
    }
    // The simulated vendor may have called it dead by now.
    expect(`${rows.get('public.binding')}${rows.get('public.retired_token')}`).toContain(BOUND)
  })

  it('no file but those for it holds a secret, and those are for their owner alone', () => {
    for (const name of secretFiles)
      expect([name, statSync(join(dataDir, name)).mode & 0o077]).toEqual([name, 0])
    for (const entry of readdirSync(dataDir, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || secretFiles.includes(entry.name)) continue
      const text = readFileSync(join(entry.parentPath, entry.name), 'latin1')
      expect([entry.name, found(text, secrets), found(text, tokens)]).toEqual([entry.name, [], []])
    }
  })
})
