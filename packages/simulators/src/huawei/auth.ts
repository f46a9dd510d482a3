import { randomBytes } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { openRateMeter } from '../frame/rate.ts'
import type { SimReply, SimRequest } from '../frame/server.ts'
import type { Faults } from '../simulator.ts'
import { type Answer, answer } from './answers.ts'

/** A registered app. */
export type HuaweiCredential = {
  clientId: string
  clientSecret: string
  /** Needed for v2, and for v3 with a service account. */
  projectId?: string
  /** `publicKey` is the PEM of the private key in the service-account JSON. */
  serviceAccount?: { keyId: string; subAccount: string; publicKey: string }
}

type AuthOptions = {
  credentials: readonly HuaweiCredential[]
  acceptAny: boolean
  acceptUnknown: boolean
  expiresIn: number
  now(): number
}

/** Issues access tokens and checks bearers. */
type HuaweiAuth = {
  token(request: SimRequest, faults: Readonly<Faults>): SimReply
  /** Returns the client id that may send to this path, or the refusal. */
  admit(request: SimRequest, version: string, pathId: string, faults: Readonly<Faults>): string | Answer
  reset(): void
}

type Issued = { clientId: string; expiresAt: number }

/** Fixed by Huawei, independent of the host of the request. */
const audience = 'https://oauth-login.cloud.huawei.com/oauth2/v3/token'

const unknownToken = answer('80200001', 'Oauth authentication error')
const expiredToken = answer('80200003', 'OAuth token expired.')
const expiredJwt = answer('80200005', 'JWT token expired.')

export function openHuaweiAuth(options: AuthOptions): HuaweiAuth {
  const { credentials, acceptAny, acceptUnknown, now } = options
  const issued = new Map<string, Issued>()
  const verified = new Map<string, { owner: string; expiresAt: number }>()
  const refusedJwts = new Set<string>()
  // Token requests per app in five minutes.
  const tokenRequests = openRateMeter(1000, now, (nowMs) => Math.floor(nowMs / 300_000))
  // The fault expires the tokens of a client once each time it is switched on.
  const expiredFor = new Map<string, Readonly<Faults>>()

  function expiresNow(owner: string, faults: Readonly<Faults>): boolean {
    if (!faults.expireAuth || expiredFor.get(owner) === faults) return false
    expiredFor.set(owner, faults)
    return true
  }

  function refusal(request: SimRequest): [subError: number, description: string] | undefined {
    const form = request.form()
    const clientId = form.get('client_id') ?? ''
    const secret = form.get('client_secret') ?? ''
    if (request.mediaType !== 'application/x-www-form-urlencoded') return [20182, 'invalid grant_type']
    if (form.get('grant_type') !== 'client_credentials') return [20182, 'invalid grant_type']
    if (!/^[0-9]{1,64}$/.test(clientId)) return [20002, 'invalid client_id']
    if (!secret) return [20171, 'client_secret is missing']
    if (acceptAny) return undefined
    const known = credentials.find((credential) => credential.clientId === clientId)
    if (!known) return acceptUnknown ? undefined : [20002, 'invalid client_id']
    return known.clientSecret === secret ? undefined : [12304, 'invalid client_secret']
  }

  function admitToken(bearer: string, version: string, pathId: string, faults: Readonly<Faults>) {
    const known = issued.get(bearer)
    if (!known || version === 'v3') return unknownToken
    if (expiresNow(known.clientId, faults))
      for (const token of issued.values()) if (token.clientId === known.clientId) token.expiresAt = 0
    if (known.expiresAt <= now()) return expiredToken
    const mine = version === 'v1' ? known.clientId : projectOf(known.clientId)
    const isFree = version === 'v2' && (acceptAny || (acceptUnknown && !isKnown(known.clientId)))
    return mine === pathId || isFree ? known.clientId : unknownToken
  }

  const isKnown = (clientId: string) => credentials.some((credential) => credential.clientId === clientId)

  function projectOf(clientId: string): string | undefined {
    return credentials.find((credential) => credential.clientId === clientId)?.projectId
  }

  function admitJwt(bearer: string, version: string, pathId: string, faults: Readonly<Faults>) {
    const found = verified.get(bearer) ?? verifyJwt(bearer)
    if ('code' in found) return found
    verified.set(bearer, found)
    if (expiresNow(found.owner, faults)) refusedJwts.add(bearer)
    if (refusedJwts.has(bearer) || found.expiresAt <= now()) return expiredJwt
    const owner = credentials.find((credential) => credential.clientId === found.owner)
    const mine = version === 'v1' ? owner?.clientId : owner?.projectId
    return acceptAny || (acceptUnknown && !owner) || mine === pathId ? found.owner : unknownToken
  }

  function verifyJwt(bearer: string): { owner: string; expiresAt: number } | Answer {
    const decoded = jwt.decode(bearer, { complete: true })
    if (!decoded || typeof decoded.payload === 'string') return unknownToken
    const { iss, iat = 0, exp = 0, aud } = decoded.payload
    const owner = credentials.find(
      ({ serviceAccount }) =>
        serviceAccount?.keyId === decoded.header.kid && serviceAccount?.subAccount === iss,
    )
    if (decoded.header.alg !== 'PS256' || aud !== audience || !iat || !exp) return unknownToken
    if (exp - iat > 86_400) return answer('80300036', 'The JWT lives longer than a day')
    if (owner) {
      try {
        const at = { clockTimestamp: Math.floor(now() / 1000), ignoreExpiration: true }
        jwt.verify(bearer, owner.serviceAccount!.publicKey, { algorithms: ['PS256'], ...at })
      } catch {
        return unknownToken
      }
    } else if (!acceptAny && !acceptUnknown) return unknownToken
    return { owner: owner?.clientId ?? String(iss), expiresAt: exp * 1000 }
  }

  return {
    token(request, faults) {
      const refused = faults.refuseAuth ? ([12304, 'invalid client_secret'] as const) : refusal(request)
      if (refused)
        return {
          status: 400,
          body: { error: 1101, sub_error: refused[0], error_description: refused[1] },
        }
      const clientId = request.form().get('client_id')!
      if (!tokenRequests.take(clientId, 1)) return { status: 503, body: '' }
      const token = randomBytes(96).toString('base64')
      issued.set(token, { clientId, expiresAt: now() + options.expiresIn * 1000 })
      // Huawei escapes slashes, which breaks clients that do not parse the JSON.
      const body = JSON.stringify({
        access_token: token,
        expires_in: options.expiresIn,
        token_type: 'Bearer',
      })
      return { body: body.replaceAll('/', '\\/') }
    },
    admit(request, version, pathId, faults) {
      const bearer = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
      if (!bearer || faults.refuseAuth) return unknownToken
      return bearer.split('.').length === 3
        ? admitJwt(bearer, version, pathId, faults)
        : admitToken(bearer, version, pathId, faults)
    },
    reset() {
      tokenRequests.clear()
      expiredFor.clear()
    },
  }
}
