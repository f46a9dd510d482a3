import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { connect, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer, TLSSocket } from 'node:tls'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { reach } from '../src/dial.ts'
import { proxyFor, readEndpoint } from '../src/endpoint.ts'
import type { Pool } from '../src/pool.ts'
import { ca, server as certificate, client } from './support/certificates.ts'
import { makePools, multicast } from './support/pools.ts'
import { listen, startRawServer } from './support/raw-server.ts'
import { answer } from './support/reply-frames.ts'
import { stoppedClock } from './support/stopped-clock.ts'

const pools = makePools()
afterEach(() => pools.closeAll())

const tls = { ...certificate, ALPNProtocols: ['h2'] }
const echo = {
  onRequest: ({ send }: { send(frame: Uint8Array): void }, stream: number) => send(answer(stream)),
}

/** Sends two requests over a pool that gets no connection. The clock stands still, so its first failure ends the call, not the limit. */
async function sendInVain(pool: Pool) {
  stoppedClock()
  const recorder = await multicast(pool, { count: 2, deadlineMs: 100 })
  jest.restoreAllMocks()
  return recorder
}

/** A proxy that supports CONNECT; with `refuse` it replies with that status instead. */
async function startProxy(refuse?: string, { secure = false } = {}) {
  const asked: { target: string; authorization: string | undefined }[] = []
  const identities: string[] = []
  const sockets: Socket[] = []
  const server = secure
    ? createHttpsServer({ ...certificate, ca, requestCert: true, rejectUnauthorized: false })
    : createHttpServer()
  server.on('connect', (request: IncomingMessage, near: Socket, head: Buffer) => {
    asked.push({ target: request.url!, authorization: request.headers['proxy-authorization'] })
    sockets.push(near)
    if (near instanceof TLSSocket) identities.push(...Object.keys(near.getPeerCertificate()))
    near.on('error', () => {})
    if (refuse !== undefined) return near.end(`HTTP/1.1 ${refuse}\r\n\r\n`)
    const [host, port] = request.url!.split(':')
    const far = connect(Number(port), host)
    sockets.push(far)
    far.on('error', () => near.destroy())
    near.write('HTTP/1.1 200 Connection Established\r\nx-proxy: yes\r\n\r\n')
    if (head.length > 0) far.write(head)
    far.pipe(near).pipe(far)
  })
  const port = await listen(server)
  pools.keep({
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  })
  return { port, asked, identities }
}

/** A server that sends `bytes` on every connection and ignores its input. */
async function startFixedReply(bytes: string) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.on('error', () => {}).resume())
    if (bytes !== '') socket.end(bytes)
  })
  pools.keep({
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  })
  return { port: await listen(server) }
}

describe('connecting', () => {
  it('checks the certificate: an unknown issuer or another name gets no request', async () => {
    const server = pools.keep(await startRawServer(echo, tls))
    const strange = await sendInVain(pools.pool({ origin: server.origin }))
    expect(strange.tally()).toEqual({ 'unsent:connect': 2 })
    const misnamed = pools.pool({ origin: server.origin, tls: { ca, servername: 'other.example' } })
    const recorder = await sendInVain(misnamed)
    expect(recorder.failures.get(0)?.message).toContain('other.example')
    expect(server.paths).toEqual([])
    const known = await multicast(pools.pool({ origin: server.origin, tls: { ca } }), { count: 2 })
    expect(known.tally()).toEqual({ 200: 2 })
  })

  it('fails when the server does not select HTTP/2', async () => {
    const server = createTlsServer(certificate, (socket) =>
      socket.on('error', () => {}).end('HTTP/1.1 400 No\r\n\r\n'),
    )
    const port = await listen(server)
    const recorder = await sendInVain(pools.pool({ origin: `https://localhost:${port}`, tls: { ca } }))
    expect(recorder.failures.get(0)?.message).toContain('did not agree to HTTP/2')
    await new Promise((resolve) => server.close(resolve))
  })

  it.each(['HTTP/1.1 400 Bad Request\r\n\r\n', '<html>', 'H'])(
    'fails when the server replies to the preface with the text %j',
    async (text) => {
      const { port } = await startFixedReply(text)
      const recorder = await sendInVain(pools.pool({ origin: `http://localhost:${port}` }))
      expect(recorder.tally()).toEqual({ 'unsent:connect': 2 })
      expect(recorder.failures.get(0)?.message).toContain('did not agree to HTTP/2 (it replied with text)')
    },
  )

  it.each([['\0\0'], ['\x15\x03\x01\0\x02\x02\x46'], ['']])(
    'does not blame the protocol of a server that sends %j and closes the connection',
    async (bytes) => {
      const server = createServer((socket) =>
        socket
          .on('error', () => {})
          .resume()
          .end(bytes),
      )
      const port = await listen(server)
      const recorder = await sendInVain(pools.pool({ origin: `http://localhost:${port}` }))
      expect(recorder.tally()).toEqual({ 'unsent:connect': 2 })
      expect(recorder.failures.get(0)?.message).not.toContain('did not agree')
      await new Promise((resolve) => server.close(resolve))
    },
  )

  it('uses a proxy, with credentials and TLS to the server behind it', async () => {
    const server = pools.keep(await startRawServer(echo, tls))
    const proxy = await startProxy()
    const pool = pools.pool({
      origin: server.origin,
      tls: { ca },
      proxy: `http://me:p%40ss@localhost:${proxy.port}`,
    })
    const recorder = await multicast(pool, { count: 500 })
    expect(recorder.tally()).toEqual({ 200: 500 })
    expect(proxy.asked).toEqual([
      {
        target: `localhost:${server.port}`,
        authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
      },
    ])
  })

  it('checks the certificate of a proxy with the same authorities, and does not show it the client certificate', async () => {
    const server = pools.keep(await startRawServer(echo, { ...tls, ca, requestCert: true }))
    const proxy = await startProxy(undefined, { secure: true })
    const through = { origin: server.origin, proxy: `https://localhost:${proxy.port}` }
    const recorder = await multicast(pools.pool({ ...through, tls: { ca, ...client } }), { count: 5 })
    expect(recorder.tally()).toEqual({ 200: 5 })
    expect(proxy.asked).toHaveLength(1)
    expect(proxy.identities).toEqual([])
    const strange = await sendInVain(pools.pool({ ...through, tls: client }))
    expect(strange.failures.get(0)?.message).toContain('certificate')
    expect(proxy.asked).toHaveLength(1)
  })

  it('uses a proxy without TLS too', async () => {
    const server = pools.keep(await startRawServer(echo))
    const proxy = await startProxy()
    const recorder = await multicast(
      pools.pool({ origin: server.origin, proxy: `http://localhost:${proxy.port}` }),
      { count: 5 },
    )
    expect(recorder.tally()).toEqual({ 200: 5 })
  })

  it('fails with the reason when the proxy refuses, is silent or is no proxy', async () => {
    const refusing = await startProxy('407 Proxy Authentication Required')
    const silent = await startFixedReply('')
    const talking = await startFixedReply('220 mail ready\r\n\r\n')
    const said = []
    for (const { port } of [refusing, silent, talking]) {
      const pool = pools.pool({
        origin: 'https://localhost:1',
        proxy: `http://localhost:${port}`,
        connectTimeoutMs: port === silent.port ? 150 : 120_000,
      })
      const recorder = await sendInVain(pool)
      said.push(recorder.failures.get(0)?.message)
    }
    expect(said[0]).toContain('refused to connect to localhost:1 (407)')
    expect(said[1]).toContain('within 150 ms')
    expect(said[2]).toContain('not an HTTP reply')
  })

  it.each([
    [
      'https://api.push.apple.com',
      {
        secure: true,
        host: 'api.push.apple.com',
        port: 443,
        scheme: 'https',
        authority: 'api.push.apple.com',
      },
    ],
    ['https://api.push.apple.com:2197', { port: 2197, authority: 'api.push.apple.com:2197' }],
    [
      'http://[::1]:8080',
      { secure: false, host: '::1', port: 8080, scheme: 'http', authority: '[::1]:8080' },
    ],
  ])('reads %s', (origin, endpoint) => {
    expect(readEndpoint(origin)).toMatchObject(endpoint)
  })
})

describe('the proxy of a call', () => {
  const remote = 'http://proxy.test:3128'

  it.each([
    'http://127.0.0.1:9000',
    'https://127.1.2.3',
    'http://[::1]:9000',
    'http://localhost',
    'http://a.localhost',
  ])('to %s is not one on another machine', (origin) => {
    expect(readEndpoint(origin, remote).proxy).toBeUndefined()
    expect(proxyFor(new URL(origin), remote)).toBeUndefined()
    const local = 'http://127.0.0.1:3128'
    expect(readEndpoint(origin, local).proxy?.port).toBe(3128)
    expect(proxyFor(new URL(origin), local)).toBe(local)
  })

  it.each(['https://api.vendor.test', 'https://128.0.0.1', 'https://[::2]', 'https://localhost.test'])(
    'to %s is the given one',
    (origin) => {
      expect(readEndpoint(origin, remote).proxy?.host).toBe('proxy.test')
      expect(readEndpoint(origin).proxy).toBeUndefined()
    },
  )
})

describe('reaching a server', () => {
  const abort = () => AbortSignal.timeout(120_000)

  it('succeeds for a server with HTTP/1.1 only, with and without a proxy', async () => {
    const server = createTlsServer({ ...certificate, ALPNProtocols: ['http/1.1'] }, (socket) =>
      socket.on('error', () => {}).resume(),
    )
    const port = await listen(server)
    const proxy = await startProxy()
    await reach(`https://localhost:${port}/v1/send`, { tls: { ca }, abort: abort() })
    await reach(`https://localhost:${port}`, {
      tls: { ca },
      proxy: `http://localhost:${proxy.port}`,
      abort: abort(),
    })
    expect(proxy.asked.map(({ target }) => target)).toEqual([`localhost:${port}`])
    await expect(reach(`https://localhost:${port}`, { abort: abort() })).rejects.toThrow(/certificate/)
    await new Promise((resolve) => server.close(resolve))
  })

  it('says why it failed', async () => {
    const silent = await startFixedReply('')
    await expect(reach('http://localhost:1', { abort: abort() })).rejects.toThrow()
    await expect(
      reach(`https://localhost:${silent.port}`, { abort: AbortSignal.timeout(100) }),
    ).rejects.toThrow(/timeout|aborted/)
  })
})
