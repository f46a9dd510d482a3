import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sleep } from '@herald/async'
import type { Simulator } from '../simulator.ts'
import { findPresetAnswer, strikes, withRetryAfter } from './faults.ts'
import { watchReplies } from './reply-watch.ts'
import { compileRoutes, type RouteTable } from './routes.ts'
import {
  openSimState,
  type SimReply,
  type SimRequest,
  type SimState,
  type SimStateOptions,
  simRequestOf,
} from './state.ts'

export type { SimReply, SimRequest } from './state.ts'

export type SimFrame = Simulator & SimState

/** A request with its route. */
export type SimCall = {
  request: SimRequest
  /** Parts of the path that the route names. */
  params: Readonly<Record<string, string>>
  frame: SimFrame
}

/** `open` needs no credentials (token exchange); `answer` gets the application of the request. */
export type SimRoute<App> = (
  | { open(call: SimCall): SimReply | Promise<SimReply> }
  | { answer(call: SimCall & { app: App }): SimReply | Promise<SimReply> }
) & {
  /** The required media type of the body, and the vendor's reply to any other. */
  media?: { type: string; refusal: SimReply }
}

type SimServerOptions<App> = SimStateOptions & {
  /** By default a free port. */
  port?: number
  routes?: RouteTable<SimRoute<App>>
  /** The application of a request, or the vendor's refusal. */
  authenticate?(call: SimCall): App | { refused: SimReply }
  /** The reply to another method; by default a 405. */
  wrongMethod?: SimReply
  /** The reply to a path without a route; by default a 404. */
  otherwise?(request: SimRequest, frame: SimFrame): SimReply | Promise<SimReply>
  /** The vendor's own "slow down"; undefined for requests that it never throttles, such as the token exchange. */
  throttled(request: SimRequest): SimReply | undefined
  /** The vendor's own 5xx. */
  unavailable(request: SimRequest): SimReply
  /** Called by close() before the port is released. */
  onClose?(): Promise<void>
  maxBytes?: number
}

/**
 * The frame of a plain HTTP vendor simulator on 127.0.0.1: /_sim routes, faults, ledger, dead list, body reading, routing. A
 * vendor adds its routes, its authentication and its texts for "slow down" and "unavailable".
 */
export async function startSimServer<App extends object>(options: SimServerOptions<App>): Promise<SimFrame> {
  const maxBytes = options.maxBytes ?? 32 << 20
  const state = openSimState(options)
  const find = compileRoutes(options.routes ?? {})

  function answer(request: SimRequest): SimReply | Promise<SimReply> {
    const found = find(request.method, request.path)
    if ('allow' in found)
      return found.allow.length === 0
        ? (options.otherwise?.(request, frame) ?? { status: 404, body: '' })
        : (options.wrongMethod ?? {
            status: 405,
            headers: { allow: found.allow.join(', ') },
            body: 'Method Not Allowed',
          })
    const { route, params } = found
    const call = { request, params, frame }
    if (route.media && request.mediaType !== route.media.type) return route.media.refusal
    if ('open' in route) return route.open(call)
    const app = options.authenticate?.(call) ?? { refused: { status: 401, body: '' } }
    return 'refused' in app ? app.refused : route.answer({ ...call, app })
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy()
      else write(response, { status: 500, body: { error: String(error) } })
    })
  })
  server.keepAliveTimeout = 60_000
  const replies = watchReplies(server, state.noteUnheard)

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = incoming
    replies.noteHeard(socket)
    const body = await readBody(incoming, maxBytes)
    if (body === undefined) return write(response, { status: 413, body: 'Request Entity Too Large' })
    const request = simRequest(incoming, body)
    if (request.path.startsWith('/_sim/')) return write(response, state.route(request))
    state.noteRequest()
    const { faults } = state
    const { latencyMs, hang, throttle, unavailable, cut } = faults
    if (latencyMs) await sleep(latencyMs)
    if (strikes(hang)) return
    const preset = findPresetAnswer(faults, request.path, body)
    if (preset) return write(response, preset)
    if (strikes(unavailable)) return write(response, withRetryAfter(options.unavailable(request), faults))
    const slowDown = strikes(throttle) ? options.throttled(request) : undefined
    if (slowDown) return write(response, slowDown)
    const { result, accepted } = state.accepted.collect(() => answer(request))
    const reply = await result
    if (strikes(cut)) socket.destroy()
    if (!socket.writable) return state.noteUnheard(accepted)
    write(response, reply)
    replies.noteWritten(socket, accepted)
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const frame: SimFrame = Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      await options.onClose?.()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      // Hanging requests and idle keep-alive connections would delay close().
      server.closeAllConnections()
      await closed
    },
  })
  return frame
}

async function readBody(request: IncomingMessage, max: number): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= max) chunks.push(chunk)
  }
  return size <= max ? Buffer.concat(chunks).toString('utf8') : undefined
}

function simRequest(incoming: IncomingMessage, body: string): SimRequest {
  return simRequestOf(incoming.method ?? 'GET', incoming.url ?? '/', incoming.headers, body)
}

function write(response: ServerResponse, reply: SimReply): void {
  const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body)
  const bytes = Buffer.from(text)
  response.writeHead(reply.status ?? 200, {
    'content-type': 'application/json;charset=UTF-8',
    ...reply.headers,
    'content-length': bytes.length,
  })
  response.end(bytes)
}
