import { constants, performServerHandshake, type ServerHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { SimState } from './sim-state.ts'
import { mostBytes, type Sent, type TlsAnswer, type TlsSimOptions } from './sim-tls-exchange.ts'

/** Answers written so shortly before a cut may still be on their way. */
const recentMs = 2000

/** The HTTP/2 side of a simulator: one call of the result for each connection. */
export function openHttp2Side<Line>(
  options: TlsSimOptions<Line>,
  state: SimState,
  serve: (sent: Sent<Line>) => void,
): (socket: TLSSocket) => void {
  return (socket) => {
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
    /** Whether the fault `goawayAfter` leaves room for one more; the last one is told goodbye. */
    const admits = (stream: ServerHttp2Stream, path: string): boolean => {
      const most = state.faults.goawayAfter
      const isSim = path.startsWith('/_sim/')
      if (parting || (most !== undefined && !isSim && taken >= most)) return false
      if (!isSim) taken++
      if (most !== undefined && taken >= most) {
        parting = true
        const { id } = stream
        later(() => session.goaway(constants.NGHTTP2_NO_ERROR, id, Buffer.from(options.farewell)))
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
        partWhenDone()
      })
      const method = String(headers[':method'])
      readStream(stream, (body) =>
        serve({
          exchange: { method, target, headers, rawHeaders: rawHeaders as unknown as string[], body, line },
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
