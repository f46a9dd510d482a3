import type { AddressInfo } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import { createAuthority } from './authority.ts'
import { findPresetAnswer, strikes, withRetryAfter } from './faults.ts'
import { openSimState, simRequestOf } from './state.ts'
import type { Sent, TlsSimFrame, TlsSimOptions } from './tls-exchange.ts'
import { openHttp1Server } from './tls-http1.ts'
import { openHttp2Server } from './tls-http2.ts'

/**
 * The frame of a vendor simulator that serves HTTP/2 over TLS on 127.0.0.1, with a certificate of its own authority. It also
 * serves HTTP/1.1, so that every tool can call the /_sim/ routes.
 */
export async function startTlsSimServer<Connection>(
  options: TlsSimOptions<Connection>,
): Promise<TlsSimFrame> {
  const state = openSimState(options)
  const authority = createAuthority('Herald simulator')
  const issued = authority.issue({ subject: { CN: 'localhost' }, hosts: ['localhost', '127.0.0.1'] })
  const sockets = new Set<TLSSocket>()
  const http1 = openHttp1Server(options, serve)
  const serveHttp2 = openHttp2Server(options, state, serve)

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

  function serve({ exchange, reply, cut, noteAccepted }: Sent<Connection>): void {
    if (exchange.target.startsWith('/_sim/')) {
      const { status, body } = state.route(simRequestOf(exchange.method, exchange.target, {}, exchange.body))
      reply({ status: status ?? 200, headers: json, body: JSON.stringify(body) })
      return
    }
    state.noteRequest()
    const { faults } = state
    const { latencyMs, hang, throttle, unavailable, cut: cutShare } = faults
    const answer = () => {
      if (strikes(hang)) return
      const preset = findPresetAnswer(faults, exchange.target, exchange.body)
      if (preset) return void reply(preset)
      if (strikes(unavailable)) return void reply(withRetryAfter(options.unavailable(exchange), faults))
      const slowDown = strikes(throttle) ? options.throttled(exchange) : undefined
      if (slowDown) return void reply(slowDown)
      const { result, accepted } = state.accepted.collect(() => options.answer(exchange, frame))
      noteAccepted(accepted)
      if (strikes(cutShare)) state.noteUnheard(cut())
      else if (!reply(result)) state.noteUnheard(accepted)
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
