import { createPublicKey } from 'node:crypto'
import type { Outcome } from '@herald/domain'
import jwt from 'jsonwebtoken'
import type { MintedSession } from '../channel.ts'
import { failing } from '../shared/failing.ts'
import { type HttpClient, type HttpReply, joinUrl, parseObject, retryAfterSeconds } from '../shared/http.ts'
import { CallRefused, passKey } from '../shared/pass.ts'
import type { FcmSettings } from './settings.ts'

// https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests
const audience = 'https://oauth2.googleapis.com/token'
const scope = 'https://www.googleapis.com/auth/firebase.messaging'
const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const lifeSeconds = 3600
const renewBeforeMs = 5 * 60_000

export function accessTokenKey({ clientEmail, privateKey }: FcmSettings): string {
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString()
  return passKey('access-token', clientEmail, publicKey)
}

/** Exchanges a signed assertion for an access token. Throws CallRefused, or TransportFailure without an answer. */
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
  const answer = parseObject(reply.text)
  if (reply.status !== 200) throw new CallRefused(refusal(reply, answer, nowMs))
  const token = answer?.access_token
  if (typeof token !== 'string' || !token)
    throw new CallRefused({
      kind: 'misconfigured',
      reason: 'token endpoint: an answer without access_token, as for an unknown scope',
    })
  const seconds = typeof answer?.expires_in === 'number' ? answer.expires_in : lifeSeconds
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

/** This endpoint says `{"error", "error_description"}`, unlike the send API. */
function refusal(reply: HttpReply, answer: Record<string, unknown> | undefined, nowMs: number): Outcome {
  const code = typeof answer?.error === 'string' && /^\w{1,64}$/.test(answer.error) ? answer.error : undefined
  const reason = `token endpoint: ${reply.status} ${code ?? 'without a code'}`
  if (reply.status === 429)
    return { kind: 'throttled', reason, retryAfter: retryAfterSeconds(reply.headers, nowMs) ?? 60 }
  if (reply.status >= 500) return failing('unavailable', reason, reply, nowMs)
  const hint = hintOf(typeof answer?.error_description === 'string' ? answer.error_description : '')
  return { kind: 'misconfigured', reason: hint ? `${reason}: ${hint}` : reason }
}

/** Our own words for the causes Google tells apart only in prose. */
function hintOf(description: string): string | undefined {
  if (/signature/i.test(description)) return 'the key was deleted or is another account’s'
  if (/account not found/i.test(description)) return 'the service account was deleted'
  if (/short-lived|timeframe/i.test(description)) return 'check the clock of this machine'
  if (/audience/i.test(description)) return 'the audience is wrong'
  return undefined
}
