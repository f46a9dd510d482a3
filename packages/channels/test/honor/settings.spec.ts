import { describe, expect, it } from '@jest/globals'
import { type Certificate, CertificateProblem } from '../../src/channel.ts'
import { adapter as honor } from '../../src/honor/channel.ts'
import { sampleCertificate } from '../samples.ts'

const read = (over: Partial<Certificate> = {}) =>
  honor.readSettings(
    sampleCertificate('honor', { appId: '104436234', appKey: 'c-1', appSecret: 's-1', ...over }),
  )

describe('honor settings', () => {
  it('reads app id, client id and client secret', () => {
    expect(read()).toMatchObject({ appId: '104436234', clientId: 'c-1', clientSecret: 's-1' })
  })

  it('reads every key of extra', () => {
    const settings = read({
      extra: {
        badge_class: 'com.a.Main',
        receipt_codes: { 40000005: 'uninstalled' },
        target_user_type: 1,
        limits: { devices_per_s: 9000 },
        default_class: 'service',
        classes: { marketing: { importance: 'LOW' } },
      },
    })
    expect(settings).toMatchObject({
      badgeClass: 'com.a.Main',
      targetUserType: 1,
      classes: { marketing: { importance: 'LOW' }, service: {} },
    })
    expect([...settings.receiptCodes]).toEqual([[40000005, 'uninstalled']])
    expect(honor.defaultClass(settings)).toBe('service')
    expect(honor.limits(settings, 'service')).toMatchObject({
      devicesPerSecond: 9000,
      timeZone: 'Asia/Shanghai',
    })
  })

  it('uses the default rate and marketing by default', () => {
    expect(honor.limits(read(), 'marketing')).toMatchObject({ devicesPerSecond: 3000 })
    expect(honor.defaultClass(read())).toBe('marketing')
  })

  const problems: [string, Partial<Certificate>, RegExp][] = [
    ['no app id', { appId: ' ' }, /app_id is missing/],
    ['an app id that breaks the path', { appId: '../x' }, /app_id must be the app id/],
    ['no client id', { appKey: '' }, /app_key is missing: enter the client id/],
    ['no client secret', { appSecret: '' }, /app_secret is missing: enter the client secret/],
    ['an unknown key', { extra: { receipt_id: 'x' } }, /extra.receipt_id is not a known field/],
    [
      'an importance that is none',
      { extra: { classes: { service: { importance: 'HIGH' } } } },
      /one of LOW, NORMAL/,
    ],
    [
      'receipt codes that are no object',
      { extra: { receipt_codes: 'x' } },
      /receipt_codes must be a JSON object/,
    ],
    [
      'a receipt code that is no number',
      { extra: { receipt_codes: { gone: 'other' } } },
      /not a receipt code/,
    ],
    [
      'a meaning that is none',
      { extra: { receipt_codes: { 5: 'dead' } } },
      /receipt_codes.5 must be one of delivered/,
    ],
  ]
  it.each(problems)('refuses %s', (_name, over, sentence) => {
    expect(() => read(over)).toThrow(CertificateProblem)
    expect(() => read(over)).toThrow(sentence)
  })

  it.each([
    ['BAEAAAAAB.kYw', true],
    ['', false],
    [' \t', false],
    ['a b', false],
    ['x'.repeat(513), false],
  ])('checks the token "%s"', (token, good) => {
    expect(honor.checkToken(token) === undefined).toBe(good)
  })
})
