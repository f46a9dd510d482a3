import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { eachConcurrently } from '@herald/async'
import { createLogger } from '@herald/telemetry'
import { createDice, type Dice, mutate, nastyTexts } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createPasswords } from '../src/auth/passwords.ts'
import { codes } from '../src/codes.ts'
import { consoleRoutes } from '../src/console/routes.ts'
import { type Operation, openApiDocument } from '../src/openapi/document.ts'
import { type JsonSchema, schemaOf } from '../src/openapi/schemas.ts'
import { countingPasswords, freeLimits, OPERATOR_KEY, openTestApi, type TestApi } from './harness.ts'
import { createWriter } from './hostile-values.ts'
import { type RawAnswer, sendPipelined } from './pipelined-client.ts'

const SEED = 20_261_115
const REQUESTS = 98_000
const RAW_CONNECTIONS = 2_000

const nowhere = 'http://127.0.0.1:9'
const vendors =
  'APNS APNS_SANDBOX FCM FCM_TOKEN HUAWEI HUAWEI_AUTH HONOR HONOR_AUTH XIAOMI OPPO OPPO_INTL VIVO MEIZU MEIZU_INTL'.split(
    ' ',
  )
const documented = Object.entries(openApiDocument().paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
)
/** The console's own calls, which are not in the document. */
const ofConsole = consoleRoutes.map(({ path, method, input }) => ({
  path,
  method: method.toUpperCase(),
  operation: {
    parameters: [],
    requestBody:
      method === 'get'
        ? undefined
        : { content: { 'application/json': { schema: schemaOf(input, 'input') } } },
  } as unknown as Operation,
}))
const operations = [...documented, ...ofConsole]

/** These call vendors or return everything; sent as often as the others, they would take half of the time. */
const costly = new Set([
  '/admin/app',
  '/admin/app/list',
  '/admin/push/certificate/check',
  '/admin/device/import',
])

let api: TestApi
/** An application whose tokens are revoked constantly. */
let restless: { appId: string; token: string }
let callbacks: string[]
const known: Record<string, unknown[]> = {}
const logged: string[] = []

beforeAll(async () => {
  api = await openTestApi({
    env: Object.fromEntries(vendors.map((name) => [`HERALD_${name}_URL`, nowhere])),
    overrides: {
      passwords: createPasswords({ derive: countingPasswords().derive }),
      limits: freeLimits(),
      log: createLogger({
        name: 'flood',
        level: 'error',
        destination: { write: (line) => void logged.push(line) },
      }),
    },
  })
  restless = await api.createApplication('restless')
  callbacks = []
  for (const [provider, more] of [
    [2, { app_id: '100', app_secret: 's' }],
    [
      3,
      {
        app_id: '2882303761517000000',
        app_key: 'k',
        app_secret: 's',
        extra: { package_name: 'com.example' },
      },
    ],
    [4, { app_id: '100', app_key: 'k', app_secret: 's', extra: { receipt_registered: true } }],
    [5, { app_id: '105550001', app_key: 'k', app_secret: 's' }],
    [6, { app_id: '100', app_key: 'k', app_secret: 's' }],
    [8, { app_id: '100', app_key: 'k', app_secret: 's' }],
  ] as const) {
    const saved = await api.client.putCertificate({ provider, ...more })
    if (saved.callback_url) callbacks.push(new URL(saved.callback_url).pathname)
  }
  expect(callbacks).toHaveLength(6)
  await refill(0)
}, 600_000)
afterAll(() => api.close())

/** Creates resources that generated calls can refer to. Calls remove them, so this is repeated. */
async function refill(round: number): Promise<void> {
  // Names of two rounds differ in several characters, so that no generated call creates the group of a later round.
  const name = `known-${(round * 7919 + 104_729).toString(36)}`
  const user = await api.user(name, { guid: name })
  const { group_id } = await api.client.createGroup(name)
  await api.client.addMembers(Number(group_id), [user.userId])
  const { task_id } = await api.client.notify({
    audience: { push_token: [user.pushToken] },
    message: { title: 'known' },
  })
  Object.assign(known, {
    push_token: [user.pushToken],
    device_guid: [name],
    user_id: [user.userId, String(user.userId)],
    user_ids: [[user.userId]],
    group_id: [group_id],
    task_id: [task_id],
    list: [[task_id], [{ task_id, event: 'received' }]],
    name: [name],
    login_name: [name],
    password: [`${name}-password`],
    app_secret: [api.appSecret],
    device_token: ['ab'.repeat(32), 'fcm:token', 'A'.repeat(24)],
    audience: [{ push_token: [user.pushToken] }, { user_id: [user.userId] }, { tag: ['none'] }],
    token: [user.token],
  })
}

function bodyOf(writer: ReturnType<typeof createWriter>, operation: Operation, dice: Dice): string {
  const content = (operation.requestBody as { content?: Record<string, { schema: JsonSchema }> })?.content
  const json = content?.['application/json']
  if (json) return writer.value(json.schema)
  if (!content) return ''
  const line: JsonSchema = {
    type: 'object',
    required: ['device_guid', 'platform'],
    properties: {
      device_guid: { type: 'string' },
      user_id: { type: 'integer' },
      platform: { enum: ['ios', 'android', 'harmony'] },
      alias: { type: 'string' },
      tags: { type: 'array', items: { type: 'string' } },
      bindings: {
        type: 'array',
        items: {
          type: 'object',
          required: ['provider', 'device_token'],
          properties: { provider: { type: 'integer' }, device_token: { type: 'string' } },
        },
      },
    },
  }
  return Array.from({ length: 1 + dice.below(3) }, () => writer.value(line)).join('\n')
}

/** Header values without line ends and NUL, which the raw bytes below cover. */
const headerText = (text: string) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is left out
  Buffer.from(text.replaceAll(/[\u0000-\u001f\u007f]/g, ''))
    .toString('latin1')
    .slice(0, 400)

function* requests(dice: Dice, count: number): Generator<Buffer> {
  const writer = createWriter(dice, known)
  for (let i = 0; i < count; i++) {
    if (dice.chance(0.06)) {
      yield callbackRequest(dice, writer)
      continue
    }
    const drawn = operations[i % operations.length]!
    const { path, method, operation } =
      costly.has(drawn.path) && dice.chance(0.75) ? dice.pick(operations) : drawn
    const query = operation.parameters
      .filter((parameter) => parameter.in === 'query' && dice.chance(0.8))
      .map(({ name, schema }) => {
        const value = writer.value(schema as JsonSchema)
        const wanted = known[name as string]
        return `${name}=${encodeURIComponent(wanted && dice.chance(0.7) ? String(wanted[0]) : (safeText(value) ?? value))}`
      })
    if (dice.chance(0.02)) query.push(`${encodeURIComponent(safeText(quotedText(dice)) ?? 'x')}=%00`)
    let body = Buffer.from(bodyOf(writer, operation, dice))
    if (dice.chance(0.15)) body = Buffer.from(mutate(dice, body))
    if (dice.chance(0.002)) body = Buffer.alloc(70_000, '[')
    const revokes = path === '/token/revoke'
    const admin = revokes ? restless.token : api.adminToken
    const headers = [
      `app_id: ${dice.chance(0.02) ? headerText(dice.pick(nastyTexts)) : revokes ? restless.appId : api.appId}`,
    ]
    if (path.startsWith('/console/'))
      headers.push(`cookie: herald_session=${headerText(dice.pick(nastyTexts))}`, 'x-herald-console: 1')
    if (path.startsWith('/admin/app') || (path.startsWith('/console/') && dice.chance(0.3)))
      headers.push(`authorization: Bearer ${OPERATOR_KEY}`)
    if (dice.chance(0.95))
      headers.push(`access-token: ${dice.chance(0.03) ? headerText(dice.pick(nastyTexts)) : admin}`)
    if (/^\/user\//.test(path) ? dice.chance(0.9) : dice.chance(0.05))
      headers.push(`user_id: ${dice.chance(0.05) ? headerText(dice.pick(nastyTexts)) : known.user_id![0]}`)
    else if (dice.chance(0.04)) headers.push(`group_id: ${known.group_id![0]}`)
    if (dice.chance(0.9)) headers.push('content-type: application/json')
    else if (dice.chance(0.3)) headers.push(`content-type: ${headerText(dice.pick(nastyTexts))}`)
    yield frame(method, query.length > 0 ? `${path}?${query.join('&')}` : path, headers, body)
  }
}

function quotedText(dice: Dice): string {
  return JSON.stringify(dice.pick(nastyTexts))
}

/** The text of a JSON string, limited to what a URL can contain. */
function safeText(json: string): string | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'string' ? value.toWellFormed() : undefined
  } catch {
    return undefined
  }
}

/** Callbacks in the formats of the six vendors, at existing addresses. */
function callbackRequest(dice: Dice, writer: ReturnType<typeof createWriter>): Buffer {
  const task = String(known.task_id![0])
  const shapes = [
    {
      [dice.below(1e6)]: { targets: writer.text(), param: task, ackTime: 1, ackType: String(dice.below(3)) },
    },
    { statuses: [{ token: writer.text(), status: dice.below(40), biTag: task, requestId: task }] },
    [{ registrationIds: writer.text(), taskId: task, param: task, eventType: 'push_arrive' }],
    { [task]: { targets: [writer.text()], param: task, ackType: dice.below(9), type: 1 } },
    { extra: writer.text(), type: dice.below(20), jobkey: task, param: task, barStatus: 'Enable' },
  ]
  let text = JSON.stringify(dice.pick(shapes))
  if (dice.chance(0.3)) text = `data=${encodeURIComponent(text)}&cb=${encodeURIComponent(text)}`
  let body = Buffer.from(text)
  if (dice.chance(0.3)) body = Buffer.from(mutate(dice, body))
  const query = dice.chance(0.1) ? `?a=%00&b=${encodeURIComponent(writer.text().toWellFormed())}` : ''
  return frame('POST', dice.pick(callbacks) + query, [`x: ${headerText(writer.text())}`], body)
}

function frame(method: string, target: string, headers: string[], body: Buffer): Buffer {
  const head = [`${method} ${target} HTTP/1.1`, 'host: x', ...headers, `content-length: ${body.length}`]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body])
}

const inside = /node_modules|\.ts:\d|at async |PrismaClient|SELECT .* FROM|INSERT INTO|syntax error at/
const startedWith = (request: Buffer) => request.toString('latin1').slice(0, 1500)

function judge(answer: RawAnswer, request: Buffer, seen: Map<number, number>): void {
  const wrong = (what: string) =>
    new Error(`${what}: ${answer.status} ${answer.body.slice(0, 400)}\n\nto\n\n${startedWith(request)}`)
  if (answer.status >= 500) throw wrong('a failure of ours')
  if (inside.test(answer.body)) throw wrong('an answer that shows our inside')
  if (request.includes('/callback/')) return
  if (/\r\ncontent-type: application\/x-ndjson/i.test(answer.head)) {
    const last = JSON.parse(answer.body.trimEnd().split('\n').at(-1)!) as { lines?: number }
    if (last.lines === undefined) throw wrong('an export without its end')
    seen.set(200, (seen.get(200) ?? 0) + 1)
    return
  }
  const envelope = JSON.parse(answer.body) as { code: number; data: unknown; message: string | null }
  if (envelope.code !== 200 && !(envelope.code in codes)) throw wrong('an unknown code')
  if (envelope.code !== 200 && (envelope.data !== null || !envelope.message || envelope.message.length > 500))
    throw wrong('a failure that is none')
  seen.set(envelope.code, (seen.get(envelope.code) ?? 0) + 1)
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const heap = () => {
  collect()
  return process.memoryUsage().heapUsed
}

describe('a flood of hostile requests', () => {
  const seen = new Map<number, number>()

  it(`made from the document with the seed ${SEED} are all answered, none with a failure of ours, in flat memory`, async () => {
    const dice = createDice(SEED)
    const rounds = 8
    const sizes: number[] = []
    let answered = 0
    for (let round = 1; round <= rounds; round++) {
      await sendPipelined(api.port, requests(dice, REQUESTS / rounds), (answer, request) => {
        answered++
        judge(answer, request, seen)
      })
      await refill(round)
      sizes.push(heap())
    }
    expect(answered).toBe(REQUESTS)
    expect(logged).toEqual([])
    // The first rounds fill caches, which are bounded.
    expect(Math.max(...sizes.slice(3)) - sizes[2]!).toBeLessThan(48 * 1024 * 1024)
    // Requests that all fail at the first check would prove nothing.
    const refused = [200, 40001, 40002, 40003, 40004, 40102, 40103, 40104, 40301, 40302, 40401, 40901, 41301]
    expect(refused.filter((code) => !seen.has(code))).toEqual([])
    expect(seen.get(200)! / answered).toBeGreaterThan(0.1)
  }, 1_800_000)

  it(`and ${RAW_CONNECTIONS} connections of broken bytes leave the service as it was`, async () => {
    const dice = createDice(SEED + 1)
    const whole = [...requests(createDice(SEED + 2), 500)]
    const heads = [
      'GET / HTTP/1.1\r\nhost: x\r\n\r\n',
      'POST /push/notify HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\nx',
      'POST /push/notify HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n',
      'POST /push/notify HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello',
      'GET /native HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
      'CONNECT 127.0.0.1:5432 HTTP/1.1\r\nhost: x\r\n\r\n',
      'GET http://169.254.169.254/ HTTP/1.1\r\nhost: x\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      `GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(3000)}\r\n`,
      `GET /${'%'.repeat(500)} HTTP/1.1\r\nhost: x\r\n\r\n`,
      'GET /docs HTTP/1.1\r\nhost: x\r\napp_id: a\r\n b\r\n\r\n',
    ].map((text) => Buffer.from(text, 'latin1'))
    await eachConcurrently(Array(RAW_CONNECTIONS), 24, async () => {
      let bytes: Buffer = dice.chance(0.5) ? dice.pick(heads) : dice.pick(whole)
      for (let n = dice.below(4); n > 0; n--) bytes = mutate(dice, bytes)
      const answer = await exchange(api.port, bytes)
      const statuses = [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))
      const bad = statuses.filter((status) => status >= 500)
      if (bad.length > 0 || inside.test(answer))
        throw new Error(`${answer.slice(0, 600)}\n\nto\n\n${startedWith(bytes)}`)
    })
    expect(logged).toEqual([])
    expect((await fetch(`${api.url}/healthz`)).status).toBe(200)
    expect((await api.client.groups()).list.length).toBeGreaterThan(0)
  })
})

/** Returns what comes back before the connection ends. The client ends its side after its bytes, so the server does not wait. */
function exchange(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', () => {}).on('close', () => resolve(text))
    socket.end(bytes)
  })
}
