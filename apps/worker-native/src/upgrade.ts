import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { tokenBuckets } from '@herald/async'
import { callerAddress } from '@herald/program'
import { WebSocket, WebSocketServer } from 'ws'
import { closeReasons, subprotocol } from './protocol.ts'

export const path = '/native'

/** Limit per address: allows a storm of reconnections, but not a flood. */
const HANDSHAKES = { burst: 2000, perSecond: 500 }
/** The longest frame of a device, an acknowledgement of a thousand tasks, has 17 KB. */
const MAX_FRAME_BYTES = 32 * 1024
/** Clients do not split messages this small; a proxy may. Each fragment is kept until the last one arrives. */
const MAX_FRAGMENTS = 16
/** Reads of the socket per frame: a frame sent byte by byte would cost hundreds of bytes of memory for each. */
const MAX_CHUNKS = 128
/** A device says hello at once, so even a storm of reconnections has no more connections per address without one. */
const MAX_UNIDENTIFIED = HANDSHAKES.burst

/** `ws` closes with 1008, and no reason, after too many fragments or chunks; devices know the code of a flood. */
class DeviceSocket extends WebSocket {
  override close(code?: number, reason?: string | Buffer): void {
    if (code === 1008 && reason === undefined)
      super.close(closeReasons.flooding.code, closeReasons.flooding.reason)
    else super.close(code, reason)
  }
}

export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/** Upgrades HTTP requests to connections, or refuses them before they cost anything. */
export function createUpgrade(deps: {
  /** Number of proxies in front of the gateway that append to x-forwarded-for. */
  trustedProxies: number
  perAddress: number
  /** Open connections of an address, and those of them whose device is not known yet. */
  countOf(address: string): number
  unidentifiedOf(address: string): number
  isDraining(): boolean
  accept(socket: WebSocket, address: string): void
}): Upgrade {
  const handshakes = tokenBuckets(HANDSHAKES)
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // Compression costs tens of kilobytes per connection; messages are small.
    perMessageDeflate: false,
    // `ws` would answer every ping, even to a client that reads nothing; connections.ts counts and answers them.
    autoPong: false,
    maxPayload: MAX_FRAME_BYTES,
    maxFragments: MAX_FRAGMENTS,
    maxBufferedChunks: MAX_CHUNKS,
    WebSocket: DeviceSocket,
    handleProtocols: () => subprotocol,
  })

  return (request, socket, head) => {
    const address = callerAddress(request, deps.trustedProxies)
    if (deps.isDraining()) return refuse(socket, '503 Service Unavailable', 'This gateway is shutting down.')
    if (!offers(request)) {
      return refuse(socket, '400 Bad Request', `A connection needs the WebSocket subprotocol ${subprotocol}.`)
    }
    if (deps.perAddress > 0) {
      const tooMany =
        deps.countOf(address) >= deps.perAddress || deps.unidentifiedOf(address) >= MAX_UNIDENTIFIED
      if (tooMany || handshakes.take(address) > 0)
        return refuse(socket, '429 Too Many Requests', 'Too many connections from this address.')
    }
    server.handleUpgrade(request, socket, head, (accepted) => deps.accept(accepted, address))
  }
}

function offers(request: IncomingMessage): boolean {
  const offered = request.headers['sec-websocket-protocol'] ?? ''
  return offered.split(',').some((name) => name.trim() === subprotocol)
}

/** Sends an HTTP error response instead of the upgrade. */
export function refuse(socket: Duplex, status: string, message: string): void {
  socket.on('error', () => {})
  // The HTTP server no longer manages this socket: a caller that never closes it would keep it open.
  socket.once('finish', () => socket.destroy())
  const body = JSON.stringify({ message })
  const retry = /^(429|503)/.test(status) ? 'retry-after: 5\r\n' : ''
  socket.end(
    `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json\r\n${retry}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
