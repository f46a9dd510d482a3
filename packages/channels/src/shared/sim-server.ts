import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Faults, Simulator } from '../simulator.ts'
import { type LedgerBook, openLedger } from './sim-ledger.ts'

/** A request to the simulated vendor, body read. */
export type SimRequest = {
  method: string
  path: string
  query: URLSearchParams
  headers: Readonly<Record<string, string>>
  body: string
  /** Media type of the body in lower case, without parameters. */
  mediaType: string
  /** The body as a form, parsed on first use. */
  form(): URLSearchParams
  /** The body as JSON; undefined when it is none. */
  json(): unknown
}

/** `body` that is not a string is written as JSON. */
export type SimReply = { status?: number; headers?: Record<string, string>; body: unknown }

export type SimFrame = Simulator & {
  readonly faults: Readonly<Faults>
  readonly book: LedgerBook
  /** Puts tokens on the dead list. */
  kill(tokens: Iterable<string>, since?: number): void
  /** Neither on the dead list nor, with a closed registry, unknown. */
  isAlive(token: string): boolean
  /** Unix ms since when a token is dead, if it is. */
  deadSince(token: string): number | undefined
}

export type SimServerOptions = {
  /** 0 or absent: a free port. */
  port?: number
  /** The only tokens alive; absent: any well-formed token is. */
  registry?: Iterable<string>
  /** The vendor's answer. */
  answer(request: SimRequest, frame: SimFrame): SimReply | Promise<SimReply>
  /** The vendor's own "slow down"; undefined for requests that it never throttles, such as auth. */
  throttled(request: SimRequest): SimReply | undefined
  /** The vendor's own 5xx. */
  unavailable(request: SimRequest): SimReply
  /** After POST /_sim/reset: what the vendor keeps beside ledger, faults and dead list. */
  onReset?(): void
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
  const registry = options.registry ? new Set(options.registry) : undefined
  const dead = new Map<string, number>()
  const book = openLedger()
  let faults: Faults = {}

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
    if (request.path.startsWith('/_sim/')) return write(response, simRoute(request))
    const { latencyMs, hang, throttle, unavailable, cut } = faults
    if (latencyMs) await new Promise((resolve) => setTimeout(resolve, latencyMs))
    if (falls(hang)) return
    if (falls(unavailable)) return write(response, options.unavailable(request))
    const slowDown = falls(throttle) ? options.throttled(request) : undefined
    if (slowDown) return write(response, slowDown)
    const reply = await options.answer(request, frame)
    if (falls(cut)) incoming.socket.destroy()
    else write(response, reply)
  }

  function simRoute(request: SimRequest): SimReply {
    const taskId = request.query.get('task_id') ?? undefined
    switch (`${request.method} ${request.path}`) {
      case 'GET /_sim/ledger':
        return { body: book.read(taskId) }
      case 'GET /_sim/ledger/devices':
        return { body: { tokens: book.tokens(taskId) } }
      case 'POST /_sim/faults': {
        const wanted = readFaults(request.json())
        if (typeof wanted === 'string') return { status: 400, body: { error: wanted } }
        faults = wanted
        return { body: { faults } }
      }
      case 'POST /_sim/dead': {
        const wanted = request.json() as { tokens?: unknown; since?: unknown } | undefined
        if (!Array.isArray(wanted?.tokens) || wanted.tokens.some((token) => typeof token !== 'string'))
          return { status: 400, body: { error: 'tokens must be a list of strings' } }
        if (wanted.since !== undefined && typeof wanted.since !== 'number')
          return { status: 400, body: { error: 'since must be Unix ms' } }
        frame.kill(wanted.tokens as string[], wanted.since)
        return { body: { dead: dead.size } }
      }
      case 'POST /_sim/reset':
        book.clear()
        dead.clear()
        faults = {}
        options.onReset?.()
        return { body: {} }
      default:
        return { status: 404, body: { error: 'no such simulator route' } }
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const frame: SimFrame = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    book,
    get faults() {
      return faults
    },
    ledger: (taskId) => book.read(taskId),
    setFaults(wanted) {
      faults = { ...wanted }
    },
    kill(tokens, since = Date.now()) {
      for (const token of tokens) dead.set(token, since)
    },
    isAlive: (token) => !dead.has(token) && (registry === undefined || registry.has(token)),
    deadSince: (token) => dead.get(token),
    async close() {
      await options.onClose?.()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      // Hanging requests and idle keep-alive connections would hold close() back.
      server.closeAllConnections()
      await closed
    },
  }
  return frame
}

const faultShares = ['throttle', 'unavailable', 'hang', 'cut'] as const
const faultFlags = ['expireAuth', 'refuseAuth', 'silentReceipts'] as const
const faultCounts = ['latencyMs', 'goawayAfter'] as const

/** Faults as JSON, or one sentence: a misspelt fault would make a drill pass by doing nothing. */
export function readFaults(value: unknown): Faults | string {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'faults must be a JSON object'
  const known: readonly string[] = [...faultShares, ...faultFlags, ...faultCounts]
  const given = value as Record<string, unknown>
  for (const name of Object.keys(given)) if (!known.includes(name)) return `${name} is not a known fault`
  for (const name of faultShares) {
    const share = given[name]
    if (share !== undefined && !(typeof share === 'number' && share >= 0 && share <= 1))
      return `${name} must be a share from 0 to 1`
  }
  for (const name of faultFlags)
    if (given[name] !== undefined && typeof given[name] !== 'boolean') return `${name} must be true or false`
  for (const name of faultCounts) {
    const count = given[name]
    if (count !== undefined && !(typeof count === 'number' && count >= 0))
      return `${name} must be a number, 0 or more`
  }
  return given as Faults
}

function falls(share: number | undefined): boolean {
  return share !== undefined && share > 0 && Math.random() < share
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
  const url = new URL(incoming.url ?? '/', 'http://simulator')
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers))
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value
  let form: URLSearchParams | undefined
  return {
    method: incoming.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers,
    body,
    mediaType: (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase(),
    form() {
      form ??= new URLSearchParams(body)
      return form
    },
    json() {
      try {
        return JSON.parse(body)
      } catch {
        return undefined
      }
    },
  }
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
