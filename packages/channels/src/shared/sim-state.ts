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

export function simRequestOf(
  method: string,
  target: string,
  given: Readonly<Record<string, string | string[] | undefined>>,
  body: string,
): SimRequest {
  const url = new URL(target, 'http://simulator')
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value
  let form: URLSearchParams | undefined
  return {
    method,
    path: url.pathname,
    query: url.searchParams,
    headers,
    body,
    mediaType: (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase(),
    form() {
      form ??= parseForm(body)
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

/** What `new URLSearchParams` reads, several times faster on the large fields of batch sends. */
function parseForm(body: string): URLSearchParams {
  if (body.startsWith('?')) return new URLSearchParams(body)
  const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '))
  try {
    return new URLSearchParams(
      body
        .split('&')
        .filter(Boolean)
        .map((pair): [string, string] => {
          const at = pair.indexOf('=')
          return at < 0 ? [decode(pair), ''] : [decode(pair.slice(0, at)), decode(pair.slice(at + 1))]
        }),
    )
  } catch {
    // Broken escapes: URLSearchParams takes them as they are.
    return new URLSearchParams(body)
  }
}

export type SimStateOptions = {
  /** The only tokens alive; absent: any well-formed token is. */
  registry?: Iterable<string>
  /** After POST /_sim/reset: what the vendor keeps beside ledger, faults and dead list. */
  onReset?(): void
}

export type SimState = Pick<Simulator, 'ledger' | 'setFaults'> & {
  readonly faults: Readonly<Faults>
  readonly book: LedgerBook
  /** Notes devices that were accepted without their client hearing of it. */
  missAnswer(devices: number): void
  /** Answers the routes below /_sim/. */
  route(request: SimRequest): SimReply
  /** Puts tokens on the dead list. */
  kill(tokens: Iterable<string>, since?: number): void
  /** Neither on the dead list nor, with a closed registry, unknown. */
  isAlive(token: string): boolean
  /** Unix ms since when a token is dead, if it is. */
  deadSince(token: string): number | undefined
}

/** What every simulator keeps, whatever protocol it speaks: ledger, faults, dead list, and the routes to them. */
export function openSimState(options: SimStateOptions): SimState {
  const registry = options.registry ? new Set(options.registry) : undefined
  const dead = new Map<string, number>()
  const book = openLedger()
  let faults: Faults = {}
  let unheard = 0

  function route(request: SimRequest): SimReply {
    const taskId = request.query.get('task_id') ?? undefined
    switch (`${request.method} ${request.path}`) {
      case 'GET /_sim/ledger':
        return { body: book.read(taskId) }
      case 'GET /_sim/ledger/devices':
        return { body: { tokens: book.tokens(taskId) } }
      case 'GET /_sim/ledger/tasks':
        return { body: { tasks: book.pages(), unheard } }
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
        state.kill(wanted.tokens as string[], wanted.since)
        return { body: { dead: dead.size } }
      }
      case 'POST /_sim/reset':
        book.clear()
        unheard = 0
        dead.clear()
        faults = {}
        options.onReset?.()
        return { body: {} }
      default:
        return { status: 404, body: { error: 'no such simulator route' } }
    }
  }

  const state: SimState = {
    book,
    route,
    get faults() {
      return faults
    },
    ledger: (taskId) => book.read(taskId),
    missAnswer(devices) {
      unheard += devices
    },
    setFaults(wanted) {
      faults = { ...wanted }
    },
    kill(tokens, since = Date.now()) {
      for (const token of tokens) dead.set(token, since)
    },
    isAlive: (token) => !dead.has(token) && (registry === undefined || registry.has(token)),
    deadSince: (token) => dead.get(token),
  }
  return state
}

const faultShares = ['throttle', 'unavailable', 'hang', 'cut'] as const
const faultFlags = ['expireAuth', 'refuseAuth', 'silentReceipts'] as const
const faultCounts = ['latencyMs', 'goawayAfter'] as const

/** Faults as JSON, or one sentence: a misspelt fault would make a drill pass by doing nothing. */
function readFaults(value: unknown): Faults | string {
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

/** Whether a fault of this share strikes now. */
export function falls(share: number | undefined): boolean {
  return share !== undefined && share > 0 && Math.random() < share
}
