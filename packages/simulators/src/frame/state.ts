import type { Faults, Simulator } from '../simulator.ts'
import { readFaults, unknownRule } from './faults.ts'
import { type Acceptance, type AcceptedLedger, openLedger } from './ledger.ts'

/** A request to the simulated vendor with its body. */
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
  /** The body as JSON; undefined when it is not valid. */
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

/** Reads the same as `new URLSearchParams`, several times faster for the large fields of batch sends. */
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
    // URLSearchParams keeps broken escapes as text.
    return new URLSearchParams(body)
  }
}

export type SimStateOptions = {
  /** The only tokens that are alive; by default every well-formed token is. */
  registry?: Iterable<string>
  /** The names that the fault `rules` may contain. */
  rules?: readonly string[]
  /** Called by POST /_sim/reset; clears the vendor's own state next to ledger, faults and dead list. */
  onReset?(): void
}

export type SimState = Pick<Simulator, 'ledger' | 'setFaults' | 'requests'> & {
  /** The faults in force; the same object until they change. */
  readonly faults: Readonly<Faults>
  /** Whether the fault `rules` contains this name. */
  hasRule(name: string): boolean
  /** Counts a request to the vendor. */
  noteRequest(): void
  readonly accepted: AcceptedLedger
  /** Records messages that were accepted although the client did not receive, or may not have received, the reply. */
  noteUnheard(accepted: readonly Acceptance[]): void
  /** Serves the routes below /_sim/. */
  route(request: SimRequest): SimReply
  /** Puts tokens on the dead list. */
  kill(tokens: Iterable<string>, since?: number): void
  /** Whether a token is not on the dead list and, if there is a registry, in it. */
  isAlive(token: string): boolean
  /** Unix ms since when a token is dead; undefined for tokens that are not on the dead list. */
  deadSince(token: string): number | undefined
}

/** The state of every simulator, independent of its protocol: ledger, faults, dead list, and the routes to them. */
export function openSimState(options: SimStateOptions): SimState {
  const registry = options.registry ? new Set(options.registry) : undefined
  const dead = new Map<string, number>()
  const accepted = openLedger()
  let faults: Faults = {}
  let ending: NodeJS.Timeout | undefined
  let unheard = 0
  let requests = 0

  function setFaults(wanted: Faults): void {
    const unknown = unknownRule(wanted, options.rules)
    if (unknown) throw new Error(unknown)
    clearTimeout(ending)
    faults = { ...wanted }
    if (wanted.forSeconds !== undefined) ending = setTimeout(setFaults, wanted.forSeconds * 1000, {}).unref()
  }

  function route(request: SimRequest): SimReply {
    const taskId = request.query.get('task_id') ?? undefined
    switch (`${request.method} ${request.path}`) {
      case 'GET /_sim/ledger':
        return { body: accepted.read(taskId) }
      case 'GET /_sim/ledger/devices':
        return { body: { tokens: accepted.tokens(taskId) } }
      case 'GET /_sim/ledger/tasks':
        return { body: { tasks: accepted.byTask(), unheard } }
      case 'GET /_sim/requests':
        return { body: { requests } }
      case 'POST /_sim/faults': {
        const wanted = readFaults(request.json(), options.rules)
        if (typeof wanted === 'string') return { status: 400, body: { error: wanted } }
        setFaults(wanted)
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
        accepted.clear()
        unheard = 0
        requests = 0
        dead.clear()
        setFaults({})
        options.onReset?.()
        return { body: {} }
      default:
        return { status: 404, body: { error: 'no such simulator route' } }
    }
  }

  const state: SimState = {
    accepted,
    route,
    get faults() {
      return faults
    },
    ledger: (taskId) => accepted.read(taskId),
    requests: () => requests,
    noteRequest() {
      requests++
    },
    hasRule: (name) => faults.rules?.includes(name) ?? false,
    noteUnheard(messages) {
      accepted.markUnheard(messages)
      unheard += messages.length
    },
    setFaults,
    kill(tokens, since = Date.now()) {
      for (const token of tokens) dead.set(token, since)
    },
    isAlive: (token) => !dead.has(token) && (registry === undefined || registry.has(token)),
    deadSince: (token) => dead.get(token),
  }
  return state
}
