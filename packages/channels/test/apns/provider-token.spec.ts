import { createPrivateKey, createPublicKey, verify } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import {
  createProviderToken,
  isYoung,
  mayReplaceExpired,
  mayReplaceInvalid,
  parseProviderToken,
  providerTokenKey,
} from '../../src/apns/provider-token.ts'
import type { TokenAuth } from '../../src/apns/settings.ts'
import { keyId, newSigningKey, teamId } from './credentials.ts'

const key = createPrivateKey(newSigningKey())
const auth: TokenAuth = { kind: 'token', key, keyId, teamId }
const now = 1_760_000_000_000
const minutes = (count: number) => count * 60_000

describe('a provider token', () => {
  it('has exactly two header fields and two claims, and a raw ES256 signature', () => {
    const { jwt } = parseProviderToken(createProviderToken(auth, now + 400, false).value)
    const [head, claims, signature] = jwt.split('.')
    const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
    expect(read(head!)).toEqual({ alg: 'ES256', kid: keyId })
    expect(read(claims!)).toEqual({ iss: teamId, iat: 1_760_000_000 })
    const bytes = Buffer.from(signature!, 'base64url')
    expect(bytes).toHaveLength(64)
    const signed = Buffer.from(`${head}.${claims}`)
    expect(verify('sha256', signed, { key: createPublicKey(key), dsaEncoding: 'ieee-p1363' }, bytes)).toBe(
      true,
    )
  })

  it('is renewed after 50 minutes and ends after 60', () => {
    expect(createProviderToken(auth, now, false)).toMatchObject({
      renewAt: now + minutes(50),
      expiresAt: now + minutes(60),
    })
  })

  it('stores that it was created early', () => {
    for (const early of [true, false]) {
      const { value } = createProviderToken(auth, now, early)
      expect(parseProviderToken(value)).toMatchObject({ value, early, issuedAt: now })
      expect(parseProviderToken(value).jwt).not.toContain(' ')
    }
  })

  it.each([
    ['an old one', false, 21, true],
    ['an old one that had come early', true, 21, true],
    ['never a young one', false, 19, false],
    ['never a young one that had come early', true, 19, false],
    ['never one of a clock that is ahead', false, -5, false],
  ])('may be replaced when refused as expired: %s', (_name, early, age, expected) => {
    const token = parseProviderToken(createProviderToken(auth, now, early).value)
    expect(mayReplaceExpired(token, now + minutes(age))).toBe(expected)
  })

  it.each([
    ['one of a clock that is ahead, once', false, -2, true],
    ['never one that had come early', true, -2, false],
    ['never one of a clock that is hardly ahead', false, -1, false],
    ['never another', false, 21, false],
  ])('may be replaced when refused as invalid: %s', (_name, early, age, expected) => {
    const token = parseProviderToken(createProviderToken(auth, now, early).value)
    expect(mayReplaceInvalid(token, now + minutes(age))).toBe(expected)
  })

  it('is stored under a key that depends on its signing key', () => {
    const other = createPrivateKey(newSigningKey())
    expect(providerTokenKey(auth)).toBe(providerTokenKey({ ...auth }))
    expect(providerTokenKey(auth)).not.toBe(providerTokenKey({ ...auth, key: other }))
    expect(providerTokenKey(auth)).not.toBe(providerTokenKey({ ...auth, keyId: 'OTHER12345' }))
  })

  it('is young for 20 minutes', () => {
    const token = parseProviderToken(createProviderToken(auth, now, false).value)
    expect(isYoung(token, now + minutes(20) - 1)).toBe(true)
    expect(isYoung(token, now + minutes(20))).toBe(false)
  })
})
