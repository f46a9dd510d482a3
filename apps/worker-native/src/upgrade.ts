import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { callerAddress } from '@herald/program'
import { type WebSocket, WebSocketServer } from 'ws'
import { subprotocol } from './protocol.ts'
import { createRateLimiter } from './rate-limiter.ts'

export const path = '/native'

/** Handshakes of one address: a storm of reconnections passes, a flood does not. */
const HANDSHAKES = { burst: 2000, perSecond: 500 }
/** Nothing a device says is longer: an acknowledgement of a thousand tasks has 17 KB. */
const MOST_BYTES = 32 * 1024

export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/** Turns HTTP requests into connections, or refuses them before they cost anything. */
export function createUpgrade(deps: {
  /** Proxies in front of us that append to x-forwarded-for the address they saw. */
  trustedProxies: number
  perAddress: number
  countOf(address: string): number
  isLeaving(): boolean
  accept(socket: WebSocket, address: string): void
}): Upgrade {
  const handshakes = createRateLimiter(HANDSHAKES)
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // Compression costs tens of kilobytes a connection; messages are small.
    perMessageDeflate: false,
    maxPayload: MOST_BYTES,
    handleProtocols: () => subprotocol,
  })

  return (request, socket, head) => {
    const address = callerAddress(request, deps.trustedProxies)
    if (deps.isLeaving()) return refuse(socket, '503 Service Unavailable', 'This gateway is going away.')
    if (!offers(request)) {
      return refuse(socket, '400 Bad Request', `A connection needs the WebSocket subprotocol ${subprotocol}.`)
    }
    if (deps.perAddress > 0) {
      const tooMany = deps.countOf(address) >= deps.perAddress
      if (tooMany || !handshakes.allows(address))
        return refuse(socket, '429 Too Many Requests', 'Too many connections from this address.')
    }
    server.handleUpgrade(request, socket, head, (accepted) => deps.accept(accepted, address))
  }
}

function offers(request: IncomingMessage): boolean {
  const offered = request.headers['sec-websocket-protocol'] ?? ''
  return offered.split(',').some((name) => name.trim() === subprotocol)
}

/** An answer for what is still plain HTTP. */
export function refuse(socket: Duplex, status: string, message: string): void {
  socket.on('error', () => {})
  // Nothing else watches a socket that was about to be upgraded: a caller that never hangs up would stay for good.
  socket.once('finish', () => socket.destroy())
  const body = JSON.stringify({ message })
  const retry = /^(429|503)/.test(status) ? 'retry-after: 5\r\n' : ''
  socket.end(
    `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json\r\n${retry}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
