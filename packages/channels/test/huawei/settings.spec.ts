import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { type Certificate, CertificateProblem } from '../../src/channel.ts'
import { adapter as huawei } from '../../src/huawei/channel.ts'
import { sampleCertificate } from '../samples.ts'
import { makeServiceAccount } from './service-account.ts'

const account = makeServiceAccount('388421841222000001')
const read = (over: Partial<Certificate>) =>
  huawei.readSettings(sampleCertificate('huawei', { appId: '100200300', appSecret: 's3cr3t', ...over }))
const fileWith = (over: object) => JSON.stringify({ ...account.file, ...over })
const pem = (key: { privateKey: { export(o: object): string | Buffer } }) =>
  key.privateKey.export({ type: 'pkcs8', format: 'pem' })

describe('huawei settings', () => {
  it('reads client id and secret, and the project of v2', () => {
    expect(read({}).client).toEqual({
      clientId: '100200300',
      clientSecret: 's3cr3t',
      projectId: undefined,
    })
    expect(read({ appKey: ' 388421841222000001 ' }).client?.projectId).toBe('388421841222000001')
    expect(read({}).account).toBeUndefined()
  })

  it('reads a service account alone, with or without an app id', () => {
    for (const appId of ['', '100200300']) {
      const settings = read({ appId, appSecret: '', certificate: account.json })
      expect(settings.client).toBeUndefined()
      expect(settings.account).toMatchObject({
        projectId: account.projectId,
        keyId: 'key-1',
        subAccount: '110005',
      })
    }
  })

  it.each([
    ['the characters \\n in place of line ends', (key: string) => key.replaceAll('\n', '\\n')],
    ['no line ends', (key: string) => key.replaceAll('\n', '')],
  ])('reads a private key with %s', (_name, change) => {
    const json = fileWith({ private_key: change(account.file.private_key) })
    const { privateKey } = read({ certificate: json }).account!
    expect(privateKey.equals(read({ certificate: account.json }).account!.privateKey)).toBe(true)
  })

  it('warns of a service class without category, and of the importance HIGH', () => {
    const warningsOf = (extra: Record<string, unknown>) => huawei.warnings!(read({ extra }))
    const complete = { service: { category: 'EXPRESS', importance: 'NORMAL' } }
    expect(warningsOf({ classes: complete })).toEqual([])
    expect(warningsOf({ classes: { marketing: { category: 'MARKETING' } } })).toEqual([
      expect.stringMatching(/extra\.classes\.service\.category is not set.*marketing/),
    ])
    expect(warningsOf({ classes: { ...complete, marketing: { importance: 'HIGH' } } })).toEqual([
      expect.stringMatching(/refuses the importance HIGH/),
    ])
  })

  it('reads every key of extra', () => {
    const settings = read({
      extra: {
        badge_class: 'com.a.Main',
        receipt_id: 'RCP1',
        callback_user: 'u',
        callback_secret: 'k',
        target_user_type: 1,
        region: 'intl',
        limits: { requests_per_s: 50, devices_per_s: 20_000, daily_quota: 9 },
        default_class: 'service',
        classes: { service: { category: 'IM', importance: 'NORMAL' }, marketing: { importance: 'LOW' } },
      },
    })
    expect(settings).toMatchObject({
      badgeClass: 'com.a.Main',
      receiptId: 'RCP1',
      callback: { user: 'u', secret: 'k' },
      targetUserType: 1,
      region: 'intl',
      classes: { service: { category: 'IM', importance: 'NORMAL' }, marketing: { importance: 'LOW' } },
    })
    expect(huawei.defaultClass(settings)).toBe('service')
    expect(huawei.limits(settings, 'service')).toEqual({
      requestsPerSecond: 50,
      devicesPerSecond: 20_000,
      dailyQuota: 9,
      timeZone: 'Asia/Shanghai',
    })
  })

  it('uses the documented minimum and marketing by default', () => {
    const settings = read({})
    expect(huawei.limits(settings, 'marketing')).toMatchObject({ devicesPerSecond: 6000 })
    expect(huawei.defaultClass(settings)).toBe('marketing')
  })

  const problems: [string, Partial<Certificate>, RegExp][] = [
    ['no credential at all', { appSecret: ' ' }, /app_secret is missing/],
    ['no client id', { appId: '' }, /app_id is missing/],
    ['a client id with letters', { appId: 'abc' }, /app_id must be .* digits only/],
    ['a project id that is none', { appKey: 'a/b' }, /app_key must be the project id/],
    [
      'half of the callback pair',
      { extra: { callback_user: 'u' } },
      /callback_user and extra.callback_secret/,
    ],
    ['an unknown key', { extra: { badge_clas: 'x' } }, /extra.badge_clas is not a known field/],
    [
      'an unknown class field',
      { extra: { classes: { service: { channel_id: 'x' } } } },
      /channel_id is not a known field/,
    ],
    [
      'a category in small letters',
      { extra: { classes: { service: { category: 'im' } } } },
      /category must be/,
    ],
    [
      'an importance that is none',
      { extra: { classes: { service: { importance: 'MAX' } } } },
      /one of LOW, NORMAL, HIGH/,
    ],
    ['a region that is none', { extra: { region: 'eu' } }, /one of cn, intl/],
    ['a target user type that is none', { extra: { target_user_type: 2 } }, /one of 0, 1/],
    ['a certificate that is not valid JSON', { certificate: 'PEM' }, /complete service-account JSON/],
    ['a Google service account', { certificate: '{"client_email":"a@b"}' }, /Google service account/],
    ['a service account without key id', { certificate: fileWith({ key_id: '' }) }, /without key_id/],
    [
      'a service account without sub account',
      { certificate: fileWith({ sub_account: undefined }) },
      /without sub_account/,
    ],
    [
      'a project id that breaks the path',
      { certificate: fileWith({ project_id: '../x' }) },
      /not a valid project id/,
    ],
    ['a key that is no PEM', { certificate: fileWith({ private_key: 'x' }) }, /not a PEM private key/],
    [
      'a key of the wrong kind',
      { certificate: fileWith({ private_key: pem(generateKeyPairSync('ec', { namedCurve: 'P-256' })) }) },
      /RSA key of 2048 bits/,
    ],
    [
      'a key that is too short',
      { certificate: fileWith({ private_key: pem(generateKeyPairSync('rsa', { modulusLength: 1024 })) }) },
      /RSA key of 2048 bits/,
    ],
  ]
  it.each(problems)('refuses %s', (_name, over, sentence) => {
    expect(() => read(over)).toThrow(CertificateProblem)
    expect(() => read(over)).toThrow(sentence)
  })

  it('never repeats a secret in its messages', () => {
    for (const [, over] of problems)
      try {
        read({ appSecret: 'hush-hush', ...over })
      } catch (error) {
        expect(String(error)).not.toMatch(/hush-hush|PRIVATE KEY/)
      }
  })

  const tokens: [string, boolean][] = [
    ['IQAAAACy0kYw', true],
    ['0865831037206556300001986600CN01', true],
    ['MAMzLgIkEU', true],
    ['', false],
    ['   ', false],
    ['a b', false],
    ['x'.repeat(513), false],
  ]
  it.each(tokens)('checks the token "%s"', (token, good) => {
    expect(huawei.checkToken(token) === undefined).toBe(good)
  })
})
