import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { tokenBuckets } from '@herald/async'
import { HeraldServer } from '@herald/client'
import { changeApplicationSettings, createApplication } from '@herald/db/tenants'
import { type OpenContext, openContext } from '@herald/program'
import { readSettings } from '@herald/settings'
import { createLogger, createRegistry } from '@herald/telemetry'
import { closeServer, listen } from '@herald/testkit'
import { type TestDatabase, testDatabase } from '@herald/testkit/database'
import { createUploadCheck } from '../src/certificates/upload-check.ts'
import type { ApiDeps } from '../src/deps.ts'
import { createApiServer, tuneServer } from '../src/serve-api.ts'
import { type WiredApi, wireApi } from '../src/wire-api.ts'
import { checkAnswer } from './contract.ts'

export const OPERATOR_KEY = 'operator-key-of-the-specs'

/** Rate limits that no spec reaches. */
export function freeLimits(): ApiDeps['limits'] {
  const free = tokenBuckets({ perSecond: 1e9, burst: 1e9 })
  return {
    login: free,
    register: free,
    address: free,
    caller: free,
    receipts: free,
    refused: free,
    failedLogin: free,
  }
}

export type Answer = {
  status: number
  code: number
  // biome-ignore lint/suspicious/noExplicitAny: specs look into answers freely
  data: any
  message: string | null
  headers: Headers
  text: string
}

export type CallOptions = {
  method?: string
  token?: string | null
  appId?: string | null
  headers?: Record<string, string>
  /** Sent as JSON; `raw` is sent unchanged. */
  body?: unknown
  raw?: string | Uint8Array
}

export type TestApi = {
  url: string
  port: number
  context: OpenContext
  deps: ApiDeps
  appId: string
  appSecret: string
  adminToken: string
  /** Every answer is checked against the OpenAPI document. POST with a body, GET without, unless `method` is set. */
  call(path: string, options?: CallOptions): Promise<Answer>
  client: HeraldServer
  /** Devices may register in it without a user. */
  createApplication(name: string): Promise<{ appId: string; appSecret: string; token: string }>
  /** Creates a user and logs in. */
  user(
    name: string,
    options?: { guid?: string },
  ): Promise<{ userId: number; token: string; pushToken: string }>
  /** Writes bytes to a socket and returns everything that comes back. */
  socket(bytes: string | Uint8Array): Promise<string>
  close(): Promise<void>
}

export type TestApiOptions = {
  env?: Record<string, string>
  overrides?: Partial<ApiDeps> | ((context: OpenContext) => Partial<ApiDeps>)
  certificateAdapters?: ApiDeps['adapters']
  /** The folder of a built console. */
  consoleFolder?: string
  /** Gets the lines of the log; set HERALD_LOG_LEVEL too. */
  onLog?(line: string): void
}

/** The real API on a real Postgres. */
export async function openTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const database = await testDatabase()
  const { settings } = readSettings({
    DATABASE_URL: database.url,
    HERALD_MASTER_KEY: '0'.repeat(64),
    HERALD_OPERATOR_KEY: OPERATOR_KEY,
    HERALD_LOG_LEVEL: 'silent',
    HERALD_PUBLIC_URL: 'http://127.0.0.1:9',
    HERALD_REGISTRATIONS_PER_SECOND: '1000',
    ...options.env,
  })
  const context = await openContext({
    settings,
    log: createLogger({
      name: 'spec',
      level: settings.logLevel,
      destination: options.onLog && { write: options.onLog },
    }),
    registry: createRegistry('spec'),
    // Five seconds are too few for a process that gets no CPU for seconds.
    waitMs: 120_000,
    certificateAdapters: options.certificateAdapters,
  })
  const overrides = typeof options.overrides === 'function' ? options.overrides(context) : options.overrides
  const api = await wireApi(context, {
    consoleFolder: options.consoleFolder,
    overrides: {
      // Many times the usual limit, which a stopped or busy process would reach.
      uploads: createUploadCheck({ maxMs: 120_000 }),
      ...(options.certificateAdapters && { adapters: options.certificateAdapters }),
      ...overrides,
    },
  })
  const server = createApiServer(api.app)
  tuneServer(server)
  return finish({ database, context, api, server, port: await listen(server) })
}

async function finish(opened: {
  database: TestDatabase
  context: OpenContext
  api: WiredApi
  server: Server
  port: number
}): Promise<TestApi> {
  const { context, api, server, port } = opened
  const url = `http://127.0.0.1:${port}`

  async function makeApplication(name: string) {
    const made = await createApplication(context.db, { name, packageName: `com.${name}` })
    if (made === 'taken') throw new Error(`${name} exists already`)
    await changeApplicationSettings(context.db, made.appId, { register: true })
    const { token } = api.deps.sessions.tokens.issue({
      app: made.appId,
      role: 'admin',
      subject: made.appId,
      version: 0,
    })
    return { ...made, token }
  }
  const first = await makeApplication('spec')

  async function call(path: string, options: CallOptions = {}): Promise<Answer> {
    const hasBody = options.body !== undefined || options.raw !== undefined
    const method = options.method ?? (hasBody ? 'POST' : 'GET')
    const headers: Record<string, string> = { ...options.headers }
    if (options.appId !== null) headers.app_id ??= options.appId ?? first.appId
    if (options.token !== null) headers['access-token'] ??= options.token ?? first.token
    if (options.body !== undefined) headers['content-type'] ??= 'application/json'
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      body: options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body)),
    })
    const text = await response.text()
    const envelope = checkAnswer(method, path, response, text)
    return { ...envelope, status: response.status, headers: response.headers, text }
  }

  return {
    url,
    port,
    context,
    deps: api.deps,
    appId: first.appId,
    appSecret: first.appSecret,
    adminToken: first.token,
    call,
    client: new HeraldServer({ baseUrl: url, appId: first.appId, token: first.token }),
    createApplication: makeApplication,
    async user(name, { guid } = {}) {
      const made = await call('/admin/user', { body: { username: name, password: `${name}-password` } })
      const { data } = await call('/token/user', {
        token: null,
        body: { name, password: `${name}-password`, device_guid: guid },
      })
      return { userId: made.data.user_id, token: data.token, pushToken: data.push_token }
    },
    socket: (bytes) =>
      new Promise((resolve, reject) => {
        const socket = connect(port, '127.0.0.1')
        let text = ''
        socket.setEncoding('utf8').on('data', (chunk) => {
          text += chunk
        })
        socket.on('close', () => resolve(text)).on('error', reject)
        socket.write(bytes)
      }),
    async close() {
      await closeServer(server)
      await api.close()
      await context.close()
      await opened.database.drop()
    },
  }
}

/**
 * Calls notify twice: directly, and with a `?`, which Express serves. Both responses must be equal, except for the task's id. For specs
 * in which a second push does no harm.
 */
export async function notifyBothWays(api: Pick<TestApi, 'call'>, options: CallOptions): Promise<Answer> {
  const id = randomUUID()
  const call = (path: string) =>
    api.call(path, { method: 'POST', ...options, headers: { 'x-request-id': id, ...options.headers } })
  const [direct, express] = [await call('/push/notify'), await call('/push/notify?')]
  const comparable = ({ status, headers, text }: Answer) => {
    const { date, ...rest } = Object.fromEntries(headers)
    return { status, headers: rest, text: text.replace(/"task_id":\d+/, '"task_id":1') }
  }
  if (!isDeepStrictEqual(comparable(direct), comparable(express)))
    throw new Error(`the direct path responded ${direct.text}, Express ${express.text}`)
  return direct
}

/** A cheap hash that counts its calls. */
export function countingPasswords() {
  let derived = 0
  return {
    derived: () => derived,
    derive: async (password: string, salt: Buffer) => {
      derived++
      const { createHmac } = await import('node:crypto')
      return createHmac('sha256', salt).update(password).digest()
    },
  }
}
