import { createPublicKey } from 'node:crypto'
import { type Outcome, ownReasons } from '@herald/domain'
import jwt from 'jsonwebtoken'
import type { MintedSession } from '../channel.ts'
import { sessionKey } from '../shared/access-token.ts'
import { type HttpReply, joinUrl, parseObject, retryAfterSeconds } from '../shared/http.ts'
import type { HttpClient } from '../shared/http-client.ts'
import { CallRefused, unknownCodeTries } from '../shared/outcome.ts'
import { reason } from '../shared/reason.ts'
import { outagePause } from './classify.ts'
import type { FcmSettings } from './settings.ts'

// https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests
const audience = 'https://oauth2.googleapis.com/token'
const scope = 'https://www.googleapis.com/auth/firebase.messaging'
const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const lifeSeconds = 3600
const renewBeforeMs = 5 * 60_000

export function accessTokenKey({ clientEmail, privateKey }: FcmSettings): string {
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString()
  return sessionKey('access-token', clientEmail, publicKey)
}

/** Exchanges a signed assertion for an access token. Throws CallRefused, or TransportFailure without a reply. */
export async function mintAccessToken(
  settings: FcmSettings,
  http: HttpClient,
  tokenUrl: string,
  nowMs: number,
): Promise<MintedSession> {
  const reply = await http.call({
    url: joinUrl(tokenUrl, '/token'),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: grantType, assertion: assertionOf(settings, nowMs) }).toString(),
  })
  const body = parseObject(reply.text)
  if (reply.status !== 200) throw new CallRefused(refusal(reply, body, nowMs))
  const token = body?.access_token
  if (typeof token !== 'string' || !token)
    throw new CallRefused({
      kind: 'unavailable',
      reason: ownReasons.vendor_reply_unreadable('token endpoint: the reply has no access_token'),
      minWait: outagePause,
    })
  const seconds = typeof body?.expires_in === 'number' ? body.expires_in : lifeSeconds
  const expiresAt = nowMs + seconds * 1000
  return { value: token, renewAt: Math.max(nowMs, expiresAt - renewBeforeMs), expiresAt }
}

function assertionOf(settings: FcmSettings, nowMs: number): string {
  const { clientEmail, privateKey, privateKeyId } = settings
  const iat = Math.floor(nowMs / 1000)
  const claims = { iss: clientEmail, scope, aud: audience, iat, exp: iat + lifeSeconds }
  return jwt.sign(claims, privateKey, {
    algorithm: 'RS256',
    ...(privateKeyId === undefined ? {} : { keyid: privateKeyId }),
  })
}

/** Unlike the send API, this endpoint replies with `{"error", "error_description"}`. */
function refusal(reply: HttpReply, body: Record<string, unknown> | undefined, nowMs: number): Outcome {
  const code = typeof body?.error === 'string' && /^\w{1,64}$/.test(body.error) ? body.error : undefined
  const text = `token endpoint: ${reply.status} ${code ?? 'without a code'}`
  const because = (more = '') => reason('fcm', code ?? `oauth_${reply.status}`, text + more)
  const retryAfter = retryAfterSeconds(reply.headers, nowMs)
  if (reply.status === 429) return { kind: 'throttled', reason: because(), retryAfter, minWait: 60 }
  const later = { kind: 'unavailable', retryAfter, minWait: outagePause } as const
  if (reply.status >= 500 || code === undefined) return { ...later, reason: because() }
  const description = typeof body?.error_description === 'string' ? body.error_description : ''
  const { hint, ofCredential = false } = causeOf(description)
  const why = because(hint && `: ${hint}`)
  if (code === 'invalid_scope' || (code === 'invalid_grant' && ofCredential))
    return { kind: 'misconfigured', reason: why }
  return code === 'invalid_grant'
    ? { ...later, reason: why }
    : { ...later, reason: why, maxTries: unknownCodeTries }
}

/** Causes that Google distinguishes only in its description. An unknown description is about the key or the account. */
function causeOf(description: string): { hint?: string; ofCredential?: boolean } {
  if (/signature/i.test(description))
    return { hint: 'the key was deleted or belongs to another account', ofCredential: true }
  if (/account not found/i.test(description))
    return { hint: 'the service account was deleted', ofCredential: true }
  if (/short-lived|timeframe/i.test(description)) return { hint: 'check the clock of this server' }
  if (/audience/i.test(description)) return { hint: 'the audience is wrong' }
  return { ofCredential: true }
}
