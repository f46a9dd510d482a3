import { createPublicKey, sign } from 'node:crypto'
import type { MintedSession } from '../channel.ts'
import { sharedSessionKey } from '../shared/access-token.ts'
import type { TokenAuth } from './settings.ts'

// https://developer.apple.com/documentation/usernotifications/establishing-a-token-based-connection-to-apns
const minuteMs = 60_000
/** Apple refuses tokens older than an hour, and a new token within 20 minutes of the previous one. */
const renewAfterMs = 50 * minuteMs
const expiresAfterMs = 60 * minuteMs
const minAgeMs = 20 * minuteMs

export type ProviderToken = {
  /** As stored in the session. */
  value: string
  jwt: string
  /** The header. One text for all requests: a new one for each would be compared and copied by the HTTP/2 client. */
  authorization: string
  /** Unix ms. */
  issuedAt: number
  /** It replaced a token of a clock that was ahead, perhaps within 20 minutes. */
  early: boolean
}

const earlyMark = ' early'

export function providerTokenKey({ keyId, teamId, key }: TokenAuth): string {
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()
  return sharedSessionKey('provider-token', teamId, keyId, publicKey)
}

/**
 * Creates a provider JWT for the shared session. `early` is stored with it, because all processes must know whether the one
 * exception from the 20 minutes was used.
 */
export function createProviderToken(auth: TokenAuth, nowMs: number, early: boolean): MintedSession {
  const issuedAt = Math.floor(nowMs / 1000)
  // Not signed by jsonwebtoken: Apple requires exactly these two header fields and two claims.
  const head = encode({ alg: 'ES256', kid: auth.keyId })
  const claims = encode({ iss: auth.teamId, iat: issuedAt })
  const signature = sign('sha256', Buffer.from(`${head}.${claims}`), {
    key: auth.key,
    dsaEncoding: 'ieee-p1363',
  })
  return {
    value: `${head}.${claims}.${signature.toString('base64url')}${early ? earlyMark : ''}`,
    renewAt: issuedAt * 1000 + renewAfterMs,
    expiresAt: issuedAt * 1000 + expiresAfterMs,
  }
}

export function parseProviderToken(value: string): ProviderToken {
  const early = value.endsWith(earlyMark)
  const jwt = early ? value.slice(0, -earlyMark.length) : value
  const claims = JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString()) as { iat: number }
  return { value, jwt, authorization: `bearer ${jwt}`, issuedAt: claims.iat * 1000, early }
}

/**
 * Whether a token that Apple called expired may be replaced now. One that is younger than 20 minutes is not: the clock is wrong, which a
 * new one would not change, and it would lead to TooManyProviderTokenUpdates.
 */
export function mayReplaceExpired(token: ProviderToken, nowMs: number): boolean {
  return !isYoung(token, nowMs)
}

/**
 * Whether a token that Apple called invalid may be replaced now: the host that issued it had a clock ahead of ours, and Apple refuses such
 * a token on every connection. Once only: if the new one is refused too, the clock or the key is wrong.
 */
export function mayReplaceInvalid(token: ProviderToken, nowMs: number): boolean {
  return token.issuedAt > nowMs + minuteMs && !token.early
}

export function isRenewalDue(token: ProviderToken, nowMs: number): boolean {
  return nowMs - token.issuedAt >= renewAfterMs
}

export function isYoung(token: ProviderToken, nowMs: number): boolean {
  return nowMs - token.issuedAt < minAgeMs
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
