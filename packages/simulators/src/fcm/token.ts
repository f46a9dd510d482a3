import { createPublicKey, type KeyObject, randomBytes, verify } from 'node:crypto'
import type { TlsAnswer } from '../frame/tls-exchange.ts'
import type { Faults } from '../simulator.ts'
import { answerJson } from './errors.ts'

/** A service account that the simulator accepts. */
export type FcmSimAccount = {
  clientEmail: string
  /** PEM, public or private. */
  key: string
  /** Projects it may send to. */
  projects: string[]
  /** The account lacks the role to send. */
  withoutRole?: boolean
}

type Grant = { projects: readonly string[] | 'any'; withoutRole: boolean }

type TokenExchange = {
  /** The reply to POST /token. */
  exchange(method: string, mediaType: string, body: string, faults: Faults): TlsAnswer
  /** The rights of an access token, or the reason in ErrorInfo for its refusal. */
  check(authorization: string | undefined, faults: Faults): Grant | string
  clear(): void
}

const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const lifeSeconds = 3599
const skewSeconds = 300

const audiences = [
  'https://oauth2.googleapis.com/token',
  'https://accounts.google.com/o/oauth2/token',
  'https://www.googleapis.com/oauth2/v4/token',
]
const sendingScopes = [
  'https://www.googleapis.com/auth/firebase.messaging',
  'https://www.googleapis.com/auth/cloud-platform',
]
const otherScopes = [
  'https://www.googleapis.com/auth/firebase.database',
  'https://www.googleapis.com/auth/identitytoolkit',
  'https://www.googleapis.com/auth/userinfo.email',
]

type Issued = { expiresAt: number; grant: Grant; maySend: boolean; refused: boolean }

export function openTokenExchange(options: {
  accounts: readonly FcmSimAccount[]
  acceptAnyCredentials: boolean
  acceptUnknown: boolean
  ownUrl(): string
  now(): number
}): TokenExchange {
  const accounts = new Map(
    options.accounts.map((one) => [one.clientEmail, { ...one, publicKey: createPublicKey(one.key) }]),
  )
  const issued = new Map<string, Issued>()
  let seenFaults: Faults | undefined

  /** Expires all access tokens issued before the fault was switched on; later ones are valid. */
  function noteFaults(faults: Faults): void {
    if (faults === seenFaults) return
    seenFaults = faults
    if (faults.expireAuth) for (const token of issued.values()) token.refused = true
  }

  function issue(grant: Grant, maySend: boolean): TlsAnswer {
    const token = `ya29.sim.${randomBytes(24).toString('base64url')}`
    issued.set(token, {
      expiresAt: options.now() + lifeSeconds * 1000,
      grant,
      maySend,
      refused: false,
    })
    return answerJson(200, { access_token: token, expires_in: lifeSeconds, token_type: 'Bearer' })
  }

  /** Structure, account, signature, times, scope, audience: close to the order observed at Google. */
  function checkAssertion(assertion: string): TlsAnswer {
    const jwt = readJwt(assertion)
    if (!jwt) return refuse('invalid_request', 'Bad Request')
    const { header, claims } = jwt
    const account = typeof claims.iss === 'string' ? accounts.get(claims.iss) : undefined
    if (!account && !options.acceptAnyCredentials && !(options.acceptUnknown && header.alg === 'RS256'))
      return refuse('invalid_grant', 'Invalid grant: account not found')
    if (account && (header.alg !== 'RS256' || !isSignedBy(jwt, account.publicKey)))
      return refuse('invalid_grant', 'Invalid JWT Signature.')
    if (!inTimeframe(claims, options.now() / 1000))
      return refuse(
        'invalid_grant',
        'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.',
      )
    const scopes = typeof claims.scope === 'string' ? claims.scope.split(' ').filter(Boolean) : []
    if (scopes.length === 0)
      return refuse('invalid_scope', 'Invalid OAuth scope or ID token audience provided.')
    if (![...audiences, `${options.ownUrl()}/token`].includes(String(claims.aud)))
      return refuse('invalid_grant', 'Invalid JWT: Failed audience check.')
    if (scopes.some((scope) => !sendingScopes.includes(scope) && !otherScopes.includes(scope)))
      return answerJson(200, { id_token: 'simulated' })
    return issue(
      account
        ? { projects: account.projects, withoutRole: account.withoutRole ?? false }
        : { projects: 'any', withoutRole: false },
      scopes.some((scope) => sendingScopes.includes(scope)),
    )
  }

  return {
    exchange(method, mediaType, body, faults) {
      noteFaults(faults)
      const form = new URLSearchParams(mediaType === 'application/x-www-form-urlencoded' ? body : '')
      if (method !== 'POST' || form.get('grant_type') !== grantType)
        return refuse('unsupported_grant_type', 'Invalid grant_type')
      if (faults.refuseAuth) return refuse('invalid_grant', 'Invalid JWT Signature.')
      return checkAssertion(form.get('assertion') ?? '')
    },
    check(authorization, faults) {
      noteFaults(faults)
      if (!authorization) return 'CREDENTIALS_MISSING'
      const token = /^Bearer (.+)$/i.exec(authorization)?.[1]
      const known = token === undefined ? undefined : issued.get(token)
      if (faults.refuseAuth) return 'ACCESS_TOKEN_TYPE_UNSUPPORTED'
      if (!known)
        return options.acceptAnyCredentials
          ? { projects: 'any', withoutRole: false }
          : 'ACCESS_TOKEN_TYPE_UNSUPPORTED'
      if (known.refused || known.expiresAt <= options.now()) return 'ACCESS_TOKEN_EXPIRED'
      return known.maySend ? known.grant : { ...known.grant, withoutRole: true }
    },
    clear: () => issued.clear(),
  }
}

function refuse(error: string, description: string): TlsAnswer {
  return answerJson(400, { error, error_description: description })
}

type Jwt = {
  header: Record<string, unknown>
  claims: Record<string, unknown>
  signed: string
  signature: Buffer
}

function readJwt(text: string): Jwt | undefined {
  const [head, body, signature, ...more] = text.split('.')
  if (!head || !body || !signature || more.length > 0) return undefined
  try {
    const header: unknown = JSON.parse(Buffer.from(head, 'base64url').toString())
    const claims: unknown = JSON.parse(Buffer.from(body, 'base64url').toString())
    if (typeof header !== 'object' || typeof claims !== 'object' || !header || !claims) return undefined
    return {
      header: header as Jwt['header'],
      claims: claims as Jwt['claims'],
      signed: `${head}.${body}`,
      signature: Buffer.from(signature, 'base64url'),
    }
  } catch {
    return undefined
  }
}

function isSignedBy(jwt: Jwt, key: KeyObject): boolean {
  return verify('RSA-SHA256', Buffer.from(jwt.signed), key, jwt.signature)
}

function inTimeframe({ iat, exp }: Record<string, unknown>, now: number): boolean {
  if (typeof iat !== 'number' || typeof exp !== 'number') return false
  return exp > iat && exp - iat <= 3600 && iat <= now + skewSeconds && exp > now
}
