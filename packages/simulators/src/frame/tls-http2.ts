import { constants, performServerHandshake, type ServerHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { Acceptance } from './ledger.ts'
import type { SimState } from './state.ts'
import { maxBytes, type Sent, type TlsAnswer, type TlsSimOptions } from './tls-exchange.ts'

/** Replies written within this time before a connection is cut may not have arrived. */
const recentMs = 2000

/** The HTTP/2 server of a simulator; call the result with each connection. */
export function openHttp2Server<Connection>(
  options: TlsSimOptions<Connection>,
  state: SimState,
  serve: (sent: Sent<Connection>) => void,
): (socket: TLSSocket) => void {
  return (socket) => {
    const session = performServerHandshake(socket, {
      settings: options.firstStreams === undefined ? {} : { maxConcurrentStreams: options.firstStreams },
    })
    const connection = options.openConnection(socket, session)
    const recent = keepRecent()
    let isCut = false
    session.on('error', () => session.destroy())
    const refusal = options.refuseConnection?.(connection)
    if (refusal !== undefined) {
      // After the handshake, as the real service does it: the client gets no HTTP status.
      session.goaway(constants.NGHTTP2_NO_ERROR, 0, Buffer.from(refusal))
      session.close()
      return
    }
    let taken = 0
    let open = 0
    let closing = false
    // Not inside the session's own events: closing it while it reads crashes Node with a segmentation fault.
    const later = (action: () => void) =>
      setImmediate(() => {
        if (!session.destroyed) action()
      })
    const closeWhenDone = () => {
      if (closing && open === 0) later(() => session.close())
    }
    /** Whether the fault `goawayAfter` allows one more request. The last one sends GOAWAY. */
    const admits = (stream: ServerHttp2Stream, path: string): boolean => {
      const max = state.faults.goawayAfter
      const isSim = path.startsWith('/_sim/')
      if (closing || (max !== undefined && !isSim && taken >= max)) return false
      if (!isSim) taken++
      if (max !== undefined && taken >= max) {
        closing = true
        const { id } = stream
        later(() => session.goaway(constants.NGHTTP2_NO_ERROR, id, Buffer.from(options.goawayData)))
      }
      return true
    }
    session.on('stream', (stream, headers, _flags, rawHeaders) => {
      stream.on('error', () => {})
      const target = String(headers[':path'])
      if (!admits(stream, target)) return stream.close(constants.NGHTTP2_REFUSED_STREAM)
      open++
      stream.on('close', () => {
        open--
        closeWhenDone()
      })
      const method = String(headers[':method'])
      readStream(stream, (body) =>
        serve({
          exchange: {
            method,
            target,
            headers,
            rawHeaders: rawHeaders as unknown as string[],
            body,
            connection,
          },
          reply(answer) {
            if (!isCut) return replyOn(stream, answer)
            // The caller counts it as lost: a second cut must not return it too.
            recent.take()
            return false
          },
          cut() {
            // Requests that arrived together with this one are still served in this turn, but get no reply.
            isCut = true
            setImmediate(() => socket.destroy())
            return recent.take()
          },
          noteAccepted: recent.add,
        }),
      )
    })
  }
}

function readStream(stream: ServerHttp2Stream, done: (body: string) => void): void {
  if (stream.endAfterHeaders) {
    done('')
    return
  }
  let body = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    body += chunk
    if (body.length > maxBytes) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  })
  stream.on('end', () => {
    if (body.length <= maxBytes) done(body)
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

/** Keeps what was accepted over a connection in the last seconds. */
function keepRecent() {
  let since = Date.now()
  let previous: Acceptance[] = []
  let current: Acceptance[] = []
  const roll = () => {
    const age = Date.now() - since
    if (age < recentMs) return
    previous = age < 2 * recentMs ? current : []
    current = []
    since = Date.now()
  }
  return {
    add(accepted: readonly Acceptance[]) {
      roll()
      current.push(...accepted)
    },
    take() {
      roll()
      const all = [...previous, ...current]
      previous = []
      current = []
      return all
    },
  }
}
