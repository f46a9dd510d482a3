import { type Application, recordFailedSignIn } from '@herald/db/tenants'
import type { ConsoleSession } from '../auth/console-sessions.ts'
import { Failure } from '../codes.ts'
import type { ApiDeps } from '../deps.ts'
import { readInt64 } from '../input/fields.ts'
import type { Access, ConsoleAccess } from '../route.ts'
import { bearerIn, type CallHeaders, refuseActAs, same } from './call-headers.ts'
import { checkLimited } from './check-limited.ts'
import { comesFromElsewhere, mayUseSession } from './same-origin.ts'

export type Call = { headers: CallHeaders; address: string; requestId: string }

export type AccessRule = {
  access: Access | ConsoleAccess
  groupRefused?: true
  actsForNobody?: true
  /** A page that changes nothing. */
  reads?: true
}

/** Whose credentials came with a call. */
export type Identity = { role: 'none' | 'admin' | 'operator' } | { role: 'user'; userId: bigint }

/** The user or group that the caller wants to act for. */
export type ActAs = { userId?: bigint; groupId?: bigint }

export type Authenticated = { application: Application; identity: Identity; actAs: ActAs }

type AuthDeps = Pick<
  ApiDeps,
  'db' | 'log' | 'sessions' | 'consoleSessions' | 'operatorKey' | 'checkOperatorKey' | 'publicUrl' | 'limits'
>

const noApplication: Application = {
  appId: '',
  name: '',
  packageName: '',
  tokenVersion: 0,
  createdAt: new Date(0),
}

/** Finds out who calls, from headers alone. `authorise` decides whether they may. */
export async function authenticate(deps: AuthDeps, rule: AccessRule, given: Call): Promise<Authenticated> {
  const isForBoth = rule.access === 'console' || rule.access === 'owner'
  const call = isForBoth ? withBearer(deps, given) : given
  const { headers } = call
  if (rule.access === 'visitor') {
    if (comesFromElsewhere(headers, deps.publicUrl)) throw elsewhere()
    return { application: noApplication, identity: { role: 'none' }, actAs: {} }
  }
  if (rule.access === 'operator')
    return { application: noApplication, identity: await operatorOf(deps, rule, call), actAs: {} }
  if (rule.access === 'console' && headers.accessToken === undefined) return consoleUserOf(deps, call)
  if (rule.access === 'owner' && !isByToken(headers)) {
    const user = await consoleUserOf(deps, call)
    refuseActAs({ access: 'operator' }, headers)
    return user
  }
  const application = await applicationOf(deps, call)
  const actAs = {
    userId: readId('user_id', headers.userId),
    groupId: readId('group_id', headers.groupId),
  }
  return { application, identity: await identify(deps, rule, application, call, actAs), actAs }
}

async function applicationOf({ sessions, limits }: AuthDeps, call: Call): Promise<Application> {
  const { appId } = call.headers
  if (appId === undefined) throw new Failure(40005, 'The header app_id is missing.')
  const application = await checkLimited(limits, call.address, {
    isFree: sessions.isApplicationCached(appId),
    isExempt: () => hasIssuedToken(sessions, call, appId),
    run: () => sessions.application(appId),
  })
  if (!application) throw new Failure(40104, 'No application has this app_id.')
  return application
}

/** Limits per address must not stop callers with a token of ours, in particular admins. */
function hasIssuedToken(sessions: AuthDeps['sessions'], { headers }: Call, appId: string): boolean {
  return headers.accessToken !== undefined && sessions.tokens.isIssued(headers.accessToken, appId)
}

function readId(header: string, value: string | undefined): bigint | undefined {
  if (value === undefined) return undefined
  const read = readInt64(value)
  if (read === undefined) throw new Failure(40002, `The header ${header} must be a 64-bit integer.`)
  return read
}

async function operatorOf(deps: AuthDeps, rule: AccessRule, call: Call): Promise<Identity> {
  const bearer = bearerIn(call.headers.authorization)
  // Not verified: no access token belongs to the operator.
  if (bearer === undefined && call.headers.accessToken !== undefined) return { role: 'none' }
  if (bearer !== undefined && isAccessToken(deps, bearer)) return { role: 'none' }
  return identityOf(await signedIn(deps, call, rule.reads))
}

/** On routes for the operator and admins the bearer token is an operator key or an access token. */
function withBearer(deps: AuthDeps, call: Call): Call {
  const { headers } = call
  const bearer = bearerIn(headers.authorization)
  if (bearer === undefined || !isAccessToken(deps, bearer)) return call
  const accessToken = same('access-token', headers.accessToken, 'authorization', bearer)
  return { ...call, headers: { ...headers, accessToken } }
}

/** The shape of a JWT. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]*$/

/**
 * Returns whether a bearer token is an access token, also an expired or forged one: it is no guess of the operator key and must not
 * count as one. If the key itself has the shape of a token, only valid tokens are taken for one, because guesses of it must be counted.
 */
function isAccessToken({ operatorKey = '', sessions }: AuthDeps, bearer: string): boolean {
  if (!TOKEN.test(bearer)) return false
  return !TOKEN.test(operatorKey) || sessions.tokens.verify(bearer) !== undefined
}

/** With both an access token and the operator key, the caller is the operator. */
function isByToken({ accessToken, authorization }: CallHeaders): boolean {
  const bearer = bearerIn(authorization)
  return accessToken !== undefined && (bearer === undefined || bearer === accessToken)
}

/** An application's session is for that application; the operator's is for the one in app_id, or for all. */
async function consoleUserOf(deps: AuthDeps, call: Call): Promise<Authenticated> {
  const { headers } = call
  const session = await signedIn(deps, call)
  const identity = identityOf(session)
  if (session.role === 'application') {
    refuseOtherApplication(session, headers.appId ?? session.application.appId)
    return { application: session.application, identity, actAs: {} }
  }
  const application = headers.appId === undefined ? noApplication : await applicationOf(deps, call)
  return { application, identity, actAs: {} }
}

/** By the operator key, otherwise by the session cookie. */
async function signedIn(deps: AuthDeps, call: Call, reads = false): Promise<ConsoleSession> {
  const { headers, address, requestId } = call
  const key = bearerIn(headers.authorization)
  if (key === undefined) {
    if (headers.session === undefined)
      throw new Failure(40101, 'The operator key is missing: send it as authorization: Bearer.')
    return sessionOf(deps, call, reads)
  }
  await deps.checkOperatorKey(key, address, async () => {
    deps.log.warn({ requestId, address }, 'a call with a wrong operator key was refused')
    await recordFailedSignIn(deps.db, { by: { actor: 'nobody', address }, action: 'operator.refused' })
  })
  return { role: 'operator' }
}

const identityOf = ({ role }: ConsoleSession): Identity => ({
  role: role === 'operator' ? 'operator' : 'admin',
})

const elsewhere = () =>
  new Failure(
    40303,
    'The request comes from another site; behind a proxy, forward the header Host or set HERALD_PUBLIC_URL.',
  )

async function sessionOf(deps: AuthDeps, call: Call, reads = false): Promise<ConsoleSession> {
  const { headers, address } = call
  if (!mayUseSession(headers, deps.publicUrl, reads))
    throw headers.console === '1' || reads
      ? elsewhere()
      : new Failure(40303, 'A console session needs the header x-herald-console: 1.')
  const { consoleSessions, limits } = deps
  const key = headers.session ?? ''
  const session = await checkLimited(limits, address, {
    isFree: consoleSessions.isCached(key),
    run: () => consoleSessions.find(key),
  })
  if (!session) throw new Failure(40102, 'The console session has ended; sign in again.')
  return session
}

function refuseOtherApplication(session: ConsoleSession, appId: string): void {
  if (session.role === 'application' && session.application.appId !== appId)
    throw new Failure(40102, 'The console session belongs to another application.')
}

async function identify(
  deps: AuthDeps,
  rule: AccessRule,
  application: Application,
  call: Call,
  actAs: ActAs,
): Promise<Identity> {
  const { headers, address } = call
  const { accessToken } = headers
  if (accessToken !== undefined) {
    const { sessions, limits } = deps
    const claims = await checkLimited(limits, address, {
      isFree: sessions.tokens.isCached(accessToken),
      isExempt: () => hasIssuedToken(sessions, call, application.appId),
      run: () => sessions.claims(application, accessToken),
    })
    if (claims)
      return claims.role === 'user' ? { role: 'user', userId: BigInt(claims.subject) } : { role: 'admin' }
    // A client that logs in again may still send its expired token.
    if (rule.access === 'public') return { role: 'none' }
    throw new Failure(
      40102,
      'The access-token is invalid, expired, revoked or belongs to another application.',
    )
  }
  if (offersSession(rule, headers)) {
    const session = await sessionOf(deps, call)
    refuseOtherApplication(session, application.appId)
    return identityOf(session)
  }
  if (rule.access !== 'public' && rule.access !== 'holder')
    throw new Failure(40101, 'The header access-token is missing.')
  if (actAs.userId !== undefined || actAs.groupId !== undefined)
    throw new Failure(40302, 'The headers user_id and group_id need an access-token.')
  return { role: 'none' }
}

/**
 * On routes that allow anonymous callers, a session cookie counts only together with the console header: the browser may
 * have attached it on its own, for example on the page of a test device.
 */
function offersSession({ access }: AccessRule, { session, console }: CallHeaders): boolean {
  if (session === undefined || access === 'public') return false
  return access !== 'holder' || console !== undefined
}
