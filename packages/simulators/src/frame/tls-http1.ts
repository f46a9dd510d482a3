import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { Acceptance } from './ledger.ts'
import { maxBytes, type Sent, type TlsAnswer, type TlsSimOptions } from './tls-exchange.ts'

/** The HTTP/1.1 server of a simulator; it gets its connections by the event `connection`. */
export function openHttp1Server<Connection>(
  options: Pick<TlsSimOptions<Connection>, 'http1' | 'openConnection'>,
  serve: (sent: Sent<Connection>) => void,
): Server {
  const connections = new WeakMap<TLSSocket, { connection: Connection }>()
  const connectionOf = (socket: TLSSocket): Connection => {
    const known = connections.get(socket) ?? { connection: options.openConnection(socket, undefined) }
    connections.set(socket, known)
    return known.connection
  }
  const server = createServer((incoming, response) => {
    readIncoming(incoming, (body) => {
      const { method = 'GET', url: target = '/', headers, rawHeaders } = incoming
      if (!options.http1 && !target.startsWith('/_sim/'))
        return write(response, { status: 505, body: 'HTTP/2 only' })
      const socket = incoming.socket as TLSSocket
      let accepted: readonly Acceptance[] = []
      serve({
        exchange: { method, target, headers, rawHeaders, body, connection: connectionOf(socket) },
        reply: (answer) => write(response, answer),
        cut: () => {
          socket.destroy()
          return accepted
        },
        noteAccepted: (messages) => {
          accepted = messages
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
    if (body.length > maxBytes) incoming.socket.destroy()
  })
  incoming.on('error', () => {})
  incoming.on('end', () => {
    if (body.length <= maxBytes) done(body)
  })
}

function write(response: ServerResponse, { status, headers, body = '' }: TlsAnswer): boolean {
  if (response.destroyed) return false
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
  response.end(body)
  return true
}
