import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { listen } from '@herald/testkit'

/** An HTTP proxy that supports only CONNECT and records its requests. */
export async function startConnectProxy(): Promise<{ url: string; asked: string[]; close(): Promise<void> }> {
  const asked: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((_request, response) => response.writeHead(405).end())
  server.on('connect', (request, client: Socket, head) => {
    asked.push(request.url!)
    const [host, port] = request.url!.split(':')
    const upstream = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      upstream.write(head)
      upstream.pipe(client)
      client.pipe(upstream)
    })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
  })
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    asked,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
