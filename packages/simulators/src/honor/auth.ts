import { randomBytes } from 'node:crypto'
import type { SimReply, SimRequest } from '../frame/server.ts'
import type { Faults } from '../simulator.ts'
import type { Refusal } from './rules.ts'

/** A registered app. */
export type HonorCredential = { appId: string; clientId: string; clientSecret: string }

type HonorAuthOptions = {
  credentials: readonly HonorCredential[]
  acceptAny: boolean
  acceptUnknown: boolean
  expiresIn: number
  now(): number
}

/** Issues access tokens and checks bearers. */
type HonorAuth = {
  token(request: SimRequest, faults: Readonly<Faults>): SimReply
  /** Returns undefined if the bearer may send for this app. */
  refuse(
    request: SimRequest,
    appId: string,
    faults: Readonly<Faults>,
  ): (Refusal & { status: number }) | undefined
  reset(): void
}

type Issued = { clientId: string; expiresAt: number }

const wrongToken = { status: 401, code: 80200001, message: 'token wrong' }
const expiredToken = { status: 401, code: 80200003, message: 'token expired' }
const unknownApp = { status: 404, code: 404, message: 'app not found' }

export function openHonorAuth(options: HonorAuthOptions): HonorAuth {
  const { credentials, acceptAny, acceptUnknown, now } = options
  const issued = new Map<string, Issued>()
  // The fault expires the tokens of a client once each time it is switched on.
  const expiredFor = new Map<string, Readonly<Faults>>()

  function isKnown(clientId: string, secret: string): boolean {
    const isWellFormed = clientId !== '' && secret !== ''
    if (acceptAny) return isWellFormed
    const known = credentials.find((one) => one.clientId === clientId)
    return known ? known.clientSecret === secret : acceptUnknown && isWellFormed
  }

  return {
    token(request, faults) {
      const form = request.form()
      const isForm = request.mediaType === 'application/x-www-form-urlencoded'
      if (!isForm || form.get('grant_type') !== 'client_credentials')
        return {
          status: 400,
          body: { error: 'unsupported_grant_type', error_description: 'Invalid grant_type' },
        }
      const clientId = form.get('client_id') ?? ''
      if (faults.refuseAuth || !isKnown(clientId, form.get('client_secret') ?? ''))
        return {
          status: 401,
          body: {
            error: 'unauthorized_client',
            error_description: 'Invalid client or Invalid client credentials',
          },
        }
      const token = randomBytes(64).toString('base64url')
      issued.set(token, { clientId, expiresAt: now() + options.expiresIn * 1000 })
      return { body: { access_token: token, expires_in: options.expiresIn, token_type: 'Bearer' } }
    },
    refuse(request, appId, faults) {
      const bearer = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]
      const known = bearer === undefined ? undefined : issued.get(bearer)
      if (!known || faults.refuseAuth) return wrongToken
      if (faults.expireAuth && expiredFor.get(known.clientId) !== faults) {
        expiredFor.set(known.clientId, faults)
        for (const token of issued.values()) if (token.clientId === known.clientId) token.expiresAt = 0
      }
      if (known.expiresAt <= now()) return expiredToken
      if (acceptAny) return undefined
      const app = credentials.find((one) => one.appId === appId)
      const isKnownClient = credentials.some((one) => one.clientId === known.clientId)
      if (!app) return acceptUnknown && !isKnownClient ? undefined : unknownApp
      return app.clientId === known.clientId ? undefined : wrongToken
    },
    reset: () => expiredFor.clear(),
  }
}
