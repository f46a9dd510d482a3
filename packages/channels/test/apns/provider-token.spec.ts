import { createPrivateKey, createPublicKey, verify } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { isYoung, mayReplace, mintPass, providerTokenKey, readPass } from '../../src/apns/provider-token.ts'
import type { TokenAuth } from '../../src/apns/settings.ts'
import { keyId, newSigningKey, teamId } from './credentials.ts'

const key = createPrivateKey(newSigningKey())
const auth: TokenAuth = { kind: 'token', key, keyId, teamId }
const now = 1_760_000_000_000
const minutes = (count: number) => count * 60_000

describe('a provider token', () => {
  it('has exactly two header fields and two claims, and a raw ES256 signature', () => {
    const { jwt } = readPass(mintPass(auth, now + 400, false).value)
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
    expect(mintPass(auth, now, false)).toMatchObject({
      renewAt: now + minutes(50),
      expiresAt: now + minutes(60),
    })
  })

  it('remembers where it is kept that it came early', () => {
    for (const early of [true, false]) {
      const { value } = mintPass(auth, now, early)
      expect(readPass(value)).toMatchObject({ value, early, issuedAt: now })
      expect(readPass(value).jwt).not.toContain(' ')
    }
  })

  it.each([
    ['an old one', false, 21, true],
    ['an old one that had come early', true, 21, true],
    ['a young one, once', false, 1, true],
    ['never a young one that had come early', true, 19, false],
  ])('may be replaced when refused: %s', (_name, early, age, expected) => {
    const pass = readPass(mintPass(auth, now, early).value)
    expect(mayReplace(pass, now + minutes(age))).toBe(expected)
  })

  it('is kept under the name of its key', () => {
    const other = createPrivateKey(newSigningKey())
    expect(providerTokenKey(auth)).toBe(providerTokenKey({ ...auth }))
    expect(providerTokenKey(auth)).not.toBe(providerTokenKey({ ...auth, key: other }))
    expect(providerTokenKey(auth)).not.toBe(providerTokenKey({ ...auth, keyId: 'OTHER12345' }))
  })

  it('is young for twenty minutes', () => {
    const pass = readPass(mintPass(auth, now, false).value)
    expect(isYoung(pass, now + minutes(20) - 1)).toBe(true)
    expect(isYoung(pass, now + minutes(20))).toBe(false)
  })
})
