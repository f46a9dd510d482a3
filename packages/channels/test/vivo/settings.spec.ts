import { describe, expect, it } from '@jest/globals'
import { type Certificate, CertificateProblem } from '../../src/channel.ts'
import { adapter as vivo } from '../../src/vivo/channel.ts'
import { authBody } from '../../src/vivo/requests.ts'
import { vivoCertificate } from './fixtures.ts'

describe('a vivo certificate', () => {
  it('is read with its classes and defaults', () => {
    expect(
      vivo.readSettings(
        vivoCertificate({
          appId: ' 105550001 ',
          extra: {
            callback_id: 'r7',
            badge: true,
            default_class: 'service',
            classes: { service: { classification: 1, category: 'ORDER' } },
            limits: { devices_per_s: 5000 },
          },
        }),
      ),
    ).toEqual({
      appId: 105550001,
      appKey: 'a1b2c3d4e5f60718293a4b5c6d7e8f90',
      appSecret: '3f0c2a9e-6b1d-4c7a-8e55-91d0c4b7a2f6',
      callbackId: 'r7',
      badge: true,
      limits: { devicesPerSecond: 5000, requestsPerSecond: undefined, dailyQuota: undefined },
      defaultClass: 'service',
      classes: { service: { classification: 1, category: 'ORDER' }, marketing: {} },
    })
    expect(vivo.defaultClass(vivo.readSettings(vivoCertificate()))).toBe('marketing')
  })

  const problems: [what: string, over: Partial<Certificate>, sentence: RegExp][] = [
    ['no appId', { appId: '' }, /^app_id is missing/],
    ['an appId with letters', { appId: 'vivo-1' }, /^app_id must be the numeric appId/],
    ['no appKey', { appKey: ' ' }, /^app_key is missing/],
    ['a broken appKey', { appKey: 'a1b2 c3d4' }, /^app_key must be .* without spaces/],
    ['no appSecret', { appSecret: '' }, /^app_secret is missing/],
    ['an unknown key', { extra: { callbackid: 'x' } }, /^extra\.callbackid is not a known field/],
    ['a receipt id of another type', { extra: { callback_id: 7 } }, /^extra\.callback_id must be a string/],
    [
      'a classification beyond 1',
      { extra: { classes: { service: { classification: 2 } } } },
      /^extra\.classes\.service\.classification must be one of 0, 1/,
    ],
    [
      'a category in small letters',
      { extra: { classes: { marketing: { category: 'news' } } } },
      /^extra\.classes\.marketing\.category must be a vivo category in capitals/,
    ],
    [
      'a class field of another vendor',
      { extra: { classes: { service: { notify_level: 2 } } } },
      /^extra\.classes\.service\.notify_level is not a known field/,
    ],
  ]
  it.each(problems)('with %s is refused with a reason', (_what, over, sentence) => {
    const read = () => vivo.readSettings(vivoCertificate(over))
    expect(read).toThrow(CertificateProblem)
    expect(read).toThrow(sentence)
  })

  it('has vivo’s rate and, for operational messages, its hours', () => {
    const settings = vivo.readSettings(vivoCertificate())
    expect(vivo.limits(settings, 'service')).toMatchObject({
      devicesPerSecond: 3000,
      timeZone: 'Asia/Shanghai',
    })
    expect(vivo.limits(settings, 'service').hours).toBeUndefined()
    expect(vivo.limits(settings, 'marketing').hours).toEqual({ from: 7, to: 23 })
  })

  it('may raise the rate', () => {
    const limits = { devices_per_s: 50_000, daily_quota: 10, requests_per_s: 9 }
    const settings = vivo.readSettings(vivoCertificate({ extra: { limits } }))
    expect(vivo.limits(settings, 'service')).toMatchObject({
      devicesPerSecond: 50_000,
      dailyQuota: 10,
      requestsPerSecond: 9,
    })
  })

  it('signs like the vendor’s example', () => {
    expect(authBody(vivo.readSettings(vivoCertificate()), 1750000000000)).toEqual({
      appId: 105550001,
      appKey: 'a1b2c3d4e5f60718293a4b5c6d7e8f90',
      timestamp: 1750000000000,
      sign: '35b014daeb91d24f95fb73203b3b0f42',
    })
  })
})

describe('a vivo token', () => {
  it.each(['15638535410301000000001', 'v2-CRrXIX6eRQxA9Gk7Hh2b_w0bZ3Q1y7aU4mS8nT5oPq6rE-xL2vKdJ9fW='])(
    '%s is well-formed',
    (token) => {
      expect(vivo.checkToken(token)).toBeUndefined()
    },
  )
  it.each(['', 'short', 'has space in it 12345', 'a,b'.repeat(10), 'x'.repeat(129)])('%j is not', (token) => {
    expect(vivo.checkToken(token)).toMatch(/regId/)
  })
})

describe('the warnings of a vivo certificate', () => {
  const warningsOf = (extra: Record<string, unknown>) =>
    vivo.warnings!(vivo.readSettings(vivoCertificate({ extra })))

  it('name missing receipts and a missing category of system messages', () => {
    expect(warningsOf({})).toEqual([
      expect.stringMatching(/^extra\.callback_id is not set/),
      expect.stringMatching(/^extra\.classes\.service\.category is not set/),
    ])
    expect(warningsOf({ callback_id: 'r7', classes: { service: { category: 'ORDER' } } })).toEqual([])
    expect(warningsOf({ callback_id: 'r7', classes: { service: { classification: 0 } } })).toEqual([])
  })
})
