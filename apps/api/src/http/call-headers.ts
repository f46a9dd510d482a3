import type { IncomingMessage } from 'node:http'
import { Failure } from '../codes.ts'
import type { Access, ConsoleAccess } from '../route.ts'
import { sessionKeyOf } from './browser.ts'
import type { Provenance } from './same-origin.ts'

/** The headers that identify a caller; blank ones are undefined. */
export type CallHeaders = Provenance & {
  appId?: string
  accessToken?: string
  userId?: string
  groupId?: string
  authorization?: string
  /** The key in the cookie of a console session. */
  session?: string
}

type Rule = { access: Access | ConsoleAccess; actsForNobody?: true }

/**
 * Reads the headers that identify a caller. Some proxies and tools drop headers with underscores, so each of them has a twin; two
 * different values for the same thing are refused, because one of them would be ignored.
 */
export function callHeaders(request: IncomingMessage, rule: Rule): CallHeaders {
  const { headers } = request
  const sole = (name: string) => soleValue(request, name)
  const authorization = sole('authorization')
  const either = (name: string, twin: string) => same(name, sole(name), twin, sole(twin))
  return {
    appId: either('app_id', 'x-app-id'),
    accessToken: takesOperatorKey(rule)
      ? sole('access-token')
      : same('access-token', sole('access-token'), 'authorization', bearerIn(authorization)),
    userId: either('user_id', 'x-user-id'),
    groupId: either('group_id', 'x-group-id'),
    authorization,
    session: sessionKeyOf(request),
    console: one(headers['x-herald-console']),
    origin: one(headers.origin),
    fetchSite: one(headers['sec-fetch-site']),
    host: one(headers.host),
  }
}

/** There the bearer token is the operator key. */
function takesOperatorKey({ access }: Rule): boolean {
  return access === 'operator' || access === 'owner' || access === 'console' || access === 'visitor'
}

/** Undefined without the scheme Bearer: a proxy may use another one for itself. */
export function bearerIn(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S.*)$/i.exec(authorization ?? '')?.[1]
}

/** Returns the value of two headers that mean the same. Throws Failure if they differ. */
export function same(
  name: string,
  value: string | undefined,
  twin: string,
  other: string | undefined,
): string | undefined {
  if (value !== undefined && other !== undefined && value !== other)
    throw new Failure(40002, `The headers ${name} and ${twin} have different values.`)
  return value ?? other
}

/**
 * `headers` joins the values of a header that is sent twice with a comma, and of authorization keeps the first. Only where that may
 * have happened are the lines looked at one by one, which costs a list of all headers.
 */
function soleValue(request: IncomingMessage, name: string): string | undefined {
  const joined = request.headers[name]
  if (joined === undefined) return undefined
  if (name !== 'authorization' && typeof joined === 'string' && !joined.includes(',')) return one(joined)
  const sent = request.headersDistinct[name] ?? []
  const [value, other] = new Set(sent.map(one).filter((text) => text !== undefined))
  if (other !== undefined)
    throw new Failure(40002, `The header ${name} is sent more than once, with different values.`)
  return value
}

function one(header: string | string[] | undefined): string | undefined {
  const value = (Array.isArray(header) ? header.join(', ') : header)?.trim()
  return value === '' ? undefined : value
}

/** A header that a call does not honour is refused: its sender would believe that it acts for somebody else. */
export function refuseActAs({ access, actsForNobody }: Rule, { userId, groupId }: CallHeaders): void {
  if (!actsForNobody && access !== 'operator') return
  const header = userId !== undefined ? 'user_id' : groupId !== undefined ? 'group_id' : undefined
  if (header) throw new Failure(40002, `The header ${header} has no effect on this call: leave it out.`)
}
