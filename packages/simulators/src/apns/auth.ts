import { createPublicKey, type KeyObject, verify, X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import type { Faults } from '../simulator.ts'
import { type Environment, readMarks } from './certificate-marks.ts'

/** A signing key that the simulator accepts. */
export type ApnsSimKey = {
  keyId: string
  teamId: string
  /** PEM, public or private. */
  key: string
  /** By default both environments. */
  environment?: Environment
  /** By default every topic of the team. */
  topics?: string[]
}

/** The state of one connection: APNs binds it to its first valid token. */
export type ApnsConnection = TokenUse & {
  certificate?: ClientCertificate
  bound?: { teamId: string; keyId: string }
  /** It carried an expired token; APNs refuses all later requests on it. */
  expired: boolean
  /** Maximum number of concurrent streams. */
  streams: number
  setStreams(count: number): void
}

/** The tokens that a connection or a team used. */
type TokenUse = {
  jwt?: string
  /** Unix ms of the last change of the token. */
  jwtChangedAt: number
  earlyChanges: number
}

type ClientCertificate = { trusted: boolean; topics: string[]; environments: Environment[] }

type ApnsSimAuthOptions = {
  environment: Environment
  keys: readonly ApnsSimKey[]
  /** PEM of authorities whose client certificates are accepted as Apple's. */
  certificateAuthorities: readonly string[]
  acceptAnyCredentials: boolean
  acceptUnknown: boolean
  /** Number of new tokens within 20 minutes that a connection accepts. */
  tokenUpdateGrace: number
  now(): number
}

type AuthProblem = { status: number; reason: string }
/** Without `topics` every topic is allowed. */
type Authorised = { topics?: readonly string[]; byCertificate: boolean }

type Claims = { known: ApnsSimKey; issuedAt: number } | 'invalid'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const minAgeMs = 20 * minuteMs
const problem = (status: number, reason: string): AuthProblem => ({ status, reason })

type ApnsSimAuth = {
  readCertificate(socket: TLSSocket): ClientCertificate | undefined
  check(
    authorization: string | undefined,
    connection: ApnsConnection,
    faults: Faults,
  ): Authorised | AuthProblem
  clear(): void
}

/** A rule by which new tokens are counted per team: Apple does not publish what it counts. */
export const updatesPerTeam = 'token_updates_per_team'
/** A rule by which tokens that were issued in the future are refused: Apple does not publish how far a clock may be ahead. */
export const refusesFuture = 'future_tokens_refused'

export function openApnsSimAuth(options: ApnsSimAuthOptions): ApnsSimAuth {
  const keys = new Map(
    options.keys.map((one) => [one.keyId, { ...one, publicKey: createPublicKey(one.key) }]),
  )
  const authorities = options.certificateAuthorities.map((pem) => new X509Certificate(pem))
  // Verifying a signature costs more than the rest of a request.
  const verified = new Map<string, Claims>()
  const refused = new Set<string>()
  const teams = new Map<string, TokenUse>()
  let seenFaults: Faults | undefined

  function readClaims(jwt: string): Claims {
    let claims = verified.get(jwt)
    if (claims === undefined) {
      claims = verifyJwt(jwt, (keyId) => keys.get(keyId), options.acceptUnknown)
      verified.set(jwt, claims)
    }
    return claims
  }

  /** Expires all tokens seen before the fault was switched on; later ones are valid. */
  function noteFaults(faults: Faults): void {
    if (faults === seenFaults) return
    seenFaults = faults
    if (faults.expireAuth) for (const jwt of verified.keys()) refused.add(jwt)
  }

  function checkToken(jwt: string, connection: ApnsConnection, faults: Faults): Authorised | AuthProblem {
    const claims = readClaims(jwt)
    if (claims === 'invalid') return problem(403, 'InvalidProviderToken')
    const { known } = claims
    const nowMs = options.now()
    if (faults.rules?.includes(refusesFuture) && claims.issuedAt > nowMs + minuteMs)
      return problem(403, 'InvalidProviderToken')
    if (connection.expired || refused.has(jwt) || nowMs - claims.issuedAt > hourMs) {
      connection.expired = true
      return problem(403, 'ExpiredProviderToken')
    }
    if (connection.bound && connection.bound.teamId !== known.teamId) return problem(403, 'Forbidden')
    if (connection.bound && connection.bound.keyId !== known.keyId)
      return problem(403, 'UnrelatedKeyIdInToken')
    if (known.environment && known.environment !== options.environment)
      return problem(403, 'BadEnvironmentKeyInToken')
    const use = faults.rules?.includes(updatesPerTeam) ? useOfTeam(known.teamId) : connection
    if (!noteUpdate(jwt, use, nowMs)) return problem(429, 'TooManyProviderTokenUpdates')
    connection.bound ??= { teamId: known.teamId, keyId: known.keyId }
    return { topics: known.topics, byCertificate: false }
  }

  function useOfTeam(teamId: string): TokenUse {
    const use = teams.get(teamId) ?? { jwtChangedAt: 0, earlyChanges: 0 }
    teams.set(teamId, use)
    return use
  }

  function noteUpdate(jwt: string, use: TokenUse, nowMs: number): boolean {
    if (jwt === use.jwt) return true
    if (use.jwt !== undefined && nowMs - use.jwtChangedAt < minAgeMs) {
      if (use.earlyChanges >= options.tokenUpdateGrace) return false
      use.earlyChanges++
    }
    use.jwt = jwt
    use.jwtChangedAt = nowMs
    return true
  }

  function checkCertificate(certificate: ClientCertificate, faults: Faults): Authorised | AuthProblem {
    if (!certificate.trusted || faults.refuseAuth) return problem(403, 'BadCertificate')
    return { topics: certificate.topics, byCertificate: true }
  }

  return {
    readCertificate(socket) {
      const presented = socket.getPeerX509Certificate()
      if (!presented) return undefined
      const trusted = authorities.some((one) => presented.checkIssued(one) && presented.verify(one.publicKey))
      const { acceptAnyCredentials, acceptUnknown } = options
      return { trusted: trusted || acceptAnyCredentials || acceptUnknown, ...readMarks(presented) }
    },
    check(authorization, connection, faults) {
      if (connection.certificate) return checkCertificate(connection.certificate, faults)
      if (!authorization?.startsWith('bearer ')) return problem(403, 'MissingProviderToken')
      if (faults.refuseAuth) return problem(403, 'InvalidProviderToken')
      if (options.acceptAnyCredentials) return { byCertificate: false }
      noteFaults(faults)
      return checkToken(authorization.slice('bearer '.length), connection, faults)
    },
    clear: () => teams.clear(),
  }
}

function verifyJwt(
  jwt: string,
  find: (keyId: string) => (ApnsSimKey & { publicKey: KeyObject }) | undefined,
  acceptUnknown: boolean,
): Claims {
  const [head, body, signature, ...more] = jwt.split('.')
  if (!head || !body || !signature || more.length > 0) return 'invalid'
  const header = parsePart(head)
  const claims = parsePart(body)
  if (header?.alg !== 'ES256' || typeof header.kid !== 'string' || typeof claims?.iat !== 'number')
    return 'invalid'
  const key = find(header.kid)
  if (!key && acceptUnknown && isId(header.kid) && isId(claims.iss))
    return { known: { keyId: header.kid, teamId: claims.iss, key: '' }, issuedAt: claims.iat * 1000 }
  if (!key || claims.iss !== key.teamId) return 'invalid'
  const bytes = Buffer.from(signature, 'base64url')
  // Apple accepts both forms; its own sample code writes DER.
  const dsaEncoding = bytes.length === 64 ? 'ieee-p1363' : 'der'
  const good = verify('sha256', Buffer.from(`${head}.${body}`), { key: key.publicKey, dsaEncoding }, bytes)
  return good ? { known: key, issuedAt: claims.iat * 1000 } : 'invalid'
}

/** Key and team ids have ten characters. */
const isId = (value: unknown): value is string => typeof value === 'string' && /^[A-Z0-9]{10}$/.test(value)

function parsePart(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
