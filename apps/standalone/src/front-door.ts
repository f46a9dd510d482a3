import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Settings } from '@herald/settings'
import { answerHealth, type HealthDeps } from '@herald/telemetry'
import { StartProblem } from './start-problem.ts'

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

export type FrontDoor = {
  /** For parts that take upgrades (WebSocket); requests come through `serve`. */
  server: Server
  baseUrl: string
  /** Hands every request but the health ones to `handler`; undefined = nobody is in. */
  serve(handler: Handler | undefined): void
  close(): Promise<void>
}

/**
 * Opens the one fixed port before anything slow is done: a taken port is told at once, and whoever waits for /readyz
 * already gets an answer.
 */
export async function openFrontDoor({ host, port }: Settings, health: HealthDeps): Promise<FrontDoor> {
  let handler: Handler | undefined
  const server = createServer(async (request, response) => {
    try {
      if (await answerHealth(health, request, response)) return
      if (handler) handler(request, response)
      else refuse(response)
    } catch {
      refuse(response)
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explain(error, host, port)))
    server.listen(port, host, resolve)
  })
  return {
    server,
    baseUrl: baseUrlOf(host, port),
    serve(next) {
      handler = next
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** An address that a person on this machine can open. */
export function baseUrlOf(host: string, port: number): string {
  const open = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${open.includes(':') ? `[${open}]` : open}:${port}`
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
        `Port ${port} of ${host} is taken by another program; set HERALD_PORT to a free one.`,
      )
    case 'EACCES':
      return new StartProblem(
        `Port ${port} may not be opened by this user; set HERALD_PORT to one above 1023.`,
      )
    default:
      return new StartProblem(`HERALD_HOST ${host} cannot be listened on (${error.code}).`)
  }
}
