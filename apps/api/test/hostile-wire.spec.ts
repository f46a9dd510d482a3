import { createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { createLogger } from '@herald/telemetry'
import { closeServer, listen, nastyTexts, until } from '@herald/testkit'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Failure } from '../src/codes.ts'
import { failureOfError } from '../src/http/answer-failure.ts'
import { readBody } from '../src/http/body.ts'
import { createApp } from '../src/http/create-app.ts'
import { readJson } from '../src/http/json.ts'
import { isExemptFromTimeout } from '../src/http/request-timeout.ts'
import { createApiServer, tuneServer } from '../src/serve-api.ts'
import { wireApi } from '../src/wire-api.ts'
import { countWork } from './counted-work.ts'
import { openTestApi, type TestApi } from './harness.ts'

let api: TestApi
const logged: string[] = []
beforeAll(async () => {
  api = await openTestApi({
    overrides: {
      log: createLogger({
        name: 'wire',
        level: 'trace',
        destination: { write: (line) => void logged.push(line) },
      }),
    },
  })
})
afterAll(() => api.close())

describe('a slow client', () => {
  it('has a time limit for its headers, its pauses and its silence', () => {
    const server = createServer()
    tuneServer(server)
    expect(server.headersTimeout).toBeGreaterThan(0)
    expect(server.headersTimeout).toBeLessThanOrEqual(30_000)
    expect(server.keepAliveTimeout).toBeGreaterThan(0)
    expect(server.keepAliveTimeout).toBeLessThanOrEqual(120_000)
    expect(server.timeout).toBeGreaterThan(0)
    expect(server.timeout).toBeLessThanOrEqual(300_000)
  })

  it('that drips its headers is cut at the time limit, however steadily it drips', async () => {
    const server = createServer({ connectionsCheckingInterval: 20 })
    tuneServer(server)
    server.headersTimeout /= 100
    const socket = connect(await listen(server), '127.0.0.1')
    socket.on('error', () => {}).resume()
    // Not `once`, which fails if a drip meets the closed connection.
    const cut = new Promise((resolve) => socket.on('close', resolve))
    socket.write('GET / HTTP/1.1\r\nx-drips: ')
    const drip = setInterval(() => socket.write('x'), 20)
    await cut
    clearInterval(drip)
    await new Promise((resolve) => server.close(resolve))
  })

  it('that drips its body is refused at the time limit, however steadily it drips', async () => {
    let outcome: unknown
    const server = createServer((request, response) => {
      readBody(request, 1000, { withinMs: 300 }).then(
        () => response.end(),
        (error) => {
          outcome = error
          response.setHeader('connection', 'close').end()
        },
      )
    })
    const socket = connect(await listen(server), '127.0.0.1')
    socket.on('error', () => {})
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n')
    const drip = setInterval(() => socket.write('x'), 20)
    await until(() => outcome)
    clearInterval(drip)
    socket.destroy()
    await closeServer(server)
    expect(outcome).toMatchObject({ code: 40801 })
  })

  it('that drips a body that nothing reads is cut at the time limit, unless it imports devices', async () => {
    const wired = await wireApi(api.context, { overrides: { sessions: api.deps.sessions } })
    const server = createServer({ connectionsCheckingInterval: 20 }, wired.app)
    tuneServer(server)
    expect([server.requestTimeout, server.headersTimeout]).toEqual([60_000, 30_000])
    const sockets: Socket[] = []
    server.on('connection', (socket) => sockets.push(socket))
    const port = await listen(server)
    const dripping = (head: string) => {
      const socket = connect(port, '127.0.0.1')
      const drip = setInterval(() => socket.write('1\r\n\n\r\n'), 20)
      const closed = new Promise((resolve) => socket.on('close', resolve))
      const client = { socket, drip, heard: '', closed }
      socket.setEncoding('utf8').on('error', () => {})
      socket.on('data', (text: string) => {
        client.heard += text
      })
      socket.write(`${head}\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n`)
      socket.on('close', () => clearInterval(drip))
      return client
    }
    const importing = dripping(
      `POST /admin/device/import HTTP/1.1\r\napp_id: ${api.appId}\r\naccess-token: ${api.adminToken}`,
    )
    // It is exempt as soon as its caller is known.
    await until(() => sockets.some(isExemptFromTimeout), { what: 'the import' })
    server.requestTimeout = 300
    server.headersTimeout = 300
    await until(() => importing.socket.bytesWritten > 1000)
    // It started later than the import, so the import exceeds the limit as well.
    const idle = dripping('GET /healthz HTTP/1.1')
    await idle.closed
    expect(idle.heard).toMatch(/^HTTP\/1\.1 200 /)
    clearInterval(importing.drip)
    importing.socket.write('0\r\n\r\n')
    await until(() => importing.heard.includes('"lines":0'))
    importing.socket.destroy()
    await new Promise((resolve) => server.close(resolve))
    await wired.close()
  })

  it('that hung up before its body is read is not waited for', async () => {
    let waited: Promise<unknown> | undefined
    const server = createServer((request) => {
      request.on('close', () => {
        waited = readBody(request, 1000).catch((error) => error)
      })
      request.on('error', () => {})
    })
    const socket = connect(await listen(server), '127.0.0.1')
    socket.on('error', () => {})
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\nx', () =>
      setTimeout(() => socket.destroy(), 50),
    )
    await until(() => waited)
    expect(await waited).toMatchObject({ code: 40001 })
    await new Promise((resolve) => server.close(resolve))
  })

  it('does not keep others waiting', async () => {
    const slow = Array.from({ length: 100 }, (_, n) => {
      const socket = connect(api.port, '127.0.0.1')
      socket.on('error', () => {})
      const start =
        n % 2
          ? 'GET /push/certificate HTTP/1.1\r\nhost:'
          : 'POST /push/notify HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{'
      socket.write(start)
      return socket
    })
    await until(() => slow.every((socket) => socket.bytesWritten > 0))
    expect((await api.client.notify({ audience: 'all', message: { title: 'x' } })).task_id).toBeDefined()
    for (const socket of slow) socket.destroy()
  })
})

/** The head of a push by the admin. */
const pushing = (path = '/push/notify') =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\napp_id: ${api.appId}\r\naccess-token: ${api.adminToken}`

describe('a body without a length', () => {
  const chunked = () => `${pushing()}\r\ntransfer-encoding: chunked`

  it('counts as large only as far as it has arrived', async () => {
    const { bodies } = api.deps.admission
    let counted = 0
    api.deps.admission.bodies = {
      enter(appId, amount) {
        if (amount) counted++
        return bodies.enter(appId, amount)
      },
    }
    const body = '{"audience":"all","message":{"title":"x"}}'
    const calls = Array.from({ length: 40 }, () => {
      const socket = connect(api.port, '127.0.0.1')
      const call = { socket, heard: '' }
      socket.setEncoding('utf8').on('error', () => {})
      socket.on('data', (text: string) => {
        call.heard += text
      })
      socket.write(`${chunked()}\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`)
      return call
    })
    try {
      // All are being received at the same time.
      await until(() => counted >= calls.length)
      for (const { socket } of calls) socket.write('0\r\n\r\n')
      await until(() => calls.every(({ heard }) => heard.includes('\r\n\r\n{')))
      expect(calls.map(({ heard }) => heard.slice(0, 12))).toEqual(calls.map(() => 'HTTP/1.1 200'))
    } finally {
      api.deps.admission.bodies = bodies
      for (const { socket } of calls) socket.destroy()
    }
  })

  it('is refused when it exceeds what its application may send at once, and nothing stays counted', async () => {
    const { bodies } = api.deps.admission
    const leave = bodies.enter(api.appId, 24 * 1024 * 1024 - 10)
    const body = '14\r\n{"audience":"nobody"\r\n1\r\n}\r\n0\r\n\r\n'
    const send = () => api.socket(`${chunked()}\r\nconnection: close\r\n\r\n${body}`)
    try {
      expect(await send()).toMatch(/^HTTP\/1\.1 429 [\s\S]*"code":42901/)
    } finally {
      leave()
    }
    expect(await send()).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":4000\d/)
    // The whole room is free again.
    bodies.enter(api.appId, 24 * 1024 * 1024)()
  })
})

describe('what Node would refuse with an empty body', () => {
  it.each(['/push/notify', '/healthz', '/nothing'])('%s without Host gets an envelope', async (path) => {
    const answer = await api.socket(`GET ${path} HTTP/1.1\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toEqual({
      code: 40001,
      data: null,
      message: 'The header Host is missing.',
    })
    expect(await api.socket(`GET ${path} HTTP/1.0\r\n\r\n`)).not.toContain('Host')
  })

  it.each(['/push/notify', '/push/notify?'])('%s with an unknown expectation is served', async (path) => {
    const body = '{"audience":"all","message":{"title":"x"}}'
    const headers = `expect: x\r\nconnection: close\r\ncontent-length: ${body.length}`
    const answer = await api.socket(`${pushing(path)}\r\n${headers}\r\n\r\n${body}`)
    expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*"task_id":\d/)
  })
})

describe('a server that a gateway shares', () => {
  let server: Server
  let port: number
  beforeAll(async () => {
    server = createApiServer(createApp(api.deps))
    server.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'))
    port = await listen(server)
  })
  afterAll(() => closeServer(server))

  const exchange = (head: string, upgrade: string, body = '') =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1')
      let heard = ''
      socket.setEncoding('utf8').on('data', (text: string) => {
        heard += text
      })
      socket.on('close', () => resolve(heard)).on('error', reject)
      socket.write(`${head}\r\nconnection: close, ${upgrade}\r\n\r\n${body}`)
    })
  /** As Java's HttpClient and `curl --http2` send with every call. */
  const http2 = 'Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__'
  const webSocket = 'Upgrade\r\nupgrade: websocket'

  it.each(['/push/notify', '/push/notify?'])('serves a call of %s that offers HTTP/2', async (path) => {
    const body = '{"audience":"all","message":{"title":"x"}}'
    const answer = await exchange(`${pushing(path)}\r\ncontent-length: ${body.length}`, http2, body)
    expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"code":200,"data":\{"task_id":\d+\},"message":null\}$/)
  })

  it('passes only handshakes at /native to the gateway', async () => {
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x`
    expect(await exchange(get('/healthz'), http2)).toMatch(/^HTTP\/1\.1 200 /)
    for (const path of ['/native', '/native?x=1'])
      expect(await exchange(get(path), webSocket)).toMatch(/^HTTP\/1\.1 101 /)
    const missing = /^HTTP\/1\.1 404 [\s\S]*"code":40401/
    for (const path of ['/native/', '/elsewhere', '/x?/native'])
      expect([path, await exchange(get(path), webSocket)]).toEqual([path, expect.stringMatching(missing)])
    server.removeAllListeners('upgrade')
    expect(await exchange(get('/native'), webSocket)).toMatch(missing)
  })
})

describe('a bomb', () => {
  const zeros = Buffer.alloc(5_000_000, '[')
  const packed: [string, Buffer][] = [
    ['gzip', gzipSync(zeros)],
    ['deflate', deflateSync(zeros)],
    ['br', brotliCompressSync(zeros)],
    ['gzip, gzip', gzipSync(gzipSync(zeros))],
  ]
  it.each(packed)('packed with %s is not unpacked, wherever it is sent', async (encoding, bytes) => {
    expect(bytes.length).toBeLessThan(64 * 1024)
    const headers = { 'content-encoding': encoding, 'content-type': 'application/json' }
    const raw = new Uint8Array(bytes)
    expect((await api.call('/push/notify', { raw, headers })).code).toBe(40001)
    expect((await api.call('/push/register', { raw, headers, token: null })).code).toBe(40001)
    expect((await api.call('/admin/device/import', { raw, headers })).code).toBe(40001)
    const callback = await fetch(`${api.url}/callback/vivo/${api.appId}/${'x'.repeat(22)}`, {
      method: 'POST',
      headers,
      body: raw,
    })
    expect(callback.status).toBe(404)
  })

  /** Bodies of about `size` bytes. */
  const texts: [string, (size: number) => string][] = [
    ['a number of a million digits', (size) => `{"a":${'9'.repeat(size - 10)}}`],
    ['350,000 objects', (size) => `{"a":[${'{},'.repeat((size - 20) / 3)}{}]}`],
    [
      'ninety thousand keys',
      (size) => `{${Array.from({ length: size / 11.65 }, (_, i) => `"k${i}":1`).join()}}`,
    ],
    ['sixty thousand exact integers', (size) => `{"a":[${'9007199254740993,'.repeat(size / 17.4)}1]}`],
    [
      'keys that collide on no way down',
      (size) => `${`{"${'k'.repeat(size / 61.7)}":`.repeat(60)}1${'}'.repeat(60)}`,
    ],
    ['half a million brackets', (size) => '['.repeat(size / 2)],
    ['half a million quotes', (size) => '"'.repeat(size / 2)],
    ['half a million backslashes', (size) => `"${'\\'.repeat(size / 2)}"`],
  ]
  const read = (bytes: Buffer) => {
    try {
      readJson(bytes)
    } catch (error) {
      expect(error).toBeInstanceOf(Failure)
    }
  }
  it.each(texts)('of %s costs no more than its length', (_name, textOf) => {
    // Every character is visited a few times; at quadratic cost, each would be visited a thousand times or more.
    const small = Buffer.from(textOf(16 * 1024))
    expect(countWork(() => read(small))).toBeLessThan(20 * small.length)
    read(Buffer.from(textOf(1024 * 1024)))
  })
})

describe('a public page', () => {
  it.each(['/openapi.json', '/docs'])('%s is built once, however often it is requested', async (path) => {
    // Every build of a page reads the public URL.
    let built = 0
    const deps = Object.defineProperty({ ...api.deps }, 'publicUrl', {
      get() {
        built++
        return api.deps.publicUrl
      },
    })
    const server = createServer(createApp(deps))
    const url = `http://127.0.0.1:${await listen(server)}${path}`
    const open = async () => (await fetch(url)).text()
    try {
      const first = await open()
      expect(built).toBe(1)
      for (let i = 0; i < 100; i++) expect((await open()).length).toBe(first.length)
      expect(built).toBe(1)
    } finally {
      await closeServer(server)
    }
  })
})

describe('a page that is only read', () => {
  const paths = ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs', '/']

  it.each(['/healthz', '/readyz', '/metrics', '/docs'])(
    '%s is found by its absolute address',
    async (path) => {
      const answer = await api.socket(`GET http://x${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
      expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    },
  )

  it.each(paths)('%s refuses other methods', async (path) => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await fetch(`${api.url}${path}`, { method })
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'GET, HEAD'])
      expect(await answer.json()).toEqual({
        code: 40501,
        data: null,
        message: 'This path supports only GET, HEAD.',
      })
    }
    for (const method of ['GET', 'HEAD'])
      expect((await fetch(`${api.url}${path}`, { method, redirect: 'manual' })).status).not.toBe(405)
  })
})

describe('what a caller writes', () => {
  it('never becomes a header or a line of the log', async () => {
    logged.length = 0
    for (const text of nastyTexts) {
      const value = encodeURIComponent(text.toWellFormed())
      for (const target of [`/x${value}`, `/push/certificate?provider=${value}`, `/docs?${value}`]) {
        const answer = await api.socket(
          `GET ${target} HTTP/1.1\r\nhost: x\r\nx-request-id: a b ${value}\r\napp_id: ${value}\r\nconnection: close\r\n\r\n`,
        )
        const head = answer.slice(0, answer.indexOf('\r\n\r\n')).toLowerCase()
        expect(head).toMatch(/^http\/1\.1 [24]\d\d /)
        expect(head).not.toMatch(/^set-cookie: x=1|^location:/m)
        expect(/^x-request-id: (.*)$/m.exec(head)?.[1]).toMatch(/^[0-9a-f-]{36}$/)
      }
    }
    const accept = api.deps.acceptor.accept
    api.deps.acceptor.accept = () =>
      Promise.reject(new Error('a\r\n{"level":"fatal","msg":"forged"}\u001b[31m'))
    try {
      expect(
        (await api.call('/push/notify', { body: { audience: 'all', message: { title: 'x' } } })).code,
      ).toBe(50001)
    } finally {
      api.deps.acceptor.accept = accept
    }
    expect(logged.length).toBeGreaterThan(0)
    for (const line of logged) {
      for (const control of ['\n', '\r', '\u001b']) expect(line.trimEnd()).not.toContain(control)
      expect(JSON.parse(line).level).not.toBe('fatal')
    }
  })

  it('gives access to no file or other page', async () => {
    const up = [
      '../',
      '..%2f',
      '%2e%2e/',
      '%2e%2e%2f',
      '..%5c',
      '..\\',
      '....//',
      '%252e%252e%252f',
      '.%00./',
      '..;/',
    ]
    for (const base of ['/', '/docs/', '/console/', '/console/assets/', '/queues/', '/native/', '/callback/'])
      for (const step of up)
        for (const file of ['etc/passwd', 'package.json', 'apps/api/package.json']) {
          const answer = await api.socket(
            `GET ${base}${step.repeat(4)}${file} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
          )
          // For any name without a dot the console returns its index, which then shows "not found".
          const isPage = base.startsWith('/console/') && answer.includes('content-type: text/html')
          if (!isPage) expect([base, step, answer.slice(0, 12)]).not.toEqual([base, step, 'HTTP/1.1 200'])
          expect(answer).not.toMatch(/root:|"workspaces"|"@herald\/api"/)
        }
  })
})

describe('a page', () => {
  it('cannot be framed by another site, and runs only our scripts', async () => {
    for (const path of ['/docs', '/', '/console/', '/healthz']) {
      const { headers } = await fetch(`${api.url}${path}`)
      expect([path, headers.get('x-frame-options')]).toEqual([path, expect.stringMatching(/SAMEORIGIN|DENY/)])
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy).toMatch(/frame-ancestors '(self|none)'/)
      expect(policy).not.toMatch(/script-src[^;]*unsafe/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('access-control-allow-origin')).toBeNull()
    }
  })

  it('of another site gets no CORS permission', async () => {
    const asked = await fetch(`${api.url}/push/notify`, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    })
    expect(asked.headers.get('access-control-allow-origin')).toBeNull()
    expect(asked.headers.get('access-control-allow-headers')).toBeNull()
  })
})

describe('a resource that was removed during a call', () => {
  it('is not found, instead of an internal error', () => {
    const violation = Object.assign(new Error('violates foreign key constraint'), { code: '23503' })
    expect(failureOfError(violation)).toMatchObject({ failure: { code: 40401 }, unexpected: false })
  })
})

describe('a value that is too long for an index', () => {
  it('is refused, instead of an internal error', () => {
    const exceeded = Object.assign(new Error('index row size 2712 exceeds maximum 2704'), { code: '54000' })
    expect(failureOfError(exceeded)).toMatchObject({ failure: { code: 40002 }, unexpected: false })
  })
})
