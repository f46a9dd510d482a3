import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Acceptance } from './ledger.ts'

export type ReplyWatch = {
  /** A request came: its client has read the reply before it on this connection. */
  noteHeard(socket: Socket): void
  /** The reply to these messages was written. */
  noteWritten(socket: Socket, accepted: readonly Acceptance[]): void
}

/**
 * Detects replies that were written, but never read, because the client had given up. The system resets the connection if a client
 * closes it before it has read everything, or if data arrives after it was closed. A client that has read the reply closes without a
 * reset, also when its process is killed.
 */
export function watchReplies(
  server: Server,
  onUnheard: (accepted: readonly Acceptance[]) => void,
): ReplyWatch {
  const unconfirmed = new WeakMap<Socket, readonly Acceptance[]>()
  server.on('connection', (socket) => {
    // After the client's FIN, only another write reports that the reply was reset. Before the server's own listener, which ends the socket.
    socket.prependListener('end', () => {
      if (unconfirmed.has(socket) && socket.writable) socket.write('\n')
    })
    socket.on('close', (hadError) => {
      if (hadError) onUnheard(unconfirmed.get(socket) ?? [])
    })
  })
  return {
    noteHeard: (socket) => void unconfirmed.delete(socket),
    noteWritten: (socket, accepted) => void unconfirmed.set(socket, accepted),
  }
}
