import type { IncomingMessage, ServerResponse } from 'node:http'
import { USUAL_BODY } from '../body-size.ts'
import { Failure } from '../codes.ts'
import type { ApiDeps } from '../deps.ts'
import { failureOf } from '../input/problem.ts'
import type { Access, Caller, ConsoleAccess, Context, Route } from '../route.ts'
import { checkJsonType, readBody } from './body.ts'
import { browserOf, sessionKeyOf } from './browser.ts'
import { sendData } from './envelope.ts'
import { admit, type GateHeaders } from './gate.ts'
import { readJson } from './json.ts'
import { readQuery } from './query.ts'

type AnyRoute = Route<Access | ConsoleAccess>

/** One call from headers to the answer; handlers see values only. */
export async function serveRoute(
  deps: ApiDeps,
  route: AnyRoute,
  request: IncomingMessage,
  response: ServerResponse,
  address: string,
): Promise<void> {
  limitAddress(deps, route, address)
  const { application, caller } = await admit(deps, route, gateHeaders(request))
  limitCaller(deps, application.appId, caller, address)
  const context: Context = {
    deps,
    appId: application.appId,
    application,
    caller,
    address,
    requestId: String(response.getHeader('x-request-id')),
    browser: browserOf(deps, request, response),
  }
  const { input, verbatim } = await readInput(route, request)
  sendData(response, await route.handler(context, input as never, verbatim))
}

async function readInput(
  route: AnyRoute,
  request: IncomingMessage,
): Promise<{ input: unknown; verbatim?: string }> {
  if (route.stream) return { input: request }
  if (route.method === 'get') return { input: check(route, readQuery(request.url ?? '')) }
  const body = await readBody(request, route.bodyLimit ?? USUAL_BODY)
  // A call all of whose fields may be left out may leave out the object, too.
  if (body.length === 0) {
    const nothing = route.input.safeParse({})
    if (nothing.success) return { input: nothing.data }
  }
  checkJsonType(request)
  const { value, verbatim } = readJson(body, { verbatim: route.verbatim })
  return { input: check(route, value), verbatim }
}

function check(route: AnyRoute, value: unknown): unknown {
  const read = route.input.safeParse(value)
  if (read.success) return read.data
  throw failureOf(read.error.issues, route.method === 'get')
}

export function gateHeaders(request: IncomingMessage): GateHeaders {
  const { headers } = request
  return {
    appId: one(headers.app_id),
    accessToken: one(headers['access-token']),
    userId: one(headers.user_id),
    groupId: one(headers.group_id),
    authorization: one(headers.authorization),
    session: sessionKeyOf(request),
    console: one(headers['x-herald-console']),
    origin: one(headers.origin),
    fetchSite: one(headers['sec-fetch-site']),
    host: one(headers.host),
  }
}

function one(header: string | string[] | undefined): string | undefined {
  const value = (Array.isArray(header) ? header.join(', ') : header)?.trim()
  return value === '' ? undefined : value
}

function limitAddress({ limits }: ApiDeps, route: AnyRoute, address: string): void {
  const wait = route.limit === undefined ? 0 : limits[route.limit].take(address)
  if (wait > 0)
    throw new Failure(42901, 'Too many requests from this address; try again later.', { retryAfter: wait })
}

/** Admins are never limited: their servers send at the rate the business needs. */
function limitCaller({ limits }: ApiDeps, appId: string, caller: Caller, address: string): void {
  const wait =
    caller.role === 'user'
      ? limits.caller.take(`${appId}/${caller.userId}`)
      : caller.role === 'none'
        ? limits.address.take(address)
        : 0
  if (wait > 0) throw new Failure(42901, 'Too many requests; try again later.', { retryAfter: wait })
}
