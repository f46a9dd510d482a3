import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Context, Running, Service } from '@herald/program'
import { rawFailure } from './rim/envelope.ts'
import { type WiredApi, type WireOptions, wireApi } from './wire-api.ts'

/** What a server of the interface needs beyond its handler. */
export function tuneServer(server: Server): void {
  // An import may stream for longer than any fixed time; ordinary bodies have their own limit.
  server.requestTimeout = 0
  server.headersTimeout = 30_000
  server.keepAliveTimeout = 65_000
  // Who neither sends nor reads for so long is gone, or wants to hold what was made for them.
  server.timeout = 120_000
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') return socket.destroy()
    socket.end(
      error.code === 'HPE_HEADER_OVERFLOW'
        ? rawFailure(43101, 'The headers are too large.')
        : rawFailure(40001, 'The request is not well-formed HTTP.'),
    )
  })
}

export type ServedApi = Running & { port: number; api: WiredApi }

/** The interface on a port of its own. */
export async function serveApi(
  context: Context,
  options: WireOptions & { port?: number } = {},
): Promise<ServedApi> {
  const { host, port } = context.settings
  const api = await wireApi(context, options)
  const server = createServer(api.app)
  tuneServer(server)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port ?? port, host, resolve)
  }).catch(async (error: NodeJS.ErrnoException) => {
    await api.close()
    throw new Error(`HERALD_PORT ${port} of ${host} cannot be listened on (${error.code})`)
  })
  return {
    port: (server.address() as AddressInfo).port,
    api,
    async stop() {
      await closeServer(server)
      await api.close()
    },
  }
}

/**
 * Answers who is being served and takes nobody new. A caller that keeps its connection alive would otherwise go on using it, and
 * hold the end up until it is cut off in the middle of a request.
 */
async function closeServer(server: Server): Promise<void> {
  server.prependListener('request', (_, response) => response.setHeader('connection', 'close'))
  const closing = setInterval(() => server.closeIdleConnections(), 50)
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
  })
  clearInterval(closing)
}

/** Ready without the queue: what is accepted is in Postgres, and the feeder adds its jobs later. */
export const api: Service = { name: 'api', needs: ['postgres'], start: (context) => serveApi(context) }
