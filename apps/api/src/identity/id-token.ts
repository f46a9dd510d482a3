import { type KeyObject, verify } from 'node:crypto'
import { parseExact } from '@herald/domain'
import { CONTROL } from '../input/fields.ts'
import { type Algorithm, algorithms, type VerificationKey } from './verification-keys.ts'

export type Expected = { issuer: string; audience: string; userClaim: string }

/** A token that was taken apart, but that nothing vouches for yet. */
export type ReadToken = {
  alg: Algorithm
  kid?: string
  claims: Record<string, unknown>
  signed: Buffer
  signature: Buffer
}

/** A token that is refused. The message is the second half of a sentence and has nothing of the token. */
export class TokenProblem extends Error {}

/** Seconds by which the issuer's clock may be ahead of ours. */
const CLOCK_SKEW = 60
const MAX_USERNAME = 128
const PARTS = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/
const fatal = new TextDecoder('utf-8', { fatal: true })

export function readToken(token: string): ReadToken {
  const [, header, payload, signature] = PARTS.exec(token) ?? []
  if (!header || !payload || !signature) throw new TokenProblem('is not a signed JWT')
  const { alg, kid, crit } = objectOf(header)
  if (!algorithms.includes(alg as Algorithm))
    throw new TokenProblem(`has another algorithm than ${algorithms.join(', ')}`)
  // RFC 7515: what is critical and not understood must be refused.
  if (crit !== undefined) throw new TokenProblem('has critical headers, which are not supported')
  if (kid !== undefined && typeof kid !== 'string') throw new TokenProblem('has a kid that is not a string')
  return {
    alg: alg as Algorithm,
    ...(kid !== undefined && { kid }),
    claims: objectOf(payload),
    signed: Buffer.from(`${header}.${payload}`),
    signature: Buffer.from(signature, 'base64url'),
  }
}

function objectOf(part: string): Record<string, unknown> {
  let value: unknown
  try {
    value = parseExact(fatal.decode(Buffer.from(part, 'base64url')))
  } catch {
    throw new TokenProblem('is not a JWT: its parts are not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TokenProblem('is not a JWT: its parts are not JSON objects')
  return value as Record<string, unknown>
}

/** The keys that may have signed the token: those with its kid, or without one all; always of its algorithm. */
export function keysFor({ alg, kid }: ReadToken, keys: readonly VerificationKey[]): VerificationKey[] {
  return keys.filter(
    (key) => key.alg === alg && (kid === undefined || key.kid === undefined || key.kid === kid),
  )
}

/** A check can take milliseconds, in which the process does nothing else, and an issuer may publish many keys that match. */
export const MAX_TRIED = 5

/** Tries the first keys. */
export function isSignedBy({ alg, signed, signature }: ReadToken, keys: readonly VerificationKey[]): boolean {
  return keys.slice(0, MAX_TRIED).some(({ key }) => checks[alg](signed, key, signature))
}

/** The key's own algorithm is checked before, so a token cannot have, say, an RSA key used as the secret of an HMAC. */
const checks: Record<Algorithm, (signed: Buffer, key: KeyObject, signature: Buffer) => boolean> = {
  RS256: (signed, key, signature) => verify('sha256', signed, key, signature),
  // JWS has the two numbers of 32 bytes each, not DER.
  ES256: (signed, key, signature) =>
    signature.length === 64 && verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature),
  EdDSA: (signed, key, signature) => verify(null, signed, key, signature),
}

/** Checks the claims of a token whose signature is good. Returns the name of the user. `now` is in Unix seconds. */
export function usernameIn({ claims }: ReadToken, expected: Expected, now: number): string {
  const { iss, aud, exp, nbf, iat } = claims
  if (iss !== expected.issuer) throw new TokenProblem('is of another issuer')
  const audiences = Array.isArray(aud) ? aud : [aud]
  if (!audiences.includes(expected.audience)) throw new TokenProblem('is for another audience')
  if (typeof exp !== 'number' || !Number.isFinite(exp)) throw new TokenProblem('has no expiry (exp)')
  if (exp <= now) throw new TokenProblem('has expired')
  for (const [name, value] of [
    ['nbf', nbf],
    ['iat', iat],
  ] as const) {
    if (value === undefined) continue
    if (typeof value !== 'number' || !Number.isFinite(value)) throw new TokenProblem(`has an invalid ${name}`)
    if (value > now + CLOCK_SKEW) throw new TokenProblem(`is not valid yet (${name})`)
  }
  return nameIn(claims, expected.userClaim)
}

function nameIn(claims: Record<string, unknown>, claim: string): string {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined
  const isWhole = typeof value === 'bigint' || Number.isSafeInteger(value)
  const name = isWhole ? String(value) : value
  if (typeof name !== 'string' || name.trim() === '')
    throw new TokenProblem('has no user: the claim named in the identity settings is missing or blank')
  if ([...name].length > MAX_USERNAME || CONTROL.test(name) || !name.isWellFormed())
    throw new TokenProblem(
      `has a user name with more than ${MAX_USERNAME} characters, or with control characters`,
    )
  return name
}
