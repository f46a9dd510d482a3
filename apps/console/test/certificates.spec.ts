import { describe, expect, it } from '@jest/globals'
import { certificateOf, type VendorForm, vendorForms } from '../src/pages/certificates/vendor-forms.ts'
import { wishOf } from '../src/pages/devices/search.ts'

const formOf = (channel: string, kind?: VendorForm['kind']) =>
  vendorForms.find((form) => form.channel === channel && form.kind === kind)!
const place = { environment: 1 as const, name: ' mine ' }

describe('a certificate form', () => {
  it('exists for each of the eight vendors', () => {
    expect([...new Set(vendorForms.map(({ provider }) => provider))]).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  it('puts its fields where the record has them, blank ones nowhere', () => {
    const values = { app_id: 'com.example', app_key: ' K ', app_secret: 'T', certificate: 'pem' }
    expect(
      certificateOf(formOf('apns', 'P8'), place, { ...values, 'extra.bundle_ids': 'a.b, c.d ,' }, ''),
    ).toEqual({
      provider: 1,
      environment: 1,
      name: 'mine',
      app_id: 'com.example',
      app_key: 'K',
      app_secret: 'T',
      certificate: 'pem',
      extra: { bundle_ids: ['a.b', 'c.d'] },
    })
    expect(certificateOf(formOf('fcm'), place, { app_id: ' ' }, '')).toEqual({
      provider: 7,
      environment: 1,
      name: 'mine',
    })
  })

  it('turns settings into what the vendor’s keys hold', () => {
    const values = {
      'extra.region': 'intl',
      'extra.content_limit': '200',
      'extra.picture_url': 'true',
      'extra.channel_id': '7',
    }
    expect(
      certificateOf(formOf('oppo'), place, values, '{"default_class":"service","region":"cn"}').extra,
    ).toEqual({
      default_class: 'service',
      region: 'intl',
      content_limit: 200,
      picture_url: true,
      channel_id: '7',
    })
  })

  it('does not carry fields of another vendor over', () => {
    expect(
      certificateOf(formOf('fcm'), place, { app_secret: 'of another', 'extra.vip': 'true' }, ''),
    ).not.toHaveProperty('app_secret')
  })
})

describe('a search for devices', () => {
  it.each([
    [null, null, {}],
    ['byTag', ' vip ', { tag: 'vip' }],
    ['byUser', '42', { user_id: '42' }],
    ['byNothing', 'x', { device_guid: 'x' }],
    ['byTag', '  ', {}],
  ])('by %j for %j asks %j', (by, value, fields) => {
    expect(wishOf(by, value).fields).toEqual(fields)
  })
})
