import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { adapter as apns } from '../../src/apns/channel.ts'
import { type Certificate, CertificateProblem } from '../../src/channel.ts'
import {
  bundleId,
  issuePushCertificate,
  keyId,
  newAppleAuthority,
  newSigningKey,
  teamId,
  tokenCertificate,
} from './credentials.ts'

const apple = newAppleAuthority()
const fixture = (name: string) => readFileSync(new URL(`./fixtures/${name}.txt`, import.meta.url), 'utf8')
const rsaKey = () =>
  generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString()

/** A record with a certificate instead of a key. */
const pushRecord = (certificate: string, over: Partial<Certificate> = {}) =>
  tokenCertificate(certificate, { appKey: '', appSecret: '', ...over })
const issued = (marks?: Parameters<typeof issuePushCertificate>[1]) => {
  const { cert, key } = issuePushCertificate(apple, marks)
  return cert + key
}

describe('APNs settings from a .p8', () => {
  it('contain key, key id, team and topic', () => {
    expect(apns.readSettings(tokenCertificate(newSigningKey()))).toMatchObject({
      environment: 'production',
      topic: bundleId,
      topics: [bundleId],
      auth: { kind: 'token', keyId, teamId },
    })
  })

  it('allow more topics', () => {
    const extra = { bundle_ids: ['com.example.Other', bundleId] }
    expect(apns.readSettings(tokenCertificate(newSigningKey(), { extra })).topics).toEqual([
      bundleId,
      'com.example.Other',
    ])
  })

  it('accept Windows line ends and white space around the key', () => {
    const key = `\n ${newSigningKey().replaceAll('\n', '\r\n')} \n`
    expect(apns.readSettings(tokenCertificate(key)).auth.kind).toBe('token')
  })

  it('never expire', () => {
    expect(apns.expiresAt?.(apns.readSettings(tokenCertificate(newSigningKey())))).toBeUndefined()
  })

  it('read the common keys of extra', () => {
    const extra = { limits: { requests_per_s: 5, devices_per_s: 50 }, default_class: 'service' }
    const settings = apns.readSettings(tokenCertificate(newSigningKey(), { extra }))
    expect(apns.limits(settings, 'service')).toMatchObject({ requestsPerSecond: 5, devicesPerSecond: 50 })
    expect(apns.defaultClass(settings)).toBe('service')
    const plain = apns.readSettings(tokenCertificate(newSigningKey()))
    expect(apns.limits(plain, 'marketing')).toEqual({ timeZone: 'UTC' })
    expect(apns.defaultClass(plain)).toBe('marketing')
  })
})

describe('APNs settings from a certificate', () => {
  it('accept PEM certificate and key in any order', () => {
    const { cert, key } = issuePushCertificate(apple)
    for (const text of [cert + key, key + cert])
      expect(apns.readSettings(pushRecord(text)).auth).toMatchObject({
        kind: 'certificate',
        cert: expect.stringContaining('BEGIN CERTIFICATE'),
        key: expect.stringContaining('BEGIN PRIVATE KEY'),
      })
  })

  it('put the leaf before its authorities, whatever order the file has', () => {
    const { cert, key } = issuePushCertificate(apple)
    const { auth } = apns.readSettings(pushRecord(apple.cert + cert + key))
    expect(auth).toMatchObject({ cert: cert + apple.cert })
  })

  it.each([
    ['as Keychain exports it (RC2 and triple DES)', 'keychain.p12', 'parcel'],
    ['as OpenSSL 3 exports it (AES)', 'modern.p12', 'parcel'],
    ['without a passphrase', 'empty-passphrase.p12', ''],
  ])('accept a base64 .p12 %s', (_name, file, appSecret) => {
    const settings = apns.readSettings(pushRecord(fixture(file), { appSecret, appId: '' }))
    expect(settings).toMatchObject({ topic: bundleId, auth: { kind: 'certificate' } })
    expect(apns.expiresAt?.(settings)).toBe(Date.parse('2126-01-01'))
  })

  it('accept an encrypted PEM key', () => {
    const record = pushRecord(fixture('encrypted-key.pem'), { appSecret: 'parcel' })
    expect(apns.readSettings(record).auth.kind).toBe('certificate')
  })

  it('read the topic from a certificate for one app', () => {
    const topics = ['com.example.One', 'com.example.One.voip']
    expect(apns.readSettings(pushRecord(issued({ topics }), { appId: '' })).topic).toBe('com.example.One')
    expect(apns.readSettings(pushRecord(issued(), { appId: ' ' })).topic).toBe(bundleId)
  })

  it('accept a certificate for both environments, or without an environment', () => {
    for (const environments of [['production', 'development'] as const, [] as const])
      for (const environment of ['production', 'development'] as const)
        expect(
          apns.readSettings(pushRecord(issued({ environments: [...environments] }), { environment }))
            .environment,
        ).toBe(environment)
  })

  it('contain the expiry date, also when it has passed', () => {
    const notAfter = new Date('2020-02-03T04:05:06Z')
    expect(apns.expiresAt?.(apns.readSettings(pushRecord(issued({ notAfter }))))).toBe(notAfter.getTime())
  })
})

const p8 = newSigningKey()
const otherKey = issuePushCertificate(apple).key

const problems: [name: string, record: Certificate, sentence: RegExp][] = [
  ['nothing', tokenCertificate(''), /^certificate is missing/],
  ['no bundle id', tokenCertificate(p8, { appId: ' ' }), /^app_id is missing.*bundle id/],
  ['a bundle id with blanks', tokenCertificate(p8, { appId: 'my app' }), /^app_id is not a bundle id/],
  ['no key id', tokenCertificate(p8, { appKey: '' }), /^app_key is missing.*key id/],
  ['a key id of the wrong length', tokenCertificate(p8, { appKey: 'ABC' }), /^app_key must be 10 capital/],
  ['no team id', tokenCertificate(p8, { appSecret: '' }), /^app_secret is missing.*team id/],
  ['a team id in small letters', tokenCertificate(p8, { appSecret: 'team123456' }), /^app_secret must be 10/],
  ['another curve', tokenCertificate(newSigningKey('P-384')), /EC key on secp384r1.*P-256/],
  ['an RSA key', tokenCertificate(rsaKey()), /key of type rsa.*P-256/],
  ['half a key', tokenCertificate(p8.slice(0, 120)), /^certificate is not a readable \.p8/],
  [
    'an unknown key of extra',
    tokenCertificate(p8, { extra: { topics: [] } }),
    /^extra\.topics is not a known field/,
  ],
  [
    'bundle_ids that are no list',
    tokenCertificate(p8, { extra: { bundle_ids: 'a' } }),
    /^extra\.bundle_ids must/,
  ],
  [
    'a bad bundle id in extra',
    tokenCertificate(p8, { extra: { bundle_ids: ['a b'] } }),
    /^extra\.bundle_ids is no/,
  ],
  ['a sentence', pushRecord('my certificate'), /neither a \.p8 key, nor PEM/],
  ['base64 of something else', pushRecord(Buffer.from('hello, world').toString('base64')), /neither a/],
  ['half a .p12', pushRecord(fixture('modern.p12').slice(0, 800)), /not a readable \.p12/],
  ['the wrong passphrase', pushRecord(fixture('keychain.p12'), { appSecret: 'x' }), /not the passphrase/],
  ['no passphrase', pushRecord(fixture('modern.p12')), /not the passphrase/],
  ['a .p12 without key', pushRecord(fixture('no-key.p12'), { appSecret: 'parcel' }), /no private key/],
  ['PEM without key', pushRecord(issuePushCertificate(apple).cert), /no private key/],
  [
    'PEM under a wrong passphrase',
    pushRecord(fixture('encrypted-key.pem'), { appSecret: 'x' }),
    /check that app_secret/,
  ],
  ['another certificate’s key', pushRecord(issuePushCertificate(apple).cert + otherKey), /does not belong/],
  [
    'the other environment',
    pushRecord(issued({ environments: ['development'] })),
    /for the development environment, but this record is for production/,
  ],
  ['another app', pushRecord(issued(), { appId: 'com.example.Else' }), /does not cover com\.example\.Else/],
  [
    'a topic it does not cover',
    pushRecord(issued(), { extra: { bundle_ids: ['com.example.Else'] } }),
    /does not cover com\.example\.Else/,
  ],
  [
    'several apps and no bundle id',
    pushRecord(issued({ topics: ['com.example.One', 'com.example.Two'] }), { appId: '' }),
    /several apps/,
  ],
]

describe('APNs settings say what is wrong', () => {
  it.each(problems)('with %s', (_name, record, sentence) => {
    let problem: unknown
    try {
      apns.readSettings(record)
    } catch (error) {
      problem = error
    }
    expect(problem).toBeInstanceOf(CertificateProblem)
    const { message } = problem as CertificateProblem
    expect(message).toMatch(sentence)
    expect(message).not.toMatch(/PRIVATE KEY|\n/)
  })
})

describe('an APNs token', () => {
  it('is stored in lower case', () => {
    expect(apns.canonicalToken?.('A0'.repeat(32))).toBe('a0'.repeat(32))
  })

  it.each(['a'.repeat(64), 'A0'.repeat(32), 'f'.repeat(160)])('of hex digits is valid', (token) => {
    expect(apns.checkToken(token)).toBeUndefined()
  })
  it.each(['', 'a'.repeat(63), 'a'.repeat(65), 'g'.repeat(64), `<${'a'.repeat(64)}>`, 'a'.repeat(202)])(
    'like %j is refused',
    (token) => {
      expect(apns.checkToken(token)).toMatch(/^device_token is not an APNs token/)
    },
  )
})
