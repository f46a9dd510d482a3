import { describe, expect, it } from '@jest/globals'
import { type Certificate, CertificateProblem } from '../../src/channel.ts'
import { adapter as meizu } from '../../src/meizu/channel.ts'
import { signOf } from '../../src/meizu/sign.ts'
import { meizuCertificate, meizuCredential } from './fixtures.ts'

describe('a Meizu certificate', () => {
  it('is read with its flags, classes and defaults', () => {
    expect(meizu.readSettings(meizuCertificate({ appKey: '' }))).toEqual({
      appId: '100999',
      appSecret: meizuCredential.appSecret,
      region: 'cn',
      receiptRegistered: false,
      receiptToken: undefined,
      vip: false,
      passThrough: false,
      limits: {},
      defaultClass: 'marketing',
      classes: { service: {}, marketing: {} },
    })
    const extra = {
      receipt_registered: true,
      receipt_token: 's3cr3t',
      vip: true,
      pass_through: true,
      region: 'intl',
      default_class: 'service',
      classes: { service: { notice_msg_type: 1 } },
    }
    expect(meizu.readSettings(meizuCertificate({ extra }))).toMatchObject({
      region: 'intl',
      receiptRegistered: true,
      receiptToken: 's3cr3t',
      vip: true,
      passThrough: true,
      defaultClass: 'service',
      classes: { service: { noticeMsgType: 1 } },
    })
  })

  const problems: [what: string, over: Partial<Certificate>, sentence: RegExp][] = [
    ['no appId', { appId: '' }, /^app_id is missing/],
    ['an appId with letters', { appId: 'm100' }, /^app_id must be the numeric appId/],
    ['no appSecret', { appSecret: ' ' }, /^app_secret is missing/],
    ['a broken appSecret', { appSecret: 'ab cd' }, /^app_secret must be .* without spaces/],
    ['an unknown key', { extra: { receipt: true } }, /^extra\.receipt is not a known field/],
    ['a flag that is text', { extra: { vip: 'yes' } }, /^extra\.vip must be true or false/],
    ['an unknown region', { extra: { region: 'eu' } }, /^extra\.region must be one of cn, intl/],
    [
      'a class beyond 1',
      { extra: { classes: { service: { notice_msg_type: 2 } } } },
      /^extra\.classes\.service\.notice_msg_type must be one of 0, 1/,
    ],
  ]
  it.each(problems)('with %s is refused with a reason', (_what, over, sentence) => {
    const read = () => meizu.readSettings(meizuCertificate(over))
    expect(read).toThrow(CertificateProblem)
    expect(read).toThrow(sentence)
  })

  it('has a limit of 200 devices per second unless it sets another', () => {
    const limitsOf = (extra: Record<string, unknown>) =>
      meizu.limits(meizu.readSettings(meizuCertificate({ extra })), 'marketing')
    expect(limitsOf({})).toMatchObject({ devicesPerSecond: 200, timeZone: 'Asia/Shanghai' })
    expect(limitsOf({ limits: { devices_per_s: 9000 } })).toMatchObject({ devicesPerSecond: 9000 })
  })
})

describe('Meizu’s sign', () => {
  const a = 'RA50c6348036344485d01776773577c64740465480a6b'
  const b = 'J0476035d625e6c64567f71487e040e7d017f0558675b'
  const cases: [what: string, secret: string, fields: Record<string, string>, sign: string][] = [
    [
      'of the vendor’s example',
      '<APP_SECRET>',
      {
        appId: '10000',
        pushIds: a,
        messageJson: '{"title":"title","content":"content","pushTimeInfo":{"offLine":1,"validTime":24}}',
      },
      'ac076ff25d9900015a681cb5172aa53b',
    ],
    [
      'of two devices',
      meizuCredential.appSecret,
      {
        pushIds: `${a},${b}`,
        messageJson:
          '{"noticeBarInfo":{"noticeMsgType":1,"title":"Order shipped","content":"Parcel 1024 is on its way"},"clickTypeInfo":{"clickType":0},"pushTimeInfo":{"offLine":1,"validTime":24}}',
        appId: '100999',
      },
      'a7e6b60e90e949c1e9fa42f157a3c52c',
    ],
    [
      'of UTF-8 and reserved characters',
      meizuCredential.appSecret,
      {
        appId: '100999',
        pushIds: a,
        messageJson: '{"noticeBarInfo":{"title":"订单已发货","content":"a+b & c=d 100%"}}',
      },
      '9798f58c14c7c093ce7ba8adcab29300',
    ],
  ]
  it.each(cases)('%s', (_what, secret, fields, sign) => {
    expect(signOf(fields, secret)).toBe(sign)
    expect(signOf({ ...fields, sign: 'ignored' }, secret)).toBe(sign)
  })
})

describe('a Meizu token', () => {
  it.each(['RA50c6348036344485d01776773577c64740465480a6b', '351780020052892100012'])(
    '%s is well-formed',
    (token) => {
      expect(meizu.checkToken(token)).toBeUndefined()
    },
  )
  it.each(['', 'short', `${'a'.repeat(20)},${'b'.repeat(20)}`, 'x'.repeat(129), 'with-dash-0123456789'])(
    '%j is not',
    (token) => {
      expect(meizu.checkToken(token)).toMatch(/pushId/)
    },
  )
})
