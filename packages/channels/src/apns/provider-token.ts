import { createPublicKey, sign } from 'node:crypto'
import type { MintedSession } from '../channel.ts'
import { passKey } from '../shared/pass.ts'
import type { TokenAuth } from './settings.ts'

// https://developer.apple.com/documentation/usernotifications/establishing-a-token-based-connection-to-apns
const minuteMs = 60_000
/** Apple refuses tokens older than an hour, and new ones sooner than twenty minutes after the last. */
const renewAfterMs = 50 * minuteMs
const expiresAfterMs = 60 * minuteMs
const leastAgeMs = 20 * minuteMs

export type ProviderPass = {
  /** As the session keeps it. */
  value: string
  jwt: string
  /** Unix ms. */
  issuedAt: number
  /** It already replaced one that was refused before its time. */
  early: boolean
}

const earlyMark = ' early'

export function providerTokenKey({ keyId, teamId, key }: TokenAuth): string {
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()
  return passKey('provider-token', teamId, keyId, publicKey)
}

/**
 * A provider JWT as the shared session keeps it. `early` travels with it, because every process must know whether the one
 * exception from the twenty minutes has been used up.
 */
export function mintPass(auth: TokenAuth, nowMs: number, early: boolean): MintedSession {
  const issuedAt = Math.floor(nowMs / 1000)
  // Signed here, not by jsonwebtoken: Apple asks for exactly these two header fields and two claims.
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

export function readPass(value: string): ProviderPass {
  const early = value.endsWith(earlyMark)
  const jwt = early ? value.slice(0, -earlyMark.length) : value
  const claims = JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString()) as { iat: number }
  return { value, jwt, issuedAt: claims.iat * 1000, early }
}

/**
 * Whether a refused token may be replaced now. A token younger than twenty minutes may be once; when its successor is refused
 * as well, another would only bring TooManyProviderTokenUpdates: the clock or the key is wrong.
 */
export function mayReplace(pass: ProviderPass, nowMs: number): boolean {
  return !isYoung(pass, nowMs) || !pass.early
}

export function isDue(pass: ProviderPass, nowMs: number): boolean {
  return nowMs - pass.issuedAt >= renewAfterMs
}

export function isYoung(pass: ProviderPass, nowMs: number): boolean {
  return nowMs - pass.issuedAt < leastAgeMs
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
