import type { Server } from 'node:http'
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net'

/**
 * Node accepts one connection per listening socket in a turn of the event loop. While one application opens a thousand connections and
 * uses them, a turn takes some milliseconds: with a single socket, the connections of all others would wait for seconds behind them.
 */
const SOCKETS = 16

export type Listening = {
  port: number
  /** Accepts no new connections; resolves when all have ended. */
  close(): Promise<void>
}

/** Listens on several sockets of one port, on systems that can, with at most `maxConnections` connections in all. */
export async function listen(
  server: Server,
  { port, host, maxConnections }: { port: number; host: string; maxConnections: number },
): Promise<Listening> {
  limitConnections(server, maxConnections)
  // With `reusePort` another program may have the same port, so a port that is in use is noticed without it first.
  if (port !== 0) await close(await open(createServer(), { port, host }))
  const shares = await open(server, { port, host, reusePort: true }).then(
    () => true,
    () => false,
  )
  if (!shares) await open(server, { port, host })
  const { port: bound } = server.address() as AddressInfo
  const servers: NetServer[] = [server]
  for (let more = 1; shares && more < SOCKETS; more++) {
    // As Node's HTTP server opens its own.
    const other = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      server.emit('connection', socket),
    )
    servers.push(await open(other, { port: bound, host, reusePort: true }))
  }
  return {
    port: bound,
    async close() {
      await Promise.all(servers.map(close))
    },
  }
}

/** `server.maxConnections` counts those of one socket only. */
function limitConnections(server: Server, max: number): void {
  let open = 0
  server.prependListener('connection', (socket: Socket) => {
    open++
    socket.once('close', () => open--)
    if (open > max) socket.destroy()
  })
}

function open(
  server: NetServer,
  options: { port: number; host: string; reusePort?: boolean },
): Promise<NetServer> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(options, () => {
      server.off('error', reject)
      resolve(server)
    })
  })
}

const close = (server: NetServer): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve())
  })
