import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import { createServer as createHttpsServer } from 'node:https'
import { createServer as createTcpServer, type Server as NetServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Outcome } from '@herald/domain'
import { createAuthority } from '@herald/simulators/authority'
import { listen } from '@herald/testkit'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { isUnsupported, type Transport, type TransportDeps } from '../../src/channel.ts'
import { adapter as fcm } from '../../src/fcm/channel.ts'
import { startConnectProxy } from '../connect-proxy.ts'
import { sampleDeps, sampleTask, sampleUrls } from '../samples.ts'
import { accountCertificate, newAccountKey } from './credentials.ts'

const authority = createAuthority('spec')
const identity = authority.issue({ subject: { CN: 'localhost' }, hosts: ['127.0.0.1'] })
const settings = fcm.readSettings(accountCertificate(newAccountKey()))
const tokens = (count: number) => Array.from({ length: count }, (_, index) => `fid${index}:APA91b`)

type Reply = { status?: number; headers?: Record<string, string>; text?: string }
const ok: Reply = { text: '{"name":"projects/parcel-post/messages/0:1"}' }
const error = (status: number, code: string, errorCode?: string): Reply => ({
  status,
  text: JSON.stringify({
    error: { code: status, status: code, details: errorCode ? [{ '@type': 'x/FcmError', errorCode }] : [] },
  }),
})

/** What a send API receives and how it replies; works for both protocols. */
function openApi() {
  const received: { version: string; token: string; authorization: string | undefined }[] = []
  const api = {
    received,
    active: 0,
    mostActive: 0,
    delayMs: 0,
    reply: (_token: string, _authorization?: string): Reply | undefined => ok,
    async serve(
      request: IncomingMessage | Http2ServerRequest,
      response: ServerResponse | Http2ServerResponse,
    ): Promise<void> {
      api.mostActive = Math.max(api.mostActive, ++api.active)
      let body = ''
      for await (const part of request) body += part
      const { authorization } = request.headers
      const token = JSON.parse(body).message.token ?? ''
      received.push({ version: request.httpVersion, token, authorization })
      if (api.delayMs) await new Promise((resolve) => setTimeout(resolve, api.delayMs))
      const reply = api.reply(token, authorization)
      if (!reply) return
      api.active--
      ;(response as ServerResponse).writeHead(reply.status ?? 200, reply.headers)
      response.end(reply.text ?? '')
    },
    versions: () => [...new Set(received.map(({ version }) => version))],
    tokens: () => received.map(({ token }) => token).sort(),
  }
  return api
}

describe('the FCM transport, before a server', () => {
  const opened: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    jest.restoreAllMocks()
    for (const close of opened.splice(0).reverse()) await close()
  })

  /** Returns the port of the server and the number of its connections until now. */
  async function start(server: NetServer): Promise<{ port: number; connections: () => number }> {
    const sockets = new Set<Socket>()
    let connections = 0
    server.on('connection', (socket: Socket) => {
      connections++
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    })
    const port = await listen(server)
    opened.push(async () => {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    })
    return { port, connections: () => connections }
  }

  function open(fcmUrl: string, over: Partial<TransportDeps> = {}): Transport<unknown> {
    const deps = sampleDeps({
      urls: sampleUrls({ fcm: fcmUrl }),
      ca: authority.cert,
      session: async () => 'an-access-token',
      ...over,
    })
    const transport = fcm.open(settings, deps)
    opened.push(transport.close)
    return transport
  }

  async function send(transport: Transport<unknown>, to: string[], signal = new AbortController().signal) {
    const payload = fcm.mapPayload(sampleTask(), settings)
    if (isUnsupported(payload)) throw new Error(payload.unsupported)
    const outcomes: Outcome[][] = to.map(() => [])
    const recipients = to.map((token, deviceId) => ({ deviceId, token }))
    await transport.send(payload, recipients, {
      signal,
      report: (index, outcome) => outcomes[index]!.push(outcome),
    })
    return outcomes
  }

  const kinds = (outcomes: Outcome[][]) =>
    outcomes.map((each) => each.map(({ kind }) => kind).join()).reduce(unique, [])
  const unique = (all: string[], kind: string) => (all.includes(kind) ? all : [...all, kind])

  /** With a time limit of idle connections that no stall of the machine reaches. */
  const createServer = (api: ReturnType<typeof openApi>) =>
    createHttpServer({ keepAliveTimeout: 120_000 }, api.serve)

  type Start = (api: ReturnType<typeof openApi>) => { server: NetServer; scheme: string }
  const http1: Record<string, Start> = {
    'without TLS': (api) => ({ server: createServer(api), scheme: 'http' }),
    'that selects http/1.1 by ALPN': (api) => ({
      server: createHttpsServer({ ...identity, keepAliveTimeout: 120_000 }, api.serve),
      scheme: 'https',
    }),
    'without ALPN': (api) => {
      const inner = createServer(api)
      return {
        server: createTlsServer(identity, (socket) => inner.emit('connection', socket)),
        scheme: 'https',
      }
    },
    'that takes the preface for HTTP/0.9': (api) => {
      const server = createServer(api)
      server.on('clientError', (_error, socket) => socket.end('<!DOCTYPE HTML><p>Error 505</p>'))
      return { server, scheme: 'http' }
    },
  }

  async function startHttp1(name = 'without TLS') {
    const api = openApi()
    const { server, scheme } = http1[name]!(api)
    const { port, connections } = await start(server)
    return { api, url: `${scheme}://127.0.0.1:${port}`, server, connections }
  }

  describe.each(Object.keys(http1))('with HTTP/1.1 only, %s', (name) => {
    it('sends each message once, over few connections that stay open', async () => {
      const { api, url, connections } = await startHttp1(name)
      api.delayMs = 5
      const transport = open(url)
      expect(kinds(await send(transport, tokens(100)))).toEqual(['accepted'])
      expect(api.tokens()).toEqual(tokens(100).sort())
      expect(api.versions()).toEqual(['1.1'])
      expect(api.mostActive).toBeLessThanOrEqual(32)
      // One more was opened for HTTP/2.
      const used = connections()
      expect(used).toBeLessThanOrEqual(33)
      expect(kinds(await send(transport, tokens(10)))).toEqual(['accepted'])
      expect(api.received).toHaveLength(110)
      expect(connections()).toBe(used)
      expect(await transport.check(new AbortController().signal)).toEqual({ ok: true })
    })

    it('reads replies as those over HTTP/2', async () => {
      const { api, url } = await startHttp1(name)
      const replies: Record<string, Reply> = {
        'a:1': ok,
        'b:1': error(404, 'NOT_FOUND', 'UNREGISTERED'),
        'c:1': { ...error(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED'), headers: { 'retry-after': '77' } },
        'd:1': { status: 503, text: '<html>', headers: { 'retry-after': '12' } },
        'e:1': { text: '<html>log in first</html>' },
        'f:1': { text: ' '.repeat(100_000) },
      }
      api.reply = (token) => replies[token]
      expect(await send(open(url), Object.keys(replies))).toEqual([
        [{ kind: 'accepted' }],
        [{ kind: 'gone', reason: expect.anything() }],
        [{ kind: 'throttled', reason: expect.anything(), retryAfter: 77, minWait: 60 }],
        [{ kind: 'unavailable', reason: expect.anything(), retryAfter: 12, minWait: 10 }],
        [
          {
            kind: 'unavailable',
            reason: { code: 'herald.vendor_reply_unreadable', text: 'the reply is not a JSON object' },
            minWait: 10,
          },
        ],
        [
          {
            kind: 'unavailable',
            reason: {
              code: 'herald.vendor_reply_unreadable',
              text: 'oversized: the reply is larger than 65536 bytes',
            },
            minWait: 10,
          },
        ],
      ])
    })
  })

  it('with HTTP/1.1 only behind a proxy, sends through the proxy', async () => {
    const { api, url } = await startHttp1('that selects http/1.1 by ALPN')
    const proxy = await startConnectProxy()
    opened.push(proxy.close)
    expect(kinds(await send(open(url, { proxy: proxy.url }), tokens(3)))).toEqual(['accepted'])
    expect(api.tokens()).toEqual(tokens(3))
    expect(new Set(proxy.asked)).toEqual(new Set([new URL(url).host]))
  })

  it('with HTTP/1.1 only, sends again with a new access token', async () => {
    const { api, url } = await startHttp1()
    let minted = 0
    const transport = open(url, { session: async () => `token-${++minted}` })
    api.reply = (_token, authorization) =>
      authorization === 'Bearer token-1' ? error(401, 'UNAUTHENTICATED') : ok
    expect(kinds(await send(transport, tokens(2)))).toEqual(['accepted'])
    expect(api.received.map(({ authorization }) => authorization).sort()).toEqual([
      'Bearer token-1',
      'Bearer token-1',
      'Bearer token-2',
      'Bearer token-2',
    ])
  })

  it('with HTTP/1.1 only, stops a batch that is refused', async () => {
    const { api, url } = await startHttp1()
    api.reply = () => error(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED')
    expect(kinds(await send(open(url), tokens(500)))).toEqual(['throttled'])
    expect(api.received.length).toBeLessThan(100)
  })

  it('with HTTP/1.1 only, bounds the requests of all certificates together', async () => {
    const { api, url } = await startHttp1()
    api.delayMs = 10
    const transports = [open(url), open(url), open(url)]
    const outcomes = await Promise.all(transports.map((transport) => send(transport, tokens(50))))
    expect(kinds(outcomes.flat())).toEqual(['accepted'])
    expect(api.received).toHaveLength(150)
    expect(api.mostActive).toBeLessThanOrEqual(32)
  })

  it('with HTTP/1.1 only that hangs, returns the rest of a batch after some time limits', async () => {
    const { api, url } = await startHttp1()
    api.reply = () => undefined
    const outcomes = await send(open(url, { timeoutMs: 2000 }), tokens(200))
    expect(kinds(outcomes)).toEqual(['unavailable'])
    expect(new Set(outcomes.flat().map((outcome) => 'reason' in outcome && outcome.reason.code))).toEqual(
      new Set(['herald.vendor_timeout']),
    )
    expect(api.received.length).toBeLessThan(200)
  })

  it('with HTTP/1.1 only, ends at once when the send is aborted', async () => {
    const { api, url } = await startHttp1()
    const stop = new AbortController()
    api.reply = () => {
      stop.abort()
      return undefined
    }
    await expect(send(open(url), tokens(100), stop.signal)).rejects.toThrow()
    expect(api.received.length).toBeLessThanOrEqual(32)
  })

  it('with HTTP/1.1 only, tries HTTP/2 again after ten minutes', async () => {
    const { api, url, server } = await startHttp1()
    const transport = open(url)
    let refused = 0
    server.on('clientError', (_error, socket) => {
      refused++
      socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n')
    })
    const now = performance.now.bind(performance)
    let later = 0
    jest.spyOn(performance, 'now').mockImplementation(() => now() + later)
    for (const [minutes, tries] of [
      [0, 1],
      [9, 1],
      [11, 2],
      [12, 2],
    ] as const) {
      later = minutes * 60_000
      expect(kinds(await send(transport, tokens(2)))).toEqual(['accepted'])
      expect(refused).toBe(tries)
    }
    expect(api.received).toHaveLength(8)
  })

  it.each([
    ['closes the connection', (socket: Socket) => socket.end()],
    ['resets the connection', (socket: Socket) => socket.resetAndDestroy()],
    [
      'closes the connection after a TLS alert',
      (socket: Socket) => socket.end(Buffer.from([0x15, 3, 1, 0, 2, 2, 70])),
    ],
  ])('that %s stays with HTTP/2', async (_name, end) => {
    const api = openApi()
    const inner = createHttp2Server(api.serve)
    const heard: string[] = []
    let isWell = false
    const server = createTcpServer((socket) => {
      if (isWell) {
        inner.emit('connection', socket)
        return
      }
      socket.once('data', (chunk) => {
        heard.push(chunk.toString('latin1', 0, 5))
        end(socket)
      })
    })
    const { port } = await start(server)
    const transport = open(`http://127.0.0.1:${port}`)
    expect(kinds(await send(transport, tokens(5)))).toEqual(['unavailable'])
    isWell = true
    expect(kinds(await send(transport, tokens(5)))).toEqual(['accepted'])
    expect(new Set(heard)).toEqual(new Set(['PRI *']))
    expect(api.versions()).toEqual(['2.0'])
    expect(api.tokens()).toEqual(tokens(5))
  })

  it.each([true, false])('with HTTP/2, uses it (TLS: %p)', async (secure) => {
    const api = openApi()
    const server: NetServer = secure
      ? createSecureServer({ ...identity, allowHTTP1: true }, api.serve)
      : createHttp2Server(api.serve)
    const { port } = await start(server)
    const url = `${secure ? 'https' : 'http'}://127.0.0.1:${port}`
    expect(kinds(await send(open(url), tokens(100)))).toEqual(['accepted'])
    expect(api.versions()).toEqual(['2.0'])
    expect(api.tokens()).toEqual(tokens(100).sort())
  })
})
