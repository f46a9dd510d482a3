import { describe, expect, it } from '@jest/globals'
import { type Certificate, CertificateProblem } from '../../src/channel.ts'
import { messageNotes } from '../../src/message-notes.ts'
import { adapter as xiaomi } from '../../src/xiaomi/channel.ts'
import { readSettings } from '../../src/xiaomi/settings.ts'
import { canonicalToken, checkToken } from '../../src/xiaomi/token.ts'
import { sampleCertificate, sampleTask } from '../samples.ts'

const read = (over: Partial<Certificate>) =>
  readSettings(
    sampleCertificate('xiaomi', { appSecret: 'secret', extra: { package_name: 'com.example.app' }, ...over }),
  )

describe('xiaomi settings', () => {
  it('reads every field of a certificate', () => {
    expect(
      read({
        appSecret: ' secret ',
        extra: {
          package_name: 'com.example.app',
          channel_id: '100001',
          big_text: true,
          big_picture: true,
          pass_through: true,
          limits: { requests_per_s: 2000, devices_per_s: 100000, daily_quota: 5 },
          default_class: 'service',
          classes: {
            service: { channel_id: 100002, template_id: 'T1' },
            marketing: { channel_id: '100003' },
          },
        },
      }),
    ).toEqual({
      appSecret: 'secret',
      packageName: 'com.example.app',
      channelId: '100001',
      bigText: true,
      bigPicture: true,
      passThrough: true,
      limits: { requestsPerSecond: 2000, devicesPerSecond: 100000, dailyQuota: 5 },
      defaultClass: 'service',
      classes: {
        service: { channelId: '100002', templateId: 'T1' },
        marketing: { channelId: '100003', templateId: undefined },
      },
    })
  })

  it('applies defaults to a minimal certificate', () => {
    expect(read({})).toMatchObject({
      bigText: false,
      bigPicture: false,
      passThrough: false,
      defaultClass: 'marketing',
      limits: {},
    })
    expect(read({ extra: {}, packageName: 'com.example.own' }).packageName).toBe('com.example.own')
  })

  const problems: [string, Partial<Certificate>, RegExp][] = [
    ['no secret', { appSecret: '  ' }, /app_secret is missing/],
    ['a secret of two words', { appSecret: 'a b' }, /app_secret .* without spaces/],
    ['a secret with a line break', { appSecret: 'a\r\nx: y' }, /app_secret/],
    ['no package', { extra: {} }, /extra\.package_name is missing/],
    ['a package that is none', { extra: { package_name: 'a,b' } }, /extra\.package_name must be/],
    ['an unknown key', { extra: { package_name: 'a.b', packge: 1 } }, /extra\.packge is not a known field/],
    [
      'a flag as text',
      { extra: { package_name: 'a.b', big_text: 'yes' } },
      /extra\.big_text must be true or false/,
    ],
    ['an unknown class', { extra: { package_name: 'a.b', classes: { promo: {} } } }, /extra\.classes\.promo/],
    [
      'an unknown class field',
      { extra: { package_name: 'a.b', classes: { service: { category: 'IM' } } } },
      /extra\.classes\.service\.category is not a known field/,
    ],
    [
      'an unknown default class',
      { extra: { package_name: 'a.b', default_class: 'x' } },
      /default_class must be one of/,
    ],
    [
      'a rate of zero',
      { extra: { package_name: 'a.b', limits: { requests_per_s: 0 } } },
      /requests_per_s must be/,
    ],
  ]
  it.each(problems)('refuses %s with a reason', (_, over, sentence) => {
    const act = () => read(over)
    expect(act).toThrow(CertificateProblem)
    expect(act).toThrow(sentence)
  })

  it('never repeats the secret in a message', () => {
    try {
      read({ appSecret: 'top secret' })
      throw new Error('accepted')
    } catch (error) {
      expect(String(error)).not.toContain('top secret')
    }
  })

  it('uses the smallest limit unless the certificate sets another', () => {
    expect(xiaomi.limits(read({}), 'marketing')).toEqual({
      requestsPerSecond: 500,
      devicesPerSecond: undefined,
      dailyQuota: undefined,
      perDevicePerDay: 5,
      timeZone: 'Asia/Shanghai',
    })
    const own = read({ extra: { package_name: 'a.b', limits: { requests_per_s: 3000, daily_quota: 0 } } })
    expect(xiaomi.limits(own, 'marketing')).toMatchObject({ requestsPerSecond: 3000, dailyQuota: 0 })
  })
})

describe('xiaomi warnings', () => {
  const warningsOf = (extra: Record<string, unknown>) =>
    xiaomi.warnings!(read({ extra: { package_name: 'a.b', ...extra } }))

  it('tells the operator what is missing or has no effect', () => {
    expect(warningsOf({})).toEqual([
      expect.stringMatching(/No channel is set for service messages/),
      expect.stringMatching(/No channel is set for marketing messages/),
    ])
    expect(warningsOf({ channel_id: '1', classes: { service: { channel_id: '2' } } })).toEqual([
      expect.stringMatching(/service\.template_id is not set/),
    ])
    expect(warningsOf({ channel_id: '1', big_picture: true })).toEqual([
      expect.stringMatching(/big_picture has no effect/),
    ])
    expect(
      warningsOf({ channel_id: '1', classes: { service: { channel_id: '2', template_id: 'T' } } }),
    ).toEqual([])
  })

  it('says of a message what Xiaomi does not carry', () => {
    const settings = read({})
    expect(messageNotes(xiaomi, sampleTask(), settings)).toEqual([])
    const message = {
      type: 'image' as const,
      attachmentUrl: 'https://img.example.com/a.png',
      bigText: 'long',
      badge: { kind: 'set' as const, count: 5 },
      badgeNamed: true as const,
      android: { sound: 'ding' },
    }
    expect(messageNotes(xiaomi, sampleTask(message), settings)).toEqual([
      expect.stringMatching(/no badge/),
      expect.stringMatching(/shows body/),
      expect.stringMatching(/channel decides/),
      expect.stringMatching(/no pictures/),
    ])
  })
})

describe('xiaomi tokens', () => {
  it('are stored without the blanks around them', () => {
    const token = 'A'.repeat(64)
    expect(canonicalToken(` ${token} `)).toBe(token)
    expect(canonicalToken(token)).toBe(token)
  })

  it.each([
    'BhLgf3MKlJap0bvC4aaK5h88zCWM3e0dYjRemcdkzWIYvzbVM6xEGK+lt1yaToNn',
    'Xdrt4o/hxEBVqarCtWQhtKXFb33M8uPgJCrBOPeMTQ6QW/GPUoCXJqKcD5/oVACP',
    `${'A'.repeat(43)}=`,
  ])('takes %j', (token) => {
    expect(checkToken(token)).toBeUndefined()
  })

  it.each(['', 'short', `${'A'.repeat(30)} ${'A'.repeat(33)}`, `${'A'.repeat(64)},${'B'.repeat(64)}`])(
    'refuses %j',
    (token) => {
      expect(checkToken(token)).toMatch(/regid/)
    },
  )
})
