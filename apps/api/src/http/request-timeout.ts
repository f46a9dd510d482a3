import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

const streaming = new WeakSet<Socket>()

/** Lets the body of this request take any time; server.timeout still ends one that stops arriving. */
export function exemptFromTimeout(request: IncomingMessage): void {
  const { socket } = request
  streaming.add(socket)
  request.once('close', () => streaming.delete(socket))
}

export function isExemptFromTimeout(socket: Socket): boolean {
  return streaming.has(socket)
}
