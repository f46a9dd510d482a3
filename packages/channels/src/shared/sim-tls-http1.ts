import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { mostBytes, type Sent, type TlsAnswer, type TlsSimOptions } from './sim-tls-exchange.ts'

/** The HTTP/1.1 side of a simulator; it takes connections by the event `connection`. */
export function openHttp1Side<Line>(
  options: Pick<TlsSimOptions<Line>, 'http1' | 'openLine'>,
  serve: (sent: Sent<Line>) => void,
): Server {
  const lines = new WeakMap<TLSSocket, { line: Line }>()
  const lineOf = (socket: TLSSocket): Line => {
    const known = lines.get(socket) ?? { line: options.openLine(socket, undefined) }
    lines.set(socket, known)
    return known.line
  }
  const server = createServer((incoming, response) => {
    readIncoming(incoming, (body) => {
      const { method = 'GET', url: target = '/', headers, rawHeaders } = incoming
      if (!options.http1 && !target.startsWith('/_sim/'))
        return write(response, { status: 505, body: 'HTTP/2 only' })
      const socket = incoming.socket as TLSSocket
      let taken = 0
      serve({
        exchange: { method, target, headers, rawHeaders, body, line: lineOf(socket) },
        reply: (answer) => write(response, answer),
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
  server.keepAliveTimeout = 60_000
  return server
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

function write(response: ServerResponse, { status, headers, body = '' }: TlsAnswer): boolean {
  if (response.destroyed) return false
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
  response.end(body)
  return true
}
