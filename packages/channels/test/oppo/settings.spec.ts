import { describe, expect, it } from '@jest/globals'
import { type Certificate, CertificateProblem } from '../../src/channel.ts'
import { adapter as oppo } from '../../src/oppo/channel.ts'
import { readSettings } from '../../src/oppo/settings.ts'
import { checkToken } from '../../src/oppo/token.ts'
import { sampleCertificate } from '../samples.ts'

const read = (over: Partial<Certificate> = {}) =>
  readSettings(sampleCertificate('oppo', { appId: '3000001', appKey: 'key', appSecret: 'master', ...over }))

describe('oppo settings', () => {
  it('reads every field of a certificate', () => {
    expect(
      read({
        appKey: ' key ',
        extra: {
          client_app_secret: 'client',
          channel_id: 'chat',
          picture_url: true,
          content_limit: 200,
          region: 'intl',
          limits: { devices_per_s: 30000 },
          default_class: 'service',
          classes: {
            service: { category: 'IM', notify_level: 16, channel_id: 'im', private_msg_template_id: 7 },
            marketing: { category: 'MARKETING' },
          },
        },
      }),
    ).toEqual({
      appId: '3000001',
      appKey: 'key',
      masterSecret: 'master',
      channelId: 'chat',
      pictureUrl: true,
      contentLimit: 200,
      region: 'intl',
      limits: { devicesPerSecond: 30000 },
      defaultClass: 'service',
      classes: {
        service: { category: 'IM', notifyLevel: 16, channelId: 'im', privateMsgTemplateId: '7' },
        marketing: { category: 'MARKETING' },
      },
    })
  })

  it('applies defaults to a minimal certificate', () => {
    expect(read({ appId: '' })).toMatchObject({
      appId: '',
      pictureUrl: false,
      contentLimit: 50,
      region: 'cn',
      defaultClass: 'marketing',
    })
  })

  const problems: [string, Partial<Certificate>, RegExp][] = [
    ['no app key', { appKey: '' }, /app_key is missing: enter the App Key/],
    ['no master secret', { appSecret: ' ' }, /app_secret is missing: enter the Master Secret/],
    ['a secret of two words', { appSecret: 'a b' }, /app_secret must be .* without spaces/],
    [
      'the client’s secret as master secret',
      { extra: { client_app_secret: 'master' } },
      /enter the Master Secret/,
    ],
    ['an unknown key', { extra: { chanel: 'x' } }, /extra\.chanel is not a known field/],
    ['an odd content limit', { extra: { content_limit: 100 } }, /content_limit must be one of 50, 200/],
    ['an unknown region', { extra: { region: 'eu' } }, /region must be one of cn, intl/],
    ['a picture switch as text', { extra: { picture_url: 'on' } }, /picture_url must be true or false/],
    [
      'a category in small letters',
      { extra: { classes: { service: { category: 'im' } } } },
      /category must be/,
    ],
    [
      'an unknown level',
      { extra: { classes: { service: { category: 'IM', notify_level: 3 } } } },
      /notify_level must be one of 1, 2, 16/,
    ],
    [
      'a level without category',
      { extra: { classes: { service: { notify_level: 2 } } } },
      /service\.notify_level needs extra\.classes\.service\.category/,
    ],
    ['classes as a list', { extra: { classes: [1] } }, /extra\.classes must be a JSON object/],
  ]
  it.each(problems)('refuses %s with a reason', (_, over, sentence) => {
    const act = () => read(over)
    expect(act).toThrow(CertificateProblem)
    expect(act).toThrow(sentence)
  })

  it('uses the smallest limit unless the certificate sets another', () => {
    expect(oppo.limits(read(), 'marketing')).toMatchObject({
      devicesPerSecond: 5000,
      timeZone: 'Asia/Shanghai',
    })
    expect(
      oppo.limits(read({ extra: { limits: { devices_per_s: 30000, daily_quota: 9 } } }), 'marketing'),
    ).toMatchObject({
      devicesPerSecond: 30000,
      dailyQuota: 9,
    })
  })
})

describe('oppo tokens', () => {
  const hex = '96924265693b2f49e843db3e1f68f88a'
  it.each([hex, hex.toUpperCase(), `CN_${hex}`, `OPPO_CN_${hex}`, `realme_IN_${hex}`, hex.slice(0, 24)])(
    'takes %j',
    (token) => {
      expect(checkToken(token)).toBeUndefined()
    },
  )

  it.each(['', 'OPPO_CN_zz', `${hex};${hex}`, `${hex},${hex}`, `OPPO CN_${hex}`, hex.slice(1), `${hex}\n`])(
    'refuses %j',
    (token) => {
      expect(checkToken(token)).toMatch(/registration id/)
    },
  )
})
