import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import type { StoredKey } from '@herald/db/tenants'

/** The signature algorithms that are accepted. A key has exactly one, so a token's header cannot choose another for it. */
export const algorithms = ['RS256', 'ES256', 'EdDSA'] as const
export type Algorithm = (typeof algorithms)[number]

export type VerificationKey = { kid?: string; alg: Algorithm; key: KeyObject }

/** A key that is refused. The message is the second half of a sentence. */
export class KeyProblem extends Error {}

/** Smaller ones can be broken; larger ones take milliseconds per check. */
const RSA_BITS = { min: 2048, max: 8192 }
const MAX_EXPONENT = 2n ** 32n
const MAX_KEYS = 100

function algorithmOf(key: KeyObject): Algorithm {
  const { modulusLength = 0, publicExponent = 0n, namedCurve } = key.asymmetricKeyDetails ?? {}
  switch (key.asymmetricKeyType) {
    case 'rsa':
      if (modulusLength < RSA_BITS.min)
        throw new KeyProblem(`is an RSA key of fewer than ${RSA_BITS.min} bits`)
      if (modulusLength > RSA_BITS.max)
        throw new KeyProblem(`is an RSA key of more than ${RSA_BITS.max} bits`)
      if (publicExponent < 3n || publicExponent > MAX_EXPONENT || publicExponent % 2n === 0n)
        throw new KeyProblem('is an RSA key with an unusual exponent')
      return 'RS256'
    case 'ec':
      if (namedCurve !== 'prime256v1') throw new KeyProblem('is an EC key of a curve other than P-256')
      return 'ES256'
    case 'ed25519':
      return 'EdDSA'
    default:
      throw new KeyProblem(`must be an RSA, EC (P-256) or Ed25519 key, not ${key.asymmetricKeyType}`)
  }
}

/** Reads one public key from PEM, and returns it as PEM of the usual form. Throws KeyProblem. */
export function readPublicKey(pem: string): { pem: string; key: VerificationKey } {
  // node:crypto would derive the public key, but a private key has no place here and shall not be stored.
  if (/PRIVATE KEY-----/.test(pem)) throw new KeyProblem('is a private key: send the public key')
  if (!/-----BEGIN (RSA )?PUBLIC KEY-----/.test(pem))
    throw new KeyProblem(
      'must be a public key in PEM (-----BEGIN PUBLIC KEY-----); shared secrets are not supported',
    )
  if (pem.split('-----BEGIN ').length > 2)
    throw new KeyProblem('must be one public key: for several, publish them at a jwks_url')
  let key: KeyObject
  try {
    key = createPublicKey(pem)
  } catch {
    throw new KeyProblem('cannot be read: it is not valid PEM')
  }
  const alg = algorithmOf(key)
  return { pem: key.export({ type: 'spki', format: 'pem' }) as string, key: { alg, key } }
}

/** The public members of each kind of key; others, such as private ones, are neither used nor stored. */
const members: Record<string, readonly string[]> = {
  RSA: ['kty', 'n', 'e'],
  EC: ['kty', 'crv', 'x', 'y'],
  OKP: ['kty', 'crv', 'x'],
}

/**
 * Reads the keys of a JSON Web Key Set (RFC 7517) that can verify tokens. Others are left out, because a set may have keys for
 * encryption or of newer kinds. Throws KeyProblem if none is left.
 */
export function readKeySet(text: string): StoredKey[] {
  let set: unknown
  try {
    set = JSON.parse(text)
  } catch {
    throw new KeyProblem('does not answer with JSON')
  }
  const list = (set as { keys?: unknown } | null)?.keys
  if (!Array.isArray(list)) throw new KeyProblem('does not answer with a key set: it has no list `keys`')
  const found = list.slice(0, MAX_KEYS).flatMap((entry) => {
    const stored = storedKeyOf(entry)
    return stored ? [stored] : []
  })
  if (found.length === 0)
    throw new KeyProblem(
      `has no key that can be used: RSA of at least ${RSA_BITS.min} bits, EC P-256 or Ed25519`,
    )
  return found
}

function storedKeyOf(entry: unknown): StoredKey | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined
  const { kty, kid, use, alg } = entry as Record<string, unknown>
  if (use !== undefined && use !== 'sig') return undefined
  const names = typeof kty === 'string' && Object.hasOwn(members, kty) ? members[kty] : undefined
  const jwk: Record<string, string> = {}
  for (const name of names ?? []) {
    const value = (entry as Record<string, unknown>)[name]
    if (typeof value !== 'string') return undefined
    jwk[name] = value
  }
  const stored = { ...(typeof kid === 'string' && kid.length <= 256 && { kid }), alg: '', jwk }
  const usable = names && usableKey(stored)
  // RFC 9864 calls EdDSA with this curve Ed25519.
  const named = alg === 'Ed25519' ? 'EdDSA' : alg
  if (!usable || (named !== undefined && named !== usable.alg)) return undefined
  return { ...stored, alg: usable.alg }
}

/** Undefined for a key that is not acceptable. */
export function usableKey({ kid, jwk }: StoredKey): VerificationKey | undefined {
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' })
    return { ...(kid !== undefined && { kid }), alg: algorithmOf(key), key }
  } catch {
    return undefined
  }
}
