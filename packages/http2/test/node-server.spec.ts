import {
  constants,
  createSecureServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { listen } from '@herald/testkit'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { PoolEvent } from '../src/link-set.ts'
import { ca, client, clientPfx, server as serverCertificate } from './support/certificates.ts'
import { begin, makePools, multicast } from './support/pools.ts'
import { until } from './support/until.ts'

const pools = makePools()
afterEach(() => pools.closeAll())

type Handler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, body: string) => void

async function startNode(handler: Handler, options: SecureServerOptions = {}) {
  const sessions: ServerHttp2Session[] = []
  const seen: { headers: IncomingHttpHeaders; body: string }[] = []
  const server = createSecureServer({ ...serverCertificate, ...options })
  server.on('session', (session) => {
    sessions.push(session)
    session.on('error', () => {})
  })
  server.on('stream', (stream, headers) => {
    let body = ''
    stream.on('error', () => {})
    stream.setEncoding('utf8').on('data', (text) => {
      body += text
    })
    stream.on('end', () => {
      seen.push({ headers, body })
      handler(stream, headers, body)
    })
  })
  const port = await listen(server)
  pools.keep({
    close: async () => {
      for (const session of sessions) session.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  })
  return { origin: `https://localhost:${port}`, port, sessions, seen, server }
}

const accept: Handler = (stream) => stream.respond({ ':status': 200 }, { endStream: true })

describe('node:http2', () => {
  it('receives the shared headers, path and body of each of ten thousand requests', async () => {
    const { origin, seen, port } = await startNode(accept)
    const pool = pools.pool({ origin, tls: { ca } })
    const recorder = await multicast(pool, {
      count: 10_000,
      headers: { authorization: `bearer ${'x'.repeat(900)}`, 'apns-topic': 'com.example' },
    })
    expect(recorder.tally()).toEqual({ 200: 10_000 })
    expect(seen).toHaveLength(10_000)
    const indices = new Set<number>()
    for (const { headers, body } of seen) {
      const index = Number(headers[':path']?.slice(4))
      indices.add(index)
      expect(body).toBe(`{"to":${index}}`)
      expect(headers.authorization).toHaveLength(907)
      expect([headers[':method'], headers[':authority']]).toEqual(['POST', `localhost:${port}`])
    }
    expect(indices.size).toBe(10_000)
  })

  it('sends hints, Huffman coded headers of every printable character, bodies and trailers', async () => {
    const printable = Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at)).join('')
    const { origin } = await startNode((stream, headers) => {
      const index = Number(headers[':path']?.slice(4))
      stream.additionalHeaders({ ':status': 103, link: '</style.css>' })
      stream.respond(
        { ':status': 400, 'x-each': `${printable[index % 94]}`.repeat(20), 'x-all': printable },
        { waitForTrailers: true },
      )
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-trailer': String(index) }))
      stream.end(`{"reason":"BadDeviceToken","n":${index}}`)
    })
    const recorder = await multicast(pools.pool({ origin, tls: { ca } }), { count: 500 })
    expect(recorder.tally()).toEqual({ 400: 500 })
    for (const [index, reply] of recorder.replies) {
      expect({ each: reply.header('x-each'), all: reply.header('x-all') }).toEqual({
        each: printable[index % 94]!.repeat(20),
        all: printable,
      })
      expect(JSON.parse(reply.body.toString())).toEqual({ reason: 'BadDeviceToken', n: index })
    }
  })

  it('changes its settings during a multicast: streams to one and back, windows, table', async () => {
    let count = 0
    const { origin, sessions } = await startNode(
      (stream) => {
        accept(stream, {}, '')
        count += 1
        const [session] = sessions
        if (count === 200) session?.settings({ maxConcurrentStreams: 1, initialWindowSize: 0 })
        if (count === 220) session?.settings({ headerTableSize: 0, initialWindowSize: 3 })
        if (count === 260)
          session?.settings({ maxConcurrentStreams: 300, headerTableSize: 4096, initialWindowSize: 65_535 })
      },
      { settings: { maxConcurrentStreams: 50 } },
    )
    // With a window of 0 the first request after the change waits until the server's timer raises it.
    const widen = setInterval(() => sessions[0]?.settings({ initialWindowSize: 100 }), 200)
    const recorder = await multicast(pools.pool({ origin, tls: { ca }, maxConnections: 1 }), { count: 3_000 })
    clearInterval(widen)
    expect(recorder.tally()).toEqual({ 200: 3_000 })
  })

  it('refuses streams above its limit: they are sent again and get a reply', async () => {
    let refusals = 0
    const { origin, seen } = await startNode((stream, headers, body) => {
      if (refusals < 30 && seen.length % 3 === 0) {
        refusals += 1
        stream.close(constants.NGHTTP2_REFUSED_STREAM)
      } else accept(stream, headers, body)
    })
    const pool = pools.pool({ origin, tls: { ca } })
    const recorder = await multicast(pool, { count: 1_000 })
    expect(recorder.tally()).toEqual({ 200: 1_000 })
    expect(pool.stats().replays).toBe(30)
  })

  it('sends GOAWAY during a multicast: nothing is lost, nothing is reported twice', async () => {
    const { origin, sessions } = await startNode((stream, headers, body) => {
      accept(stream, headers, body)
      const { session } = stream
      if (stream.id === 401 && session !== undefined) session.close()
    })
    const events: PoolEvent[] = []
    const pool = pools.pool({
      origin,
      tls: { ca },
      maxConnections: 1,
      onEvent: (event) => events.push(event),
    })
    const recorder = await multicast(pool, { count: 1_000 })
    expect(recorder.tally()).toEqual({ 200: 1_000 })
    expect(recorder.twice).toEqual([])
    expect(sessions.length).toBeGreaterThan(1)
    expect(events.map((event) => event.kind)).toContain('goaway')
  })

  it('is destroyed during a multicast: what was sent is unknown, the rest is sent on a new connection', async () => {
    let destroyed = false
    const { origin } = await startNode((stream, headers, body) => {
      if (destroyed || stream.id !== 401) return accept(stream, headers, body)
      destroyed = true
      stream.session?.destroy()
    })
    const pool = pools.pool({ origin, tls: { ca }, maxConnections: 1, maxStreams: 20 })
    const recorder = await multicast(pool, { count: 1_000 })
    const { 200: answered = 0, ...others } = recorder.tally()
    expect(recorder.reported).toBe(1_000)
    expect(answered).toBeGreaterThanOrEqual(980)
    for (const outcome of Object.keys(others)) expect(['unknown:closed', 'unknown:reset']).toContain(outcome)
  })

  it('requires a client certificate: PEM and PKCS#12 are accepted, without one nothing is sent', async () => {
    const { origin, seen } = await startNode(accept, { ca, requestCert: true, rejectUnauthorized: true })
    for (const identity of [client, clientPfx]) {
      const recorder = await multicast(pools.pool({ origin, tls: { ca, ...identity } }), { count: 3 })
      expect(recorder.tally()).toEqual({ 200: 3 })
    }
    const stranger = await multicast(pools.pool({ origin, tls: { ca } }), { count: 3, deadlineMs: 400 })
    expect(stranger.tally()).toEqual({ 'unsent:connect': 3 })
    expect(seen).toHaveLength(6)
  })

  it('keeps an idle connection, pings it and uses it again', async () => {
    const { origin, sessions } = await startNode(accept)
    const pool = pools.pool({ origin, tls: { ca }, pingEveryMs: 50, maxConnections: 1 })
    await multicast(pool, { count: 10 })
    await until('a ping came back', () => pool.stats().connections[0]?.roundTripMs !== undefined)
    await multicast(pool, { count: 10 })
    expect([sessions.length, pool.stats().opened, pool.stats().replies]).toEqual([1, 1, 20])
  })

  it('serves many multicasts at once, each with its own headers', async () => {
    const { origin, seen } = await startNode(accept)
    const pool = pools.pool({ origin, tls: { ca }, maxConnections: 2 })
    const running = Array.from({ length: 40 }, (_, multicast) =>
      begin(pool, {
        count: 50,
        headers: { 'x-multicast': String(multicast), 'x-large': String(multicast).repeat(200) },
        path: (index) => `/${multicast}/${index}`,
      }),
    )
    await Promise.all(running.map(({ done }) => done))
    for (const { recorder } of running) expect(recorder.tally()).toEqual({ 200: 50 })
    for (const { headers } of seen) expect(headers[':path']?.split('/')[1]).toBe(headers['x-multicast'])
    expect(new Set(seen.map(({ headers }) => headers[':path'])).size).toBe(2_000)
  })
})
