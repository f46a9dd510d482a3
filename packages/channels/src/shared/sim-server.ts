import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Simulator } from '../simulator.ts'
import {
  falls,
  openSimState,
  type SimReply,
  type SimRequest,
  type SimState,
  type SimStateOptions,
  simRequestOf,
} from './sim-state.ts'

export type { SimReply, SimRequest } from './sim-state.ts'

export type SimFrame = Simulator & SimState

type SimServerOptions = SimStateOptions & {
  /** 0 or absent: a free port. */
  port?: number
  /** The vendor's answer. */
  answer(request: SimRequest, frame: SimFrame): SimReply | Promise<SimReply>
  /** The vendor's own "slow down"; undefined for requests that it never throttles, such as auth. */
  throttled(request: SimRequest): SimReply | undefined
  /** The vendor's own 5xx. */
  unavailable(request: SimRequest): SimReply
  /** Released in close(), before the port is given back. */
  onClose?(): Promise<void>
  mostBytes?: number
}

/**
 * The frame of a plain HTTP vendor simulator on 127.0.0.1: /_sim routes, faults, ledger, dead list, body reading. A vendor
 * adds `answer` and its words for "slow down" and "unavailable".
 */
export async function startSimServer(options: SimServerOptions): Promise<SimFrame> {
  const mostBytes = options.mostBytes ?? 32 << 20
  const state = openSimState(options)

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy()
      else write(response, { status: 500, body: { error: String(error) } })
    })
  })
  server.keepAliveTimeout = 60_000

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(incoming, mostBytes)
    if (body === undefined) return write(response, { status: 413, body: 'Request Entity Too Large' })
    const request = simRequest(incoming, body)
    if (request.path.startsWith('/_sim/')) return write(response, state.route(request))
    const { latencyMs, hang, throttle, unavailable, cut } = state.faults
    if (latencyMs) await new Promise((resolve) => setTimeout(resolve, latencyMs))
    if (falls(hang)) return
    if (falls(unavailable)) return write(response, options.unavailable(request))
    const slowDown = falls(throttle) ? options.throttled(request) : undefined
    if (slowDown) return write(response, slowDown)
    const before = state.book.entries()
    const answering = options.answer(request, frame)
    // Nothing else runs until a vendor's rules have answered, so the difference is this request's.
    const taken = state.book.entries() - before
    const reply = await answering
    const isCut = falls(cut)
    if (isCut || incoming.socket.destroyed) state.missAnswer(taken)
    if (isCut) incoming.socket.destroy()
    else write(response, reply)
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
      // Hanging requests and idle keep-alive connections would hold close() back.
      server.closeAllConnections()
      await closed
    },
  })
  return frame
}

async function readBody(request: IncomingMessage, most: number): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= most) chunks.push(chunk)
  }
  return size <= most ? Buffer.concat(chunks).toString('utf8') : undefined
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
