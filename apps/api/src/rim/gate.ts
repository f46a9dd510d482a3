import { createHash, timingSafeEqual } from 'node:crypto'
import type { Application } from '@herald/db'
import { Failure } from '../codes.ts'
import type { ApiDeps } from '../deps.ts'
import { readInt64 } from '../input/fields.ts'
import type { Access, Caller } from '../route.ts'

/** The headers a call is judged by; blank ones are undefined. */
export type GateHeaders = {
  appId?: string
  accessToken?: string
  userId?: string
  groupId?: string
  authorization?: string
}

export type Admitted = { application: Application; caller: Caller }

type Rule = { access: Access; groupRefused?: true }

const nobody: Application = {
  appId: '',
  name: '',
  packageName: '',
  tokenVersion: 0,
  createdAt: new Date(0),
}

/** The one place that decides who a caller is and whether the call is theirs to make. */
export async function admit(
  deps: Pick<ApiDeps, 'sessions' | 'operatorKey'>,
  rule: Rule,
  headers: GateHeaders,
): Promise<Admitted> {
  if (rule.access === 'operator') return { application: nobody, caller: admitOperator(deps, headers) }
  if (headers.appId === undefined) throw new Failure(40005, 'The header app_id is missing.')
  const application = await deps.sessions.application(headers.appId)
  if (!application) throw new Failure(40104, 'There is no application with this app_id.')
  const caller = await identify(deps, rule, application, headers)
  refuseOthers(rule, caller)
  return { application, caller }
}

function admitOperator(deps: Pick<ApiDeps, 'operatorKey'>, headers: GateHeaders): Caller {
  const key = /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1]
  if (key === undefined) {
    if (headers.accessToken !== undefined) throw new Failure(40301, 'Only the operator may do this.')
    throw new Failure(40101, 'The operator key is missing: send it as authorization: Bearer.')
  }
  if (deps.operatorKey === undefined || !isSame(key, deps.operatorKey))
    throw new Failure(40102, 'The operator key is wrong.')
  return { role: 'operator', actor: 'operator' }
}

/** Hashed first, so that neither the length nor a common beginning shows in the time. */
function isSame(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

async function identify(
  deps: Pick<ApiDeps, 'sessions'>,
  rule: Rule,
  application: Application,
  headers: GateHeaders,
): Promise<Caller> {
  const { accessToken } = headers
  const actAs = { userId: readId('user_id', headers.userId), groupId: readId('group_id', headers.groupId) }
  const acts = actAs.userId !== undefined || actAs.groupId !== undefined
  if (accessToken === undefined) {
    if (rule.access !== 'public' && rule.access !== 'holder')
      throw new Failure(40101, 'The header access-token is missing.')
    if (acts) throw new Failure(40302, 'The headers user_id and group_id need an access-token.')
    return { role: 'none' }
  }
  const claims = await deps.sessions.claims(application, accessToken)
  if (!claims) {
    // Who logs in anew may still send the token that made it necessary.
    if (rule.access === 'public') return { role: 'none' }
    throw new Failure(40102, 'The access-token is invalid, expired, revoked or of another application.')
  }
  if (actAs.userId !== undefined && actAs.groupId !== undefined)
    throw new Failure(40302, 'The headers user_id and group_id cannot be used together.')
  if (claims.role === 'user') return actingUser(BigInt(claims.subject), actAs)
  return actingAdmin(deps, application.appId, actAs)
}

type ActAs = { userId?: bigint; groupId?: bigint }

function actingUser(own: bigint, actAs: ActAs): Caller {
  if (actAs.groupId !== undefined)
    throw new Failure(40302, 'The header group_id is allowed with an admin token only.')
  if (actAs.userId !== undefined && actAs.userId !== own)
    throw new Failure(40302, 'The header user_id of a user token can only name its own user.')
  return { role: 'user', userId: own, actor: `user ${own}` }
}

async function actingAdmin(
  deps: Pick<ApiDeps, 'sessions'>,
  appId: string,
  { userId, groupId }: ActAs,
): Promise<Caller> {
  if (userId !== undefined) {
    if (!(await deps.sessions.isUser(appId, userId)))
      throw new Failure(40401, `The user ${userId} does not exist.`)
    return { role: 'user', userId, actor: `admin as user ${userId}` }
  }
  if (groupId !== undefined) {
    if (!(await deps.sessions.isGroup(appId, groupId)))
      throw new Failure(40401, `The group ${groupId} does not exist.`)
    return { role: 'admin', groupId, actor: `admin of group ${groupId}` }
  }
  return { role: 'admin', actor: 'admin' }
}

function readId(header: string, value: string | undefined): bigint | undefined {
  if (value === undefined) return undefined
  const read = readInt64(value.trim())
  if (read === undefined) throw new Failure(40002, `The header ${header} must be a whole number of 64 bits.`)
  return read
}

function refuseOthers(rule: Rule, caller: Caller): void {
  if (rule.access === 'admin' && caller.role !== 'admin')
    throw new Failure(40301, 'Only an admin of the application may do this.')
  if (rule.access === 'user' && caller.role !== 'user')
    throw new Failure(
      40301,
      'Only a user may do this: send a user token, or an admin token with the header user_id.',
    )
  if (rule.groupRefused && caller.role === 'admin' && caller.groupId !== undefined)
    throw new Failure(40301, 'An admin of a group may not do this.')
}
