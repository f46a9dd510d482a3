import type { Socket } from 'node:net'

const end = '\r\n\r\n'
const MAX_HEAD = 8_192

/** Reads the CONNECT request of a client that uses us as its proxy, accepts it whatever its target, and passes the connection on. */
export function acceptConnect(socket: Socket, onConnected: () => void): void {
  let head = Buffer.alloc(0)
  const read = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk])
    const at = head.indexOf(end)
    if (at < 0) {
      if (head.length > MAX_HEAD) socket.destroy()
      return
    }
    socket.off('data', read)
    socket.pause()
    if (!head.subarray(0, 8).equals(Buffer.from('CONNECT '))) {
      socket.end('HTTP/1.1 405 Method Not Allowed\r\n\r\n')
      return
    }
    const rest = head.subarray(at + end.length)
    if (rest.length > 0) socket.unshift(rest)
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    onConnected()
  }
  socket.on('data', read).on('error', () => socket.destroy())
}
