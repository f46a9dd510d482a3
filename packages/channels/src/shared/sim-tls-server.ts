import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import type { Simulator } from '../simulator.ts'
import { type Authority, createAuthority } from './sim-authority.ts'
import { falls, openSimState, type SimState, type SimStateOptions, simRequestOf } from './sim-state.ts'

/** A request to the simulated vendor, with what the simulator remembers of its connection. */
export type TlsExchange<Line> = {
  method: string
  target: string
  headers: IncomingHttpHeaders
  /** Name, value, name, value, as they came: repeated headers show here only. */
  rawHeaders: readonly string[]
  body: string
  line: Line
}

/** No body: headers alone end the answer. */
export type TlsAnswer = { status: number; headers?: Record<string, string>; body?: string }

export type TlsSimOptions<Line> = SimStateOptions & {
  /** 0 or absent: a free port. */
  port?: number
  /** Asks clients for a certificate; any is let in, the vendor's rules judge it. */
  clientCertificates?: boolean
  /** Streams a new connection may open. */
  firstStreams?: number
  /** The vendor itself is also served over HTTP/1.1; otherwise only /_sim/ is. */
  http1?: boolean
  /** What is remembered of a connection. */
  openLine(socket: TLSSocket, session: ServerHttp2Session | undefined): Line
  /** GOAWAY data to part with before the first request, e.g. for a certificate of the wrong environment. */
  refuseLine?(line: Line): string | undefined
  answer(exchange: TlsExchange<Line>, frame: TlsSimFrame): TlsAnswer
  /** The vendor's own "slow down" and 5xx; undefined for requests it never gives them to. */
  throttled(exchange: TlsExchange<Line>): TlsAnswer | undefined
  unavailable(exchange: TlsExchange<Line>): TlsAnswer
  /** GOAWAY data when the fault `goawayAfter` strikes. */
  farewell: string
}

export type TlsSimFrame = Simulator & SimState & { ca: string; authority: Authority }

const mostBytes = 1 << 20

type Sent = {
  exchange: TlsExchange<unknown>
  /** False when nobody is there to hear it. */
  reply(answer: TlsAnswer): boolean
  /** Answers how many devices were accepted over this connection of late: their answers may be lost with it. */
  cut(): number
  accepted(devices: number): void
}

/** Answers written so shortly before a cut may still be on their way. */
const recentMs = 2000

/**
 * The frame of a vendor simulator that speaks HTTP/2 over TLS on 127.0.0.1, with a certificate of its own authority. HTTP/1.1
 * is offered beside it, so that any tool reaches the /_sim/ routes.
 */
export async function startTlsSimServer<Line>(options: TlsSimOptions<Line>): Promise<TlsSimFrame> {
  const state = openSimState(options)
  const authority = createAuthority('Herald simulator')
  const issued = authority.issue({ subject: { CN: 'localhost' }, hosts: ['localhost', '127.0.0.1'] })
  const sockets = new Set<TLSSocket>()

  const server = createTlsServer(
    {
      ...issued,
      ALPNProtocols: ['h2', 'http/1.1'],
      requestCert: options.clientCertificates ?? false,
      rejectUnauthorized: false,
    },
    (socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      socket.on('error', () => socket.destroy())
      if (socket.alpnProtocol === 'h2') serveHttp2(socket)
      else http1.emit('connection', socket)
    },
  )

  function serve({ exchange, reply, cut, accepted }: Sent): void {
    if (exchange.target.startsWith('/_sim/')) {
      const { status, body } = state.route(simRequestOf(exchange.method, exchange.target, {}, exchange.body))
      reply({ status: status ?? 200, headers: json, body: JSON.stringify(body) })
      return
    }
    const typed = exchange as TlsExchange<Line>
    const { latencyMs, hang, throttle, unavailable, cut: cutShare } = state.faults
    const answer = () => {
      if (falls(hang)) return
      if (falls(unavailable)) return void reply(options.unavailable(typed))
      const slowDown = falls(throttle) ? options.throttled(typed) : undefined
      if (slowDown) return void reply(slowDown)
      const before = state.book.entries()
      const given = options.answer(typed, frame)
      const taken = state.book.entries() - before
      accepted(taken)
      if (falls(cutShare)) state.missAnswer(cut())
      else if (!reply(given)) state.missAnswer(taken)
    }
    if (latencyMs) setTimeout(answer, latencyMs)
    else answer()
  }

  function serveHttp2(socket: TLSSocket): void {
    const session = performServerHandshake(socket, {
      settings: options.firstStreams === undefined ? {} : { maxConcurrentStreams: options.firstStreams },
    })
    const line = options.openLine(socket, session)
    const recent = countRecent()
    session.on('error', () => session.destroy())
    const refusal = options.refuseLine?.(line)
    if (refusal !== undefined) {
      // Once the handshake is through, as APNs does it: the client learns of it without any HTTP status.
      session.goaway(constants.NGHTTP2_NO_ERROR, 0, Buffer.from(refusal))
      session.close()
      return
    }
    let taken = 0
    let open = 0
    let parting = false
    // Never from inside the session's own events: closing it while it reads ends Node with a segmentation fault.
    const later = (part: () => void) =>
      setImmediate(() => {
        if (!session.destroyed) part()
      })
    const partWhenDone = () => {
      if (parting && open === 0) later(() => session.close())
    }
    session.on('stream', (stream, headers, _flags, rawHeaders) => {
      stream.on('error', () => {})
      const most = state.faults.goawayAfter
      const isSim = String(headers[':path']).startsWith('/_sim/')
      if (parting || (most !== undefined && !isSim && taken >= most))
        return stream.close(constants.NGHTTP2_REFUSED_STREAM)
      if (!isSim) taken++
      if (most !== undefined && taken >= most) {
        parting = true
        const { id } = stream
        later(() => session.goaway(constants.NGHTTP2_NO_ERROR, id, Buffer.from(options.farewell)))
      }
      open++
      stream.on('close', () => {
        open--
        partWhenDone()
      })
      readStream(stream, (body) =>
        serve({
          exchange: {
            method: String(headers[':method']),
            target: String(headers[':path']),
            headers,
            rawHeaders: rawHeaders as unknown as string[],
            body,
            line,
          },
          reply: (answer) => replyOn(stream, answer),
          cut: () => {
            setImmediate(() => socket.destroy())
            return recent.take()
          },
          accepted: recent.add,
        }),
      )
    })
  }

  const lines = new WeakMap<TLSSocket, Line>()
  const http1 = createHttpServer((incoming, response) => {
    readIncoming(incoming, (body) => {
      const target = incoming.url ?? '/'
      if (!options.http1 && !target.startsWith('/_sim/'))
        return writeHttp1(response, { status: 505, body: 'HTTP/2 only' })
      const socket = incoming.socket as TLSSocket
      let line = lines.get(socket)
      if (line === undefined) {
        line = options.openLine(socket, undefined)
        lines.set(socket, line)
      }
      const { method = 'GET', headers, rawHeaders } = incoming
      let taken = 0
      serve({
        exchange: { method, target, headers, rawHeaders, body, line },
        reply: (answer) => writeHttp1(response, answer),
        cut: () => {
          socket.destroy()
          return taken
        },
        accepted: (devices) => {
          taken = devices
        },
      })
    })
  })
  http1.keepAliveTimeout = 60_000

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const frame: TlsSimFrame = Object.assign(state, {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: authority.cert,
    authority,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  })
  return frame
}

const json = { 'content-type': 'application/json' }

function readStream(stream: ServerHttp2Stream, done: (body: string) => void): void {
  if (stream.endAfterHeaders) {
    done('')
    return
  }
  let body = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    body += chunk
    if (body.length > mostBytes) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  })
  stream.on('end', () => {
    if (body.length <= mostBytes) done(body)
  })
}

function replyOn(stream: ServerHttp2Stream, { status, headers, body }: TlsAnswer): boolean {
  if (stream.destroyed || stream.closed) return false
  if (body === undefined) stream.respond({ ':status': status, ...headers }, { endStream: true })
  else {
    stream.respond({ ':status': status, ...headers })
    stream.end(body)
  }
  return true
}

/** Devices accepted over a connection within the last moments. */
function countRecent() {
  let [since, former, present] = [Date.now(), 0, 0]
  const turn = () => {
    const age = Date.now() - since
    if (age < recentMs) return
    former = age < 2 * recentMs ? present : 0
    present = 0
    since = Date.now()
  }
  return {
    add(devices: number) {
      turn()
      present += devices
    },
    take() {
      turn()
      const all = former + present
      former = 0
      present = 0
      return all
    },
  }
}

function readIncoming(incoming: IncomingMessage, done: (body: string) => void): void {
  let body = ''
  incoming.setEncoding('utf8')
  incoming.on('data', (chunk: string) => {
    body += chunk
    if (body.length > mostBytes) incoming.socket.destroy()
  })
  incoming.on('error', () => {})
  incoming.on('end', () => {
    if (body.length <= mostBytes) done(body)
  })
}

function writeHttp1(response: ServerResponse, { status, headers, body = '' }: TlsAnswer): boolean {
  if (response.destroyed) return false
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
  response.end(body)
  return true
}
