import { describe, expect, it } from '@jest/globals'
import { type Certificate, CertificateProblem } from '../../src/channel.ts'
import { adapter as oppo } from '../../src/oppo/channel.ts'
import { readSettings } from '../../src/oppo/settings.ts'
import { checkToken } from '../../src/oppo/token.ts'
import { sampleCertificate, sampleTask } from '../samples.ts'

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
          badge: true,
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
      appKey: 'key',
      masterSecret: 'master',
      channelId: 'chat',
      pictureUrl: true,
      badge: true,
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
      pictureUrl: false,
      badge: false,
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

describe('oppo warnings', () => {
  const classes = { service: { category: 'IM' }, marketing: { category: 'MARKETING' } }

  it('asks for a category of each class', () => {
    expect(oppo.warnings!(read())).toEqual([
      expect.stringMatching(/^extra\.classes\.service\.category is not set/),
      expect.stringMatching(/^extra\.classes\.marketing\.category is not set/),
    ])
    expect(oppo.warnings!(read({ extra: { classes } }))).toEqual([])
    const strong = { ...classes, service: { category: 'IM', notify_level: 16 } }
    expect(oppo.warnings!(read({ extra: { classes: strong } }))).toEqual([
      expect.stringMatching(/notify_level is 16/),
    ])
  })

  it('says of a message what OPPO does not carry', () => {
    const settings = read({ extra: { classes } })
    expect(oppo.notes!(sampleTask(), settings)).toEqual([])
    expect(oppo.notes!(sampleTask(), read())).toEqual([expect.stringMatching(/has no category/)])
    const message = {
      type: 'image' as const,
      attachmentUrl: 'https://img.example.com/a.png',
      badge: { kind: 'add' as const, count: 2 },
      badgeNamed: true as const,
      oppo: { sound: 'ding' },
    }
    expect(oppo.notes!(sampleTask(message), settings)).toEqual([
      expect.stringMatching(/no sound/),
      expect.stringMatching(/picture is not shown/),
      expect.stringMatching(/only 1/),
    ])
  })

  it.each([
    [{ url: 'https://shop.example' }, undefined],
    [{ url: 'https://shop.example', ext: '{"n":1}' }, /ext is not sent/],
    [{ url: 'shop://order/1', ext: '{"n":1}' }, undefined],
    [{ url: 'shop://order/1', ext: JSON.stringify({ n: 'x'.repeat(4000) }) }, undefined],
    [{ url: `shop://order/${'x'.repeat(2000)}` }, /no room for the url/],
    [{ url: `https://shop.example/${'x'.repeat(2000)}` }, /no room for the url/],
  ])('says how the url is sent for %j', (message, words) => {
    const notes = oppo.notes!(sampleTask(message), read({ extra: { classes } }))
    expect(notes).toEqual(words ? [expect.stringMatching(words)] : [])
  })
})

describe('oppo tokens', () => {
  const hex = '96924265693b2f49e843db3e1f68f88a'
  it.each([
    hex,
    hex.toUpperCase(),
    `CN_${hex}`,
    `OPPO_CN_${hex}`,
    `realme_IN_${hex}`,
    hex.slice(0, 24),
    `${'x'.repeat(223)}_${hex}`,
  ])('takes %j', (token) => {
    expect(checkToken(token)).toBeUndefined()
  })

  it.each([
    '',
    'OPPO_CN_zz',
    `${hex};${hex}`,
    `${hex},${hex}`,
    `OPPO CN_${hex}`,
    hex.slice(1),
    `${hex}\n`,
    `推送_${hex}`,
    `${'x'.repeat(224)}_${hex}`,
  ])('refuses %j', (token) => {
    expect(checkToken(token)).toMatch(/registration id/)
  })

  it.each([
    [hex, 'cn'],
    [`CN_${hex}`, 'cn'],
    [`OPPO_CN_${hex}`, 'cn'],
    [hex.slice(0, 24), 'cn'],
    [`IN_${hex}`, 'intl'],
    [`realme_IN_${hex}`, 'intl'],
    [`CN_IN_${hex}`, 'intl'],
    [`a_b_CN_${hex}`, 'intl'],
  ])('finds the region of %j: %s', (token, region) => {
    expect(oppo.regionOf!(token)).toBe(region)
  })
})
