import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Context, Running, Service } from '@herald/program'
import { Failure } from './codes.ts'
import { identifyCall } from './http/common-headers.ts'
import { rawFailure, sendFailure } from './http/envelope.ts'
import { type Listening, listen } from './http/listen.ts'
import { isExemptFromTimeout } from './http/request-timeout.ts'
import { type WiredApi, type WireOptions, wireApi } from './wire-api.ts'

/** An idle connection occupies about 20 KB, and a caller may open any number. */
const MAX_CONNECTIONS = 10_000
/** Where the gateway accepts connections, if it shares the server. */
const GATEWAY_PATH = '/native'

/** Returns an envelope also for what Node itself would refuse with an empty body. */
export function createApiServer(app: RequestListener): Server {
  const answer: RequestListener = (request, response) => {
    if (request.headers.host !== undefined || request.httpVersion !== '1.1') return app(request, response)
    identifyCall(request, response)
    response.setHeader('connection', 'close')
    sendFailure(response, new Failure(40001, 'The header Host is missing.'))
  }
  const server = createServer({ requireHostHeader: false, shouldUpgradeCallback: isForGateway }, answer)
  // RFC 9110, section 7.8: a server may ignore the header Upgrade. HTTP clients send it with ordinary calls to offer HTTP/2.
  function isForGateway({ url = '' }: IncomingMessage): boolean {
    return server.listenerCount('upgrade') > 0 && url.split('?')[0] === GATEWAY_PATH
  }
  // RFC 9110, section 10.1.1: an expectation other than 100-continue may be ignored.
  server.on('checkExpectation', answer)
  return server
}

/** Time limits and error answers that every server of the API needs. */
export function tuneServer(server: Server): void {
  // For the whole request, including a body that no handler reads. Imports are exempt, see below.
  server.requestTimeout = 60_000
  server.headersTimeout = 30_000
  server.keepAliveTimeout = 65_000
  // A client that neither sends nor reads for this long is gone, or keeps our memory occupied on purpose.
  server.timeout = 120_000
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
      if (isExemptFromTimeout(socket)) return
      // Not only ended: a client that goes on sending would keep the connection.
      socket.end(rawFailure(40801, 'The request did not arrive in time.'), () => socket.destroy())
      return
    }
    if (!socket.writable || error.code === 'ECONNRESET') return socket.destroy()
    socket.end(
      error.code === 'HPE_HEADER_OVERFLOW'
        ? rawFailure(43101, 'The request headers are too large.')
        : rawFailure(40001, 'The request is not well-formed HTTP.'),
    )
  })
}

export type ServedApi = Running & { port: number; api: WiredApi }

/** Serves the API on its own port. */
export async function serveApi(
  context: Context,
  options: WireOptions & { port?: number } = {},
): Promise<ServedApi> {
  const { host, port } = context.settings
  const api = await wireApi(context, options)
  const server = createApiServer(api.app)
  tuneServer(server)
  const listening = await listen(server, {
    port: options.port ?? port,
    host,
    maxConnections: MAX_CONNECTIONS,
  }).catch(async (error: NodeJS.ErrnoException) => {
    await api.close()
    throw new Error(`cannot listen on HERALD_PORT ${port} of ${host} (${error.code})`)
  })
  return {
    port: listening.port,
    api,
    async stop() {
      await closeServer(server, listening)
      await api.close()
    },
  }
}

/**
 * Finishes requests in progress and accepts no new connections. Without `connection: close` a client would keep using its
 * connection, delay the end, and be cut off in the middle of a request.
 */
async function closeServer(server: Server, listening: Listening): Promise<void> {
  server.prependListener('request', (_, response) => response.setHeader('connection', 'close'))
  const closing = setInterval(() => server.closeIdleConnections(), 50)
  await listening.close()
  clearInterval(closing)
}

/** Ready without the queue: accepted tasks are in Postgres, and the feeder enqueues them later. */
export const api: Service = { name: 'api', needs: ['postgres'], start: (context) => serveApi(context) }
