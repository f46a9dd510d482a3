import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Application } from '@herald/db/tenants'
import { callerAddress } from '@herald/program'
import { Failure } from '../codes.ts'
import type { ApiDeps } from '../deps.ts'
import { inputFailure } from '../input/input-failure.ts'
import {
  type Access,
  type Caller,
  type ConsoleAccess,
  DEFAULT_BODY_LIMIT,
  type Lines,
  type Route,
  type RouteContext,
} from '../route.ts'
import { type AccessRule, authenticate, type Identity } from './authenticate.ts'
import { authorise } from './authorise.ts'
import { checkJsonType, readBody, refuseEncoding } from './body.ts'
import type { BodyShare } from './body-budget.ts'
import { browserOf } from './browser.ts'
import { callHeaders, refuseActAs } from './call-headers.ts'
import { requestIdIn } from './common-headers.ts'
import { sendData } from './envelope.ts'
import { readJson } from './json.ts'
import { readQuery } from './query.ts'
import { exemptFromTimeout } from './request-timeout.ts'
import { sendLines } from './send-lines.ts'

type AnyRoute = Route<Access | ConsoleAccess>

/** Serves one call, from the headers to the answer; handlers see values only. */
export async function serveRoute(
  deps: ApiDeps,
  route: AnyRoute,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { application, caller, identity, address } = await admit(deps, route, request, response)
  if (identity.role === 'none' || identity.role === 'user') {
    limitAddress(deps, route, address)
    limitCaller(deps, application.appId, caller, address)
  }
  await deps.turns.enter(application.appId)
  const context: RouteContext = {
    deps,
    appId: application.appId,
    application,
    caller,
    isAdminToken: identity.role === 'admin' || identity.role === 'operator',
    address,
    requestId: requestIdIn(response),
    browser: browserOf(deps, request, response),
  }
  const reserved = reserveBody(deps, route, request, application.appId)
  try {
    const { input, verbatim } = await readInput(
      deps,
      route,
      request,
      identity.role === 'none' ? address : undefined,
      reserved?.share,
    )
    let data: unknown
    try {
      data = await route.handler(context, input as never, verbatim)
    } finally {
      // Also after a failure: the commit may have been made although its answer was lost.
      if (route.method !== 'get') deps.activity?.note()
    }
    if (route.lines) await sendLines(response, data as Lines)
    else sendData(response, data)
  } finally {
    reserved?.leave()
  }
}

/**
 * Large bodies are counted before they are read and until their call ends, because they stay in memory while it waits. Without a length
 * they are counted as they arrive, through `share`.
 */
function reserveBody(
  { admission: { bodies } }: ApiDeps,
  { bodyLimit }: AnyRoute,
  request: IncomingMessage,
  appId: string,
): { leave(): void; share?: Pick<BodyShare, 'hold'> } | undefined {
  if (bodyLimit === undefined) return undefined
  const announced = request.headers['content-length']
  if (announced !== undefined) return { leave: bodies.enter(appId, Math.min(Number(announced), bodyLimit)) }
  let leave = () => {}
  const hold = (bytes: number) => {
    leave()
    leave = bodies.enter(appId, bytes)
  }
  return { leave: () => leave(), share: { hold } }
}

/** The only access check: `authenticate` says who calls, `authorise` whether they may. Throws the failure. */
export async function admit(
  deps: ApiDeps,
  rule: AccessRule,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<{ application: Application; caller: Caller; identity: Identity; address: string }> {
  const address = callerAddress(request, deps.trustedProxies)
  const requestId = requestIdIn(response)
  const headers = callHeaders(request, rule)
  const authenticated = await authenticate(deps, rule, { headers, address, requestId })
  const { application, identity } = authenticated
  const caller = await authorise(deps.sessions, rule, authenticated)
  refuseActAs(rule, headers)
  return { application, identity, address, caller }
}

/** `anonymous` is the address of a caller without a token; the bodies of such callers share a budget. `large` counts other bodies. */
async function readInput(
  { bodies }: ApiDeps,
  route: AnyRoute,
  request: IncomingMessage,
  anonymous: string | undefined,
  large: Pick<BodyShare, 'hold'> | undefined,
): Promise<{ input: unknown; verbatim?: readonly string[] }> {
  if (route.stream) {
    refuseEncoding(request)
    exemptFromTimeout(request)
    return { input: request }
  }
  if (route.method === 'get') return { input: check(route, readQuery(request.url ?? '')) }
  const share = anonymous === undefined ? undefined : bodies.anonymous.open(anonymous)
  const limit = route.bodyLimit ?? DEFAULT_BODY_LIMIT
  const body = await readBody(request, limit, { share: share ?? large }).finally(() => share?.close())
  // The body may be omitted when all its fields are optional.
  if (body.length === 0) {
    const nothing = route.input.safeParse({})
    if (nothing.success) return { input: nothing.data }
  }
  checkJsonType(request)
  const { value, verbatim } = readJson(body, route)
  return { input: check(route, value), verbatim }
}

function check(route: AnyRoute, value: unknown): unknown {
  const read = route.read ? route.read(value) : route.input.safeParse(value)
  if (read.success) return read.data
  throw inputFailure(read.error.issues, route.method === 'get')
}

function limitAddress({ limits }: ApiDeps, route: AnyRoute, address: string): void {
  const wait = route.limit === undefined ? 0 : limits[route.limit].take(address)
  if (wait > 0)
    throw new Failure(42901, 'Too many requests from this address; try again later.', { retryAfter: wait })
}

/** Users and anonymous callers; admins have no limit, because their servers send at the rate the business needs. */
function limitCaller({ limits }: ApiDeps, appId: string, caller: Caller, address: string): void {
  const wait =
    caller.role === 'user'
      ? limits.caller.take(`${appId}/${caller.userId}`)
      : caller.role === 'none'
        ? limits.address.take(address)
        : 0
  if (wait > 0) throw new Failure(42901, 'Too many requests; try again later.', { retryAfter: wait })
}
