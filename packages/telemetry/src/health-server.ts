import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from './registry.ts'

export type HealthDeps = {
  /** Names of the parts that are not ready; an empty list means ready. */
  waiting: () => string[] | Promise<string[]>
  /** Seconds since the last round of each loop; undefined for a program without loops. */
  rounds?: () => Record<string, number> | undefined
  registry: Registry
}

export type HealthServer = { port: number; close(): Promise<void> }

/** The path of a request; its address may be absolute. */
const PATH = /^(?:https?:\/\/[^/?#]*)?([^?#]*)/i

/** Handles /healthz, /readyz and /metrics. Returns false for other paths and methods. */
export async function handleHealth(
  deps: HealthDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return false
  switch (PATH.exec(request.url ?? '')![1]) {
    case '/healthz':
      send(response, 200, { alive: true })
      return true
    case '/readyz': {
      const waiting = await deps.waiting()
      // JSON leaves out what is undefined.
      send(response, waiting.length === 0 ? 200 : 503, {
        ready: waiting.length === 0,
        waiting,
        rounds: deps.rounds?.(),
      })
      return true
    }
    case '/metrics': {
      // Read before the head is written, so that a failure can still change the status.
      const metrics = await deps.registry.metrics()
      response.writeHead(200, { 'content-type': deps.registry.contentType }).end(metrics)
      return true
    }
    default:
      return false
  }
}

/** For programs without an HTTP interface. */
export async function startHealthServer(
  options: HealthDeps & { host: string; port: number },
): Promise<HealthServer> {
  const server = createServer((request, response) => {
    handleHealth(options, request, response).then(
      (handled) =>
        handled ||
        send(response, 404, { message: 'Not found; this port serves /healthz, /readyz and /metrics.' }),
      () => send(response, 500, { message: 'The state of this program could not be read.' }),
    )
  })
  await new Promise<void>((resolve, reject) =>
    server.once('error', reject).listen(options.port, options.host, resolve),
  )
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent) return
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify(body))
}
