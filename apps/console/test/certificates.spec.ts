import { providerOf, vendorChannels } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { parseSearch, searchKinds } from '../src/components/search.ts'
import { certificateOf, isReplaced, vendorForms } from '../src/pages/certificates/vendor-forms.ts'

const formOf = (channel: string, kind?: string) =>
  vendorForms.find((form) => form.channel === channel && form.kind?.en === kind)!
const settings = { environment: 1 as const, name: ' mine ' }

describe('a certificate form', () => {
  it('exists for every vendor', () => {
    expect([...new Set(vendorForms.map(({ provider }) => provider))]).toEqual(vendorChannels.map(providerOf))
  })

  it('sets the fields of the record and leaves out blank ones', () => {
    const values = { app_id: 'com.example', app_key: ' K ', app_secret: 'T', certificate: 'pem' }
    expect(
      certificateOf(
        formOf('apns', 'Signing key (.p8)'),
        settings,
        { ...values, 'extra.bundle_ids': 'a.b, c.d ,' },
        '',
      ),
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
    expect(certificateOf(formOf('fcm'), settings, { app_id: ' ' }, '')).toEqual({
      provider: 7,
      environment: 1,
      name: 'mine',
    })
  })

  it('converts settings to the types of the vendor’s keys', () => {
    const values = {
      'extra.region': 'intl',
      'extra.content_limit': '200',
      'extra.picture_url': 'true',
      'extra.channel_id': '7',
    }
    expect(
      certificateOf(formOf('oppo'), settings, values, '{"default_class":"service","region":"cn"}').extra,
    ).toEqual({
      default_class: 'service',
      region: 'intl',
      content_limit: 200,
      picture_url: true,
      channel_id: '7',
    })
  })

  it('replaces the record of the same environment and region', () => {
    const saved = (region: string | null) => ({ provider: 6, environment: 1, region }) as const
    const replaced = (region: string, chosen: string) =>
      isReplaced(saved(region), formOf('oppo'), 1, { 'extra.region': chosen })
    expect([replaced('cn', ''), replaced('cn', 'cn'), replaced('intl', 'intl')]).toEqual([true, true, true])
    expect([replaced('cn', 'intl'), replaced('intl', '')]).toEqual([false, false])
    const vivo = formOf('vivo')
    expect(isReplaced({ ...saved(null), provider: vivo.provider }, vivo, 1, {})).toBe(true)
    expect(isReplaced({ ...saved(null), provider: vivo.provider }, vivo, 0, {})).toBe(false)
  })

  it('ignores values of another vendor’s fields', () => {
    expect(
      certificateOf(formOf('fcm'), settings, { app_secret: 'of another', 'extra.vip': 'true' }, ''),
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
  ])('by %j for %j filters by %j', (by, value, fields) => {
    expect(parseSearch(searchKinds, by, value).fields).toEqual(fields)
  })
})
