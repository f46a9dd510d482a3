import { createHash } from 'node:crypto'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Stream } from 'node:http2'
import { cardOf, type Outcome, type Reason, type VendorChannel, vendorChannels } from '@herald/domain'
import { loadDemo } from '@herald/simulators'
import { closeServer, createDice, listen, mutate, nastyJson } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { adapters } from '../src/all.ts'
import { isUnsupported, type Transport } from '../src/channel.ts'
import { sampleCertificate, sampleDeps, sampleTask, sampleUrls } from './samples.ts'

const SEED = 20_261_115
/** Numbers of randomly corrupted bodies: for sends, and fewer for logins, because each needs a new transport. */
const MUTATED = { send: 80, login: 20 }
const TIME_LIMIT = 3_000

/** How a vendor's server handles one request. */
type Reply =
  | { status: number; body: Buffer; headers?: Record<string, string> }
  | { act: 'hang' | 'cut' | 'endless' | 'trickle' | 'short' | 'long' }

/** Success and error bodies of the vendors, to be corrupted. */
const bodies: Partial<Record<VendorChannel, string[]>> = {
  apns: ['', '{"reason":"BadDeviceToken"}', '{"reason":"Unregistered","timestamp":1760000000000}'],
  fcm: [
    '{"name":"projects/parcel-post/messages/0:1"}',
    '{"error":{"code":404,"status":"NOT_FOUND","details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}',
  ],
  huawei: [
    '{"code":"80000000","msg":"Success","requestId":"1"}',
    '{"code":"80100000","msg":"{\\"success\\":1,\\"failure\\":1,\\"illegal_tokens\\":[\\"x\\"]}","requestId":"1"}',
    '{"access_token":"t","expires_in":3600}',
  ],
  honor: [
    '{"code":200,"message":"ok","data":{"sendResult":true,"requestId":"1","failTokens":["x"],"expireTokens":["x"]}}',
    '{"access_token":"t","expires_in":3600}',
  ],
  xiaomi: ['{"result":"ok","code":0,"data":{"id":"x","bad_regids":"a,b"},"description":"ok"}'],
  oppo: [
    '{"code":0,"message":"ok","data":[{"messageId":"1","registrationId":"x","errorCode":10000}]}',
    '{"code":0,"message":"ok","data":{"auth_token":"t","create_time":"1760000000000"}}',
  ],
  vivo: [
    '{"result":0,"desc":"ok","taskId":"1","invalidUsers":[{"status":1,"userid":"x"}]}',
    '{"result":0,"desc":"ok","authToken":"t"}',
  ],
  meizu: ['{"code":"200","message":"","value":{"110002":["x"]},"redirect":"","msgId":"x"}'],
}
const overHttp2: readonly VendorChannel[] = ['apns', 'fcm']

const vendors = await Promise.all(
  vendorChannels.map(async (channel) => {
    const demo = await loadDemo(channel)
    return {
      channel,
      certificate: sampleCertificate(channel, demo.certificate(await demo.makeCredentials())),
      token: (index: number) => demo.token(createHash('sha256').update(`${index}`).digest()),
      http2: overHttp2.includes(channel),
      bodies: bodies[channel] ?? ['{"code":0}'],
    }
  }),
)

const kinds = new Set<Outcome['kind']>([
  'accepted',
  'gone',
  'rejected',
  'unsupported',
  'throttled',
  'unavailable',
  'quota',
  'misconfigured',
])

let reply: Reply
let redirected = 0
let plain: Server
let multiplexed: Http2Server
let ports: { plain: number; multiplexed: number }
const more = Buffer.alloc(65_536, '9')

beforeAll(async () => {
  plain = createServer((request, response) => {
    if (request.url === '/elsewhere') redirected++
    request.resume().on('end', () => answerPlain(response))
  })
  multiplexed = createHttp2Server()
  multiplexed.on('stream', (stream) => {
    stream.on('error', () => {})
    stream.resume().on('end', () => answerStream(stream))
  })
  multiplexed.on('sessionError', () => {})
  ports = { plain: await listen(plain), multiplexed: await listen(multiplexed) }
})
afterAll(() => Promise.all([closeServer(plain), new Promise((resolve) => multiplexed.close(resolve))]))

function answerPlain(response: ServerResponse): void {
  const now = reply
  if ('status' in now) {
    response.writeHead(now.status, { 'content-length': now.body.length, ...now.headers })
    response.end(now.body)
    return
  }
  switch (now.act) {
    case 'hang':
      return
    case 'cut':
      response.socket?.destroy()
      return
    case 'short':
      response.writeHead(200, { 'content-length': 1000 }).write('{"code":')
      response.socket?.end()
      return
    case 'long':
      response.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}{}{}HTTP/1.1 200 OK\r\n\r\n')
      return
    case 'trickle':
      drip(() => response.write(' '), response)
      return
    case 'endless':
      flow(response)
  }
}

function answerStream(stream: ServerHttp2Stream): void {
  const now = reply
  if (stream.destroyed) return
  if ('status' in now) {
    stream.respond({ ':status': now.status, ...now.headers })
    stream.end(now.body)
    return
  }
  if (now.act === 'hang') return
  if (now.act === 'cut' || now.act === 'long') {
    stream.session?.destroy()
    return
  }
  stream.respond({ ':status': 200 })
  if (now.act === 'short') stream.close(2)
  else if (now.act === 'trickle') drip(() => stream.write(' '), stream)
  else flow(stream)
}

type Sink = { write(chunk: Buffer): boolean; destroyed: boolean; on(event: string, f: () => void): unknown }

function drip(write: () => void, sink: { on(event: string, f: () => void): unknown }): void {
  const timer = setInterval(write, 20)
  sink.on('close', () => clearInterval(timer))
}

/** An endless body. */
function flow(sink: Sink): void {
  const write = () => {
    while (!sink.destroyed && sink.write(more)) {}
  }
  sink.on('drain', write)
  write()
}

function replies(bodies: string[], mutated: number): [string, Reply][] {
  const dice = createDice(SEED)
  const statuses = [200, 200, 200, 201, 204, 400, 401, 403, 404, 410, 413, 429, 500, 502, 503, 599]
  const odd = [
    '',
    'null',
    '<html>busy</html>',
    '{"code":',
    '\u0000',
    '{"code":{}}',
    '{"result":[]}',
    ...nastyJson,
  ]
  const fixed = odd.map((body, i): [string, Reply] => [
    `${statuses[i % statuses.length]} ${body.slice(0, 30)}`,
    { status: statuses[i % statuses.length]!, body: Buffer.from(body) },
  ])
  const broken = Array.from({ length: mutated }, (_, i): [string, Reply] => {
    let body: Buffer = Buffer.from(dice.pick(bodies))
    for (let n = 1 + dice.below(3); n > 0; n--) body = mutate(dice, body)
    const retry = dice.pick(['-1', '99999999999', 'abc', 'Thu, 01 Jan 1970 00:00:00 GMT', '0', ''])
    return [`mutation ${i}`, { status: dice.pick(statuses), body, headers: { 'retry-after': retry } }]
  })
  const bytes: [string, Reply][] = [
    ['invalid UTF-8', { status: 200, body: Buffer.from([0x7b, 0xff, 0xfe, 0x7d]) }],
    [
      'a body that is not packed as it says',
      { status: 200, body: Buffer.from('{}'), headers: { 'content-encoding': 'gzip' } },
    ],
    ['a way to elsewhere', { status: 302, body: Buffer.alloc(0), headers: { location: '/elsewhere' } }],
    [
      'a way to elsewhere for good',
      { status: 308, body: Buffer.alloc(0), headers: { location: '/elsewhere' } },
    ],
    ['half a million brackets', { status: 200, body: Buffer.alloc(500_000, '[') }],
    ['five megabytes', { status: 200, body: Buffer.alloc(5_000_000, ' ') }],
  ]
  return [...fixed, ...broken, ...bytes]
}

/** Codes are keys of the database and labels of metrics. */
const isReason = ({ code, text }: Reason) =>
  /^[a-z]+\.[\w.[\]-]{1,180}$/.test(code) && text !== '' && text.length <= 1000

describe.each(vendors)('$channel, whatever its server replies', (vendor) => {
  const { channel } = vendor
  const adapter = adapters[channel]!
  const settings = adapter.readSettings(vendor.certificate)
  const payload = adapter.mapPayload(sampleTask({}, { now: Math.floor(Date.now() / 1000) }), settings)
  if (isUnsupported(payload)) throw new Error(payload.unsupported)
  const count = Math.min(adapter.tokensPerCall, 3)
  const recipients = Array.from({ length: count }, (_, i) => ({
    deviceId: i + 1,
    token: vendor.token(i),
    badge: 1,
  }))
  const secrets = [
    vendor.certificate.appSecret,
    vendor.certificate.certificate,
    ...recipients.map(({ token }) => token),
  ].filter((secret) => secret.length > 10)

  function open(options: { minted: boolean; timeoutMs?: number }): Transport<unknown> {
    const url = `http://127.0.0.1:${vendor.http2 ? ports.multiplexed : ports.plain}`
    const urls = sampleUrls(
      Object.fromEntries(Object.keys(cardOf(channel).addresses).map((name) => [name, url])),
    )
    const deps = sampleDeps({ urls, timeoutMs: options.timeoutMs ?? TIME_LIMIT })
    return adapter.open(settings, {
      ...deps,
      // With an access token the hostile reply is one to the send, without one it is one to the login.
      // Apple's token is signed locally.
      ...(options.minted && channel !== 'apns' && { session: async () => 'an-access-token' }),
    }) as Transport<unknown>
  }

  async function send(transport: Transport<unknown>) {
    const outcomes: Outcome[] = []
    const reports = recipients.map(() => 0)
    let thrown: unknown
    try {
      await transport.send(payload, recipients, {
        signal: AbortSignal.timeout(120_000),
        report(index, outcome) {
          reports[index]!++
          outcomes.push(outcome)
        },
      })
    } catch (error) {
      thrown = error
    }
    return { outcomes, reports, thrown }
  }

  function check(name: string, { outcomes, reports, thrown }: Awaited<ReturnType<typeof send>>): void {
    const said = JSON.stringify([outcomes, (thrown as Error)?.message, (thrown as Error)?.stack])
    const wrong = (what: string) => new Error(`${name}: ${what}: ${said}`)
    if (thrown !== undefined && !(thrown as Error).message) throw wrong('threw an error without a message')
    if (/TypeError|RangeError|SyntaxError|ReferenceError/.test(`${(thrown as Error)?.stack ?? ''}`))
      throw wrong('stumbled')
    if (reports.some((times) => times > 1)) throw wrong('reported twice')
    if (thrown === undefined && reports.some((times) => times !== 1)) throw wrong('left out a recipient')
    if (outcomes.some(({ kind }) => !kinds.has(kind))) throw wrong('an unknown kind')
    for (const outcome of outcomes)
      if ('reason' in outcome && !isReason(outcome.reason)) throw wrong('no reason')
    if (secrets.some((secret) => said.includes(secret))) throw wrong('contains a secret')
  }

  it('it reports every recipient once, with a known reason, without a secret, and follows no redirect', async () => {
    redirected = 0
    for (const minted of [true, false]) {
      let transport = open({ minted })
      for (const [name, next] of replies(vendor.bodies, MUTATED[minted ? 'send' : 'login'])) {
        reply = next
        check(`${minted ? 'send' : 'login'} ${name}`, await send(transport))
        if (minted) continue
        const checked = await transport.check(AbortSignal.timeout(120_000)).catch((error: Error) => error)
        expect(checked).toBeDefined()
        // A login that succeeds by chance would be stored.
        await transport.close()
        transport = open({ minted })
      }
      await transport.close()
    }
    expect(redirected).toBe(0)
  })

  it('it reports accepted or gone only if the vendor said so', async () => {
    const transport = open({ minted: true })
    for (const body of ['', 'null', '[]', '"ok"', '<html>OK</html>', '{"code":', '\u0000'])
      for (const status of [400, 404, 429, 500, 503]) {
        reply = { status, body: Buffer.from(body) }
        const { outcomes } = await send(transport)
        for (const { kind } of outcomes) {
          expect([channel, status, body, kind]).not.toEqual([channel, status, body, 'accepted'])
          expect([channel, status, body, kind]).not.toEqual([channel, status, body, 'gone'])
        }
      }
    await transport.close()
  })

  if (!vendor.http2)
    it('it does not read replies that are larger than any of the vendor’s', async () => {
      const transport = open({ minted: true, timeoutMs: 120_000 })
      const body = Buffer.concat([Buffer.from(vendor.bodies[0]!), Buffer.alloc(5_000_000, ' ')])
      reply = { status: 200, body }
      const { outcomes } = await send(transport)
      expect(outcomes).toHaveLength(count)
      for (const outcome of outcomes)
        expect(outcome).toMatchObject({
          kind: 'unavailable',
          reason: { text: expect.stringContaining('larger than') },
        })
      await transport.close()
    })

  it('it does not wait for hanging, slow, cut or endless replies, and keeps nothing of them', async () => {
    const before = process.memoryUsage().rss
    for (const act of ['hang', 'cut', 'endless', 'trickle', 'short', 'long'] as const) {
      const transport = open({ minted: true, timeoutMs: 250 })
      reply = { act }
      const sent = await send(transport)
      check(act, sent)
      // By the transport's own limit, long before the caller of `send` stops waiting.
      if (act === 'hang' || act === 'trickle' || act === 'endless')
        expect([act, sent.thrown, sent.outcomes.length]).toEqual([act, undefined, count])
      for (const { kind } of sent.outcomes) {
        // HTTP/2 has no required length, and bytes after a complete reply are not part of it.
        if (act === 'long' || (act === 'short' && vendor.http2)) continue
        expect([act, kind]).toEqual([act, 'unavailable'])
      }
      await transport.close()
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
  })
})
