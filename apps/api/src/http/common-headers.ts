import type { IncomingMessage, ServerResponse } from 'node:http'
import { requestIdOf } from '@herald/telemetry'
import helmet from 'helmet'

type Pairs = readonly (readonly [name: string, value: string])[]

/**
 * Helmet's headers are the same for every response, so they are computed once: thirteen functions and calls of setHeader per
 * response would cost an eighth of the CPU time of a call.
 */
function securityHeaders(): Pairs {
  const found = new Map<string, string>()
  const recorder = {
    setHeader: (name: string, value: string) => void found.set(name, value),
    removeHeader: () => {},
  }
  // The console is served from here too, and may be used without TLS inside a network.
  const set = helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } })
  set({} as IncomingMessage, recorder as unknown as ServerResponse, (error?: unknown) => {
    if (error) throw error
  })
  return [...found]
}

const security = securityHeaders()
const flatSecurity = security.flat()
const requestIds = new WeakMap<ServerResponse, string>()

/** Gives the call an id: the caller's, or a new one. It is in the response and in every log line of the call. */
export function identifyCall(request: IncomingMessage, response: ServerResponse): void {
  requestIds.set(response, requestIdOf(request.headers['x-request-id']))
}

export function requestIdIn(response: ServerResponse): string {
  return requestIds.get(response) ?? ''
}

/** The whole lists of headers. Node reads a list at once and does not keep it, so the next response uses the same one. */
const lists = new WeakMap<readonly string[], string[]>()

/** Writes a complete response. One list of headers: Node then neither copies nor looks up each of them. */
export function respond(
  response: ServerResponse,
  status: number,
  headers: readonly string[],
  body: string,
): void {
  let all = lists.get(headers)
  if (!all) {
    all = ['x-request-id', '', ...flatSecurity, ...headers, 'content-length', '']
    lists.set(headers, all)
  }
  all[1] = requestIdIn(response)
  all[all.length - 1] = String(Buffer.byteLength(body))
  response.writeHead(status, all)
  // As a string: Node then writes head and body in one call instead of two.
  response.end(body)
}

/** The same headers for pages, which add their own ones. */
export function setCommonHeaders(response: ServerResponse): void {
  response.setHeader('x-request-id', requestIdIn(response))
  for (const [name, value] of security) response.setHeader(name, value)
}
