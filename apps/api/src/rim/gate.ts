import type { Application } from '@herald/db/tenants'
import type { ConsoleSession } from '../auth/console-sessions.ts'
import { isSameSecret } from '../auth/same-secret.ts'
import { Failure } from '../codes.ts'
import type { ApiDeps } from '../deps.ts'
import type { Access, Caller, ConsoleAccess } from '../route.ts'
import { actingAdmin, actingUser, readActAs } from './acting.ts'
import { comesFromElsewhere, mayUseSession, type Provenance } from './same-origin.ts'

/** The headers a call is judged by; blank ones are undefined. */
export type GateHeaders = Provenance & {
  appId?: string
  accessToken?: string
  userId?: string
  groupId?: string
  authorization?: string
  /** The key in the cookie of a console session. */
  session?: string
}

export type Admitted = { application: Application; caller: Caller }

type Rule = {
  access: Access | ConsoleAccess
  groupRefused?: true
  /** A page that is looked at and changes nothing. */
  reads?: true
}

type GateDeps = Pick<ApiDeps, 'sessions' | 'consoleSessions' | 'operatorKey' | 'publicUrl'>

const nobody: Application = {
  appId: '',
  name: '',
  packageName: '',
  tokenVersion: 0,
  createdAt: new Date(0),
}

/** The one place that decides who a caller is and whether the call is theirs to make. */
export async function admit(deps: GateDeps, rule: Rule, headers: GateHeaders): Promise<Admitted> {
  if (rule.access === 'visitor') {
    if (comesFromElsewhere(headers, deps.publicUrl)) throw elsewhere()
    return { application: nobody, caller: { role: 'none' } }
  }
  if (rule.access === 'operator')
    return { application: nobody, caller: await admitOperator(deps, headers, rule) }
  if (rule.access === 'console' && headers.accessToken === undefined) return admitToConsole(deps, headers)
  const application = await applicationOf(deps, headers.appId)
  const caller = await identify(deps, rule, application, headers)
  refuseOthers(rule, caller)
  return { application, caller }
}

async function applicationOf(deps: GateDeps, appId: string | undefined): Promise<Application> {
  if (appId === undefined) throw new Failure(40005, 'The header app_id is missing.')
  const application = await deps.sessions.application(appId)
  if (!application) throw new Failure(40104, 'There is no application with this app_id.')
  return application
}

async function admitOperator(deps: GateDeps, headers: GateHeaders, rule?: Rule): Promise<Caller> {
  const key = operatorKeyIn(headers)
  if (key !== undefined) {
    if (deps.operatorKey === undefined || !isSameSecret(key, deps.operatorKey))
      throw new Failure(40102, 'The operator key is wrong.')
    return { role: 'operator', actor: 'operator' }
  }
  if (headers.accessToken !== undefined) throw new Failure(40301, 'Only the operator may do this.')
  if (headers.session === undefined)
    throw new Failure(40101, 'The operator key is missing: send it as authorization: Bearer.')
  const { role } = await sessionOf(deps, headers, rule?.reads)
  if (role !== 'operator') throw new Failure(40301, 'Only the operator may do this.')
  return { role, actor: 'operator' }
}

function operatorKeyIn({ authorization }: GateHeaders): string | undefined {
  return /^Bearer +(\S.*)$/i.exec(authorization ?? '')?.[1]
}

/** An application's session is for that application; the operator's for the one named, or for all. */
async function admitToConsole(deps: GateDeps, headers: GateHeaders): Promise<Admitted> {
  if (operatorKeyIn(headers) === undefined && headers.session !== undefined) {
    const session = await sessionOf(deps, headers)
    if (session.role === 'application') {
      refuseOtherApplication(session, headers.appId ?? session.application.appId)
      return { application: session.application, caller: { role: 'admin', actor: 'admin' } }
    }
  }
  const caller = await admitOperator(deps, headers)
  const application = headers.appId === undefined ? nobody : await applicationOf(deps, headers.appId)
  return { application, caller }
}

const elsewhere = () =>
  new Failure(
    40303,
    'The request comes from another site; behind a proxy, pass the header Host on or set HERALD_PUBLIC_URL.',
  )

async function sessionOf(deps: GateDeps, headers: GateHeaders, reads = false): Promise<ConsoleSession> {
  if (!mayUseSession(headers, deps.publicUrl, reads))
    throw headers.console === '1' || reads
      ? elsewhere()
      : new Failure(40303, 'A console session needs the header x-herald-console: 1.')
  const session = headers.session === undefined ? undefined : await deps.consoleSessions.find(headers.session)
  if (!session) throw new Failure(40102, 'The console session has ended; sign in again.')
  return session
}

function refuseOtherApplication(session: ConsoleSession, appId: string): void {
  if (session.role === 'application' && session.application.appId !== appId)
    throw new Failure(40102, 'The console session is of another application.')
}

async function identify(
  deps: GateDeps,
  rule: Rule,
  application: Application,
  headers: GateHeaders,
): Promise<Caller> {
  const { accessToken } = headers
  const actAs = readActAs(headers)
  if (accessToken === undefined && offersSession(rule, headers)) {
    const session = await sessionOf(deps, headers)
    refuseOtherApplication(session, application.appId)
    return actingAdmin(
      deps.sessions,
      application.appId,
      actAs,
      session.role === 'operator' ? 'operator' : 'admin',
    )
  }
  if (accessToken === undefined) {
    if (rule.access !== 'public' && rule.access !== 'holder')
      throw new Failure(40101, 'The header access-token is missing.')
    if (actAs.userId !== undefined || actAs.groupId !== undefined)
      throw new Failure(40302, 'The headers user_id and group_id need an access-token.')
    return { role: 'none' }
  }
  const claims = await deps.sessions.claims(application, accessToken)
  if (!claims) {
    // Who logs in anew may still send the token that made it necessary.
    if (rule.access === 'public') return { role: 'none' }
    throw new Failure(40102, 'The access-token is invalid, expired, revoked or of another application.')
  }
  if (claims.role === 'user') return actingUser(BigInt(claims.subject), actAs)
  return actingAdmin(deps.sessions, application.appId, actAs, 'admin')
}

/**
 * A call that needs nobody's name takes the cookie for what it may be, sent along by the browser unasked: pages beside the
 * console, such as a device's, go on as nobody.
 */
function offersSession({ access }: Rule, { session, console }: GateHeaders): boolean {
  if (session === undefined || access === 'public') return false
  return access !== 'holder' || console !== undefined
}

function refuseOthers(rule: Rule, caller: Caller): void {
  if ((rule.access === 'admin' || rule.access === 'console') && caller.role !== 'admin')
    throw new Failure(40301, 'Only an admin of the application may do this.')
  if (rule.access === 'user' && caller.role !== 'user')
    throw new Failure(
      40301,
      'Only a user may do this: send a user token, or an admin token with the header user_id.',
    )
  if (rule.groupRefused && caller.role === 'admin' && caller.groupId !== undefined)
    throw new Failure(40301, 'An admin of a group may not do this.')
}
