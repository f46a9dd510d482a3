import { createPublicKey } from 'node:crypto'
import { type Outcome, ownReasons } from '@herald/domain'
import jwt from 'jsonwebtoken'
import type { MintedSession } from '../channel.ts'
import { sessionKey } from '../shared/access-token.ts'
import { type HttpReply, joinUrl, parseObject, retryAfterSeconds } from '../shared/http.ts'
import type { HttpClient } from '../shared/http-client.ts'
import { CallRefused, failureOutcome } from '../shared/outcome.ts'
import { reason } from '../shared/reason.ts'
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
      kind: 'misconfigured',
      reason: ownReasons.vendor_reply_unreadable(
        'token endpoint: the reply has no access_token, as for an unknown scope',
      ),
    })
  const seconds = typeof body?.expires_in === 'number' ? body.expires_in : lifeSeconds
  const expiresAt = nowMs + seconds * 1000
  return { value: token, renewAt: Math.max(nowMs, expiresAt - renewBeforeMs), expiresAt }
}

export function assertionOf(settings: FcmSettings, nowMs: number): string {
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
  if (reply.status === 429) {
    const retryAfter = retryAfterSeconds(reply.headers, nowMs) ?? 60
    return { kind: 'throttled', reason: because(), retryAfter }
  }
  if (reply.status >= 500) return failureOutcome('unavailable', because(), reply, nowMs)
  const hint = hintOf(typeof body?.error_description === 'string' ? body.error_description : '')
  return { kind: 'misconfigured', reason: because(hint && `: ${hint}`) }
}

/** Explains causes that Google distinguishes only in its description. */
function hintOf(description: string): string | undefined {
  if (/signature/i.test(description)) return 'the key was deleted or belongs to another account'
  if (/account not found/i.test(description)) return 'the service account was deleted'
  if (/short-lived|timeframe/i.test(description)) return 'check the clock of this server'
  if (/audience/i.test(description)) return 'the audience is wrong'
  return undefined
}
