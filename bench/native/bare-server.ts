import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'

// The minimal server on `ws`: it keeps sockets, responds to a hello and counts acknowledgements. The difference to the gateway
// is the cost of devices, presence, inbox, counters and Postgres.
const http = createServer()
const server = new WebSocketServer({ server: http, perMessageDeflate: false, maxPayload: 32 * 1024 })
const sockets = new Set<WebSocket>()
let acknowledged = 0
let lastAt = 0

function onMessage(this: WebSocket, data: unknown): void {
  const frame = JSON.parse(String(data))
  if (frame.op === 'hello') this.send('{"op":"welcome","heartbeat":30}')
  else {
    acknowledged++
    lastAt = Date.now()
  }
}
function onClose(this: WebSocket): void {
  sockets.delete(this)
}
server.on('connection', (socket) => {
  sockets.add(socket)
  socket.on('message', onMessage)
  socket.on('close', onClose)
  socket.on('error', () => {})
})
http.listen(0, '127.0.0.1', () => process.send!({ port: (http.address() as AddressInfo).port }))

process.on('message', (frame: { broadcast?: string }) => {
  if (frame.broadcast) for (const socket of sockets) socket.send(frame.broadcast)
  process.send!({ acknowledged, lastAt })
})
process.on('disconnect', () => process.exit())
