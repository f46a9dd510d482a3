import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect, createServer as createTcpServer, type Socket } from 'node:net'
import { createAuthority } from '@herald/simulators/authority'
import { closeServer, listen, until } from '@herald/testkit'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { joinUrl, parseObject, retryAfterSeconds, TransportFailure } from '../../src/shared/http.ts'
import { type HttpClient, type HttpClientOptions, openHttpClient } from '../../src/shared/http-client.ts'
import { outcomeOfError } from '../../src/shared/outcome.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function start(server: Server): Promise<number> {
  // Node closes an idle connection after five seconds, which may pass between two calls.
  server.keepAliveTimeout = 600_000
  closing.push(() => closeServer(server))
  return listen(server)
}
const serve = async (listener: RequestListener) => `http://127.0.0.1:${await start(createServer(listener))}`

function open(options: Partial<HttpClientOptions> = {}): HttpClient {
  const client = openHttpClient({ timeoutMs: 60_000, ...options })
  closing.push(() => client.close())
  return client
}
const failureOf = async (call: Promise<unknown>): Promise<TransportFailure> => {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof TransportFailure)) throw new Error(`no TransportFailure but ${error}`)
  return error
}

describe('the HTTP client of the vendor channels', () => {
  it('posts a body and returns the vendor’s reply', async () => {
    const url = await serve(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      response.writeHead(418, { 'x-two': ['a', 'b'] })
      response.end(`${request.method} ${request.url} ${request.headers['x-own']} ${body}`)
    })
    const reply = await open().call({ url: `${url}/p?q=1`, headers: { 'x-own': 'v' }, body: 'ü' })
    expect(reply).toMatchObject({ status: 418, text: 'POST /p?q=1 v ü', headers: { 'x-two': 'a, b' } })
  })

  it('keeps connections for the next call', async () => {
    const ports = new Set<number | undefined>()
    const url = await serve((request, response) => {
      ports.add(request.socket.remotePort)
      response.end('ok')
    })
    const client = open()
    for (let i = 0; i < 20; i++) await client.call({ url })
    // The next call may begin a tick before the last one's connection counts as free.
    expect(ports.size).toBeLessThanOrEqual(2)
  })

  it('ends at the time limit when the reply is incomplete, however slowly it arrives', async () => {
    const silent = await serve(() => {})
    expect(await failureOf(open({ timeoutMs: 100 }).call({ url: silent }))).toMatchObject({ kind: 'timeout' })
    const trickling = await serve((_, response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write('x'), 20)
      response.on('close', () => clearInterval(timer))
    })
    expect(await failureOf(open({ timeoutMs: 200 }).call({ url: trickling }))).toMatchObject({
      kind: 'timeout',
    })
  })

  it('reads a reply that arrived while the event loop stood still before it judges the time limit', async () => {
    const asked = Promise.withResolvers<Socket>()
    const server = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => asked.resolve(socket))
      closing.push(() => socket.destroy())
    })
    const url = `http://127.0.0.1:${await listen(server)}`
    closing.push(() => new Promise((resolve) => server.close(resolve)))
    const timeoutMs = 543_210
    const now = performance.now.bind(performance)
    let later = 0
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + later)
    const timers = jest.spyOn(globalThis, 'setTimeout')
    try {
      const call = open({ timeoutMs }).call({ url })
      const socket = await asked.promise
      const [expire] = timers.mock.calls.find(([, ms]) => ms === timeoutMs)!
      // As after a stall: the timer runs before the socket is read.
      setImmediate(() => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
        later = 2 * timeoutMs
        expire()
      })
      expect(await call).toMatchObject({ status: 200, text: 'ok' })
    } finally {
      clock.mockRestore()
      timers.mockRestore()
    }
  })

  it('stops immediately when aborted, before and during the call', async () => {
    let arrived = 0
    const url = await serve(() => {
      arrived++
    })
    expect(await failureOf(open().call({ url, signal: AbortSignal.abort() }))).toMatchObject({
      kind: 'aborted',
    })
    const stop = new AbortController()
    // Longer than the test's limit, so that only the abort can end it.
    const call = failureOf(open({ timeoutMs: 600_000 }).call({ url, signal: stop.signal }))
    await until(() => arrived === 1)
    stop.abort()
    expect(await call).toMatchObject({ kind: 'aborted' })
  })

  it('reports a cut or refused connection with its code, without the address', async () => {
    const cut = await serve((request) => request.socket.destroy())
    expect(await failureOf(open().call({ url: cut }))).toMatchObject({ kind: 'network' })
    const failure = await failureOf(open().call({ url: 'http://127.0.0.1:9/secret' }))
    expect([failure.kind, failure.message]).toEqual([
      'network',
      'the server refused the connection (ECONNREFUSED)',
    ])
    expect(`${failure.message} ${failure.stack}`).not.toContain('secret')
  })

  it('does not read endless replies', async () => {
    const url = await serve((_, response) => response.end('x'.repeat(5000)))
    expect(await failureOf(open({ maxBytes: 4000 }).call({ url }))).toMatchObject({ kind: 'oversized' })
    expect((await open({ maxBytes: 5000 }).call({ url })).text).toHaveLength(5000)
  })

  it('closes while a call is in flight', async () => {
    let arrived = 0
    const url = await serve(() => {
      arrived++
    })
    const client = openHttpClient({ timeoutMs: 600_000 })
    const call = failureOf(client.call({ url }))
    await until(() => arrived === 1)
    await client.close()
    expect(await call).toMatchObject({ kind: 'network' })
  })

  it('uses a proxy for http and https', async () => {
    const asked: string[] = []
    const proxy = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`)
      response.end('by proxy')
    })
    proxy.on('connect', (request, socket) => {
      asked.push(`CONNECT ${request.url}`)
      const [host, port] = request.url!.split(':')
      const target = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        target.pipe(socket).pipe(target)
      })
      target.on('error', () => socket.destroy())
      socket.on('error', () => target.destroy())
    })
    const proxyUrl = `http://127.0.0.1:${await listen(proxy)}`
    const plain = await serve((_, response) => response.end('plain'))
    const { url, ca } = await serveTls()
    const client = open({ proxy: proxyUrl, ca })
    expect(['plain', 'by proxy']).toContain((await client.call({ url: plain })).text)
    expect(asked[0]).toContain(new URL(plain).host)
    expect((await client.call({ url })).text).toBe('encrypted')
    expect(asked.at(-1)).toBe(`CONNECT ${new URL(url).host}`)
  })

  it('does not call this machine through a proxy on another one', async () => {
    const url = await serve((_, response) => response.end('direct'))
    expect((await open({ proxy: 'http://proxy.invalid:3128' }).call({ url })).text).toBe('direct')
  })

  it('trusts an additional authority and no unknown one', async () => {
    const { url, ca } = await serveTls()
    expect((await open({ ca }).call({ url })).text).toBe('encrypted')
    expect(await failureOf(open().call({ url }))).toMatchObject({ kind: 'network' })
  })
})

async function serveTls(): Promise<{ url: string; ca: string }> {
  const authority = createAuthority('Test authority')
  const server = createTlsServer(
    authority.issue({ subject: { CN: 'vendor' }, hosts: ['127.0.0.1'] }),
    (_, response) => response.end('encrypted'),
  )
  return { url: `https://127.0.0.1:${await start(server)}`, ca: authority.cert }
}

describe('the outcome of a missing reply', () => {
  it('is unavailable; an abort or a bug is thrown again', () => {
    expect(outcomeOfError(new TransportFailure('timeout', 'no answer'))).toEqual({
      kind: 'unavailable',
      reason: { code: 'herald.vendor_timeout', text: 'timeout: no answer' },
    })
    expect(() => outcomeOfError(new TransportFailure('aborted', 'stopped'))).toThrow('stopped')
    expect(() => outcomeOfError(new TypeError('bug'))).toThrow('bug')
  })
})

describe('helpers for replies', () => {
  const now = Date.parse('2025-10-09T08:00:00Z')
  const cases: [string | undefined, number | undefined][] = [
    ['0', undefined],
    [' 120 ', 120],
    ['Thu, 09 Oct 2025 08:01:30 GMT', 90],
    ['Thu, 09 Oct 2025 07:00:00 GMT', undefined],
    ['soon', undefined],
    ['', undefined],
    [undefined, undefined],
  ]
  it.each(cases)('reads Retry-After %j as %j seconds', (value, seconds) => {
    expect(retryAfterSeconds(value === undefined ? {} : { 'retry-after': value }, now)).toBe(seconds)
  })

  it('accepts JSON objects only', () => {
    expect(parseObject('{"a":1}')).toEqual({ a: 1 })
    for (const text of ['[]', 'null', '1', '<html>', '']) expect(parseObject(text)).toBeUndefined()
  })

  it('joins a base with or without a slash', () => {
    expect(joinUrl('https://a.example', '/p')).toBe('https://a.example/p')
    expect(joinUrl('https://a.example/base/', '/p')).toBe('https://a.example/base/p')
  })
})
