import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createApiServer, listen } from '@herald/api'
import { baseUrlOf, type Settings } from '@herald/settings'
import { type HealthDeps, handleHealth } from '@herald/telemetry'
import { StartProblem } from './data-directory.ts'

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

export type Listener = {
  /** For parts that handle upgrades (WebSocket); requests come through `serve`. */
  server: Server
  baseUrl: string
  /** Passes all requests except health checks to `handler`; undefined = respond with 503. */
  serve(handler: Handler | undefined): void
  close(): Promise<void>
}

/** Opens the port before anything slow starts, so that a port in use is reported at once and /readyz responds early. */
export async function openListener({ host, port }: Settings, health: HealthDeps): Promise<Listener> {
  let handler: Handler | undefined
  const server = createApiServer(async (request, response) => {
    try {
      if (await handleHealth(health, request, response)) return
      if (handler) handler(request, response)
      else refuse(response)
    } catch {
      refuse(response)
    }
  })
  const listening = await listen(server, { port, host, maxConnections: Number.POSITIVE_INFINITY }).catch(
    (error: NodeJS.ErrnoException) => {
      throw explain(error, host, port)
    },
  )
  return {
    server,
    baseUrl: baseUrlOf({ host, port }),
    serve(next) {
      handler = next
    },
    async close() {
      const closed = listening.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function refuse(response: ServerResponse): void {
  const body = { code: 50301, data: null, message: 'Herald is starting or stopping; nothing was accepted.' }
  if (!response.headersSent)
    response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1' })
  response.end(JSON.stringify(body))
}

function explain(error: NodeJS.ErrnoException, host: string, port: number): StartProblem {
  switch (error.code) {
    case 'EADDRINUSE':
      return new StartProblem(
        `Port ${port} of ${host} is in use by another program; set HERALD_PORT to a free port.`,
      )
    case 'EACCES':
      return new StartProblem(`This user may not open port ${port}; set HERALD_PORT to a port above 1023.`)
    default:
      return new StartProblem(`Cannot listen on HERALD_HOST ${host} (${error.code}).`)
  }
}
