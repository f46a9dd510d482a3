import type { AddressInfo } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import { createAuthority } from './sim-authority.ts'
import { falls, openSimState, simRequestOf } from './sim-state.ts'
import type { Sent, TlsSimFrame, TlsSimOptions } from './sim-tls-exchange.ts'
import { openHttp1Side } from './sim-tls-http1.ts'
import { openHttp2Side } from './sim-tls-http2.ts'

/**
 * The frame of a vendor simulator that speaks HTTP/2 over TLS on 127.0.0.1, with a certificate of its own authority. HTTP/1.1
 * is offered beside it, so that any tool reaches the /_sim/ routes.
 */
export async function startTlsSimServer<Line>(options: TlsSimOptions<Line>): Promise<TlsSimFrame> {
  const state = openSimState(options)
  const authority = createAuthority('Herald simulator')
  const issued = authority.issue({ subject: { CN: 'localhost' }, hosts: ['localhost', '127.0.0.1'] })
  const sockets = new Set<TLSSocket>()
  const http1 = openHttp1Side(options, serve)
  const serveHttp2 = openHttp2Side(options, state, serve)

  const server = createServer(
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

  function serve({ exchange, reply, cut, accepted }: Sent<Line>): void {
    if (exchange.target.startsWith('/_sim/')) {
      const { status, body } = state.route(simRequestOf(exchange.method, exchange.target, {}, exchange.body))
      reply({ status: status ?? 200, headers: json, body: JSON.stringify(body) })
      return
    }
    const { latencyMs, hang, throttle, unavailable, cut: cutShare } = state.faults
    const answer = () => {
      if (falls(hang)) return
      if (falls(unavailable)) return void reply(options.unavailable(exchange))
      const slowDown = falls(throttle) ? options.throttled(exchange) : undefined
      if (slowDown) return void reply(slowDown)
      const before = state.book.entries()
      const given = options.answer(exchange, frame)
      const taken = state.book.entries() - before
      accepted(taken)
      if (falls(cutShare)) state.missAnswer(cut())
      else if (!reply(given)) state.missAnswer(taken)
    }
    if (latencyMs) setTimeout(answer, latencyMs)
    else answer()
  }

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
