import { androidFields, cards } from '@herald/channels/cards'
import { type CertificateView, HeraldError } from '@herald/client'
import { providerOf, vendorChannels } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { dayIn, quotaOf } from '../src/calculations/quota.ts'
import { parseSearch, searchKinds } from '../src/components/search.ts'
import { choiceLabel, offeredChoices } from '../src/i18n/choice-labels.ts'
import {
  blankDraft,
  type CredentialDraft,
  changesCredentials,
  draftOf,
  maskedValue,
  replacedBy,
  requestOf,
} from '../src/pages/certificates/credential-draft.ts'
import { refusedField } from '../src/pages/certificates/refused-field.ts'
import { isInFront, vendorForms } from '../src/pages/certificates/vendor-forms.ts'

const indexOf = (channel: string, kind?: string) =>
  vendorForms.findIndex((form) => form.channel === channel && form.kind?.en === kind)
const draft = (channel: string, values: CredentialDraft['values'], more: Partial<CredentialDraft> = {}) => ({
  ...blankDraft(indexOf(channel, channel === 'apns' ? 'Signing key (.p8)' : undefined)),
  values,
  ...more,
})

const record = (fields: Partial<CertificateView>): CertificateView => ({
  provider: 6,
  channel: 'oppo',
  environment: 1,
  region: 'cn',
  name: 'Live',
  app_id: '30',
  app_key: 'key',
  app_secret: '****cret',
  certificate: '',
  extra: {},
  state: 'open',
  last_error: null,
  last_error_at: null,
  first_refused_at: null,
  closed_at: null,
  next_probe_at: null,
  probes: 0,
  breaker: null,
  holds: [],
  check_error: null,
  check_error_at: null,
  worked_at: null,
  expires_at: null,
  callback_url: null,
  usage: [],
  warnings: [],
  ...fields,
})

describe('a form for new credentials', () => {
  it('exists for every vendor', () => {
    expect([...new Set(vendorForms.map(({ provider }) => provider))]).toEqual(vendorChannels.map(providerOf))
  })

  it('sets the fields of the record and leaves out blank ones', () => {
    const values = {
      app_id: 'com.example',
      app_key: ' K ',
      app_secret: 'T',
      certificate: 'pem',
      'extra.bundle_ids': 'a.b, c.d ,',
    }
    expect(requestOf(draft('apns', values, { name: ' mine ' }), undefined)).toEqual({
      provider: 1,
      environment: 1,
      name: 'mine',
      app_id: 'com.example',
      app_key: 'K',
      app_secret: 'T',
      certificate: 'pem',
      extra: { bundle_ids: ['a.b', 'c.d'] },
    })
    expect(requestOf(draft('fcm', { app_id: ' ' }), undefined)).toEqual({
      provider: 7,
      environment: 1,
      name: '',
    })
  })

  it('takes a list with Chinese separators too', () => {
    const values = { 'extra.bundle_ids': 'a.b，c.d； e.f;g.h' }
    expect(requestOf(draft('apns', values), undefined).extra).toEqual({
      bundle_ids: ['a.b', 'c.d', 'e.f', 'g.h'],
    })
  })

  it('converts settings to the types of the vendor’s keys', () => {
    const values = {
      'extra.region': 'intl',
      'extra.content_limit': '200',
      'extra.picture_url': 'true',
      'extra.channel_id': '7',
    }
    const extraJson = '{"default_class":"service","region":"cn"}'
    expect(requestOf(draft('oppo', values, { extraJson }), undefined).extra).toEqual({
      default_class: 'service',
      region: 'intl',
      content_limit: 200,
      picture_url: true,
      channel_id: '7',
    })
  })

  it('ignores values of another vendor’s fields', () => {
    const values = { app_secret: 'of another', 'extra.vip': 'true' }
    expect(requestOf(draft('fcm', values), undefined)).not.toHaveProperty('app_secret')
  })

  it('has the fields that the vendor requires in front, with the package name of the application', () => {
    const xiaomi = blankDraft(indexOf('xiaomi'), 'com.example.shop')
    expect(xiaomi.values).toEqual({ 'extra.package_name': 'com.example.shop' })
    expect(vendorForms[xiaomi.form]!.fields.filter((field) => isInFront(field)).map(({ to }) => to)).toEqual([
      'app_id',
      'app_key',
      'app_secret',
      'extra.package_name',
    ])
  })

  it('sends only the credentials that are chosen where the vendor takes either', () => {
    const values = { app_id: '1', app_secret: 's', certificate: '{}' }
    expect(blankDraft(indexOf('huawei')).used).toEqual(['app_secret'])
    expect(requestOf(draft('huawei', values, { used: ['app_secret'] }), undefined)).not.toHaveProperty(
      'certificate',
    )
    expect(requestOf(draft('huawei', values, { used: ['certificate'] }), undefined)).not.toHaveProperty(
      'app_secret',
    )
    expect(
      requestOf(draft('huawei', values, { used: ['app_secret', 'certificate'] }), undefined),
    ).toMatchObject({ app_secret: 's', certificate: '{}' })
  })

  it('tells which record of the same environment and region it would replace', () => {
    const saved = (region: string) => record({ region })
    const replaced = (region: string, chosen: string) =>
      replacedBy(draft('oppo', { 'extra.region': chosen }), [saved(region)], undefined) !== undefined
    expect([replaced('cn', ''), replaced('cn', 'cn'), replaced('intl', 'intl')]).toEqual([true, true, true])
    expect([replaced('cn', 'intl'), replaced('intl', '')]).toEqual([false, false])
    const vivo = record({ provider: 5, channel: 'vivo', region: null })
    expect(replacedBy(draft('vivo', {}), [vivo], undefined)).toBe(vivo)
    expect(replacedBy(draft('vivo', {}, { environment: 0 }), [vivo], undefined)).toBeUndefined()
    expect(replacedBy(draftOf(vivo), [vivo], vivo)).toBeUndefined()
  })
})

describe('the form of saved credentials', () => {
  const oppo = record({
    extra: {
      client_app_secret: '****sdk1',
      content_limit: 200,
      picture_url: false,
      limits: { daily_quota: 1000 },
      default_class: 'service',
    },
  })

  it('shows what is no secret, and keeps everything if nothing is changed', () => {
    const shown = draftOf(oppo)
    expect(shown.values).toEqual({
      app_id: '30',
      app_key: 'key',
      'extra.content_limit': '200',
      'extra.picture_url': 'false',
      'extra.region': 'cn',
    })
    expect(requestOf(shown, oppo)).toEqual({
      provider: 6,
      environment: 1,
      name: 'Live',
      app_id: '30',
      app_key: 'key',
      keep: ['app_secret', 'extra.client_app_secret'],
      extra: {
        content_limit: 200,
        picture_url: false,
        region: 'cn',
        limits: { daily_quota: 1000 },
        default_class: 'service',
      },
    })
    expect(maskedValue(oppo, shown, 'app_secret')).toBe('****cret')
    expect(changesCredentials(shown, oppo)).toBe(false)
  })

  it('keeps every digit of a large number', () => {
    const numbered = record({ extra: { crm_id: 9007199254740993n } })
    expect(draftOf(numbered).extraJson).toBe('{\n  "crm_id": 9007199254740993\n}')
    expect(requestOf(draftOf(numbered), numbered).extra).toMatchObject({ crm_id: 9007199254740993n })
  })

  it('replaces a secret that is typed and removes one that is no longer wanted', () => {
    const edited = {
      ...draftOf(oppo),
      values: { ...draftOf(oppo).values, app_secret: 'new' },
      removed: ['extra.client_app_secret'],
    }
    expect(requestOf(edited, oppo)).toMatchObject({ app_secret: 'new' })
    expect(requestOf(edited, oppo)).not.toHaveProperty('keep')
    expect(changesCredentials(edited, oppo)).toBe(true)
  })

  it('is of the kind that was saved; another kind keeps no secret', () => {
    const p12 = record({ provider: 1, channel: 'apns', region: null, app_key: '', certificate: '****' })
    const p8 = record({ ...p12, app_key: 'KEY', app_secret: '****', extra: { bundle_ids: ['a.b', 'c.d'] } })
    expect(vendorForms[draftOf(p12).form]!.kind!.en).toBe('Certificate (.p12 or PEM)')
    expect(vendorForms[draftOf(p8).form]!.kind!.en).toBe('Signing key (.p8)')
    expect(requestOf(draftOf(p8), p8)).toMatchObject({
      keep: ['app_secret', 'certificate'],
      extra: { bundle_ids: ['a.b', 'c.d'] },
    })
    const other = { ...blankDraft(draftOf(p12).form), values: { certificate: 'new' } }
    expect(requestOf(other, p8)).toEqual({ provider: 1, environment: 1, name: '', certificate: 'new' })
  })

  it('keeps keys that it has no field for and cannot show', () => {
    const saved = record({ extra: { other_key: '****abcd' } })
    expect(requestOf(draftOf(saved), saved).keep).toEqual(['app_secret', 'extra.other_key'])
  })
})

describe('a refusal of credentials', () => {
  const { fields } = vendorForms[indexOf('oppo')]!
  const fieldOf = (message: string, inputs = fields) =>
    refusedField(new HeraldError(40002, 400, message), inputs)?.to

  it('belongs to the input of the field that it names', () => {
    expect(fieldOf('app_secret is missing: enter it.')).toBe('app_secret')
    expect(fieldOf('extra.content_limit must be one of 50, 200.')).toBe('extra.content_limit')
    expect(fieldOf('extra.picture_url must be true or false.')).toBe('extra.picture_url')
  })

  it('belongs to none if the form shows no input for it', () => {
    expect(fieldOf('extra.limits.daily_quota must be a whole number from 0 to 9.')).toBeUndefined()
    expect(fieldOf('extra.default_class must be one of service, marketing.')).toBeUndefined()
    const others = fields.filter(({ to }) => to !== 'extra.region')
    expect(fieldOf('extra.region must be one of cn, intl.', others)).toBeUndefined()
    expect(fieldOf('The body must be a JSON object.')).toBeUndefined()
    expect(refusedField(new Error('app_secret is odd.'), fields)).toBeUndefined()
    expect(refusedField(null, fields)).toBeUndefined()
  })
})

describe('the quota of a day', () => {
  const usage = [
    { message_class: 'marketing' as const, day: '2026-11-17', devices: 600, permits: 5 },
    { message_class: 'service' as const, day: '2026-11-16', devices: 90, permits: 5 },
  ]
  // 01:00 on the 17th in Shanghai, still the 16th in London.
  const now = Date.UTC(2026, 10, 16, 17) / 1000

  it('is counted by the vendor’s day', () => {
    expect([dayIn('Asia/Shanghai', now), dayIn('UTC', now)]).toEqual(['2026-11-17', '2026-11-16'])
    expect(quotaOf({ usage, extra: { limits: { daily_quota: 1000 } } }, 'Asia/Shanghai', now)).toEqual([
      { messageClass: 'marketing', used: 600, left: 400 },
      { messageClass: 'service', used: 0, left: 1000 },
    ])
    expect(quotaOf({ usage, extra: {} }, 'UTC', now)[1]).toEqual({
      messageClass: 'service',
      used: 90,
      left: null,
    })
  })
})

describe('a choice of a vendor', () => {
  type Choice = { choices?: readonly (string | number)[]; choiceTexts?: Record<string, object> }
  function choices(part: object, path: string): [string, Choice][] {
    if ('choices' in part && 'label' in part) return [[path, part as Choice]]
    return Object.entries(part).flatMap(([key, value]: [string, unknown]) =>
      typeof value === 'object' && value !== null ? choices(value, `${path}.${key}`) : [],
    )
  }
  const all = [...choices(androidFields, 'android'), ...cards.flatMap((card) => choices(card, card.name))]

  it('has a text, unless it is another spelling or always refused', () => {
    expect(all.length).toBeGreaterThan(12)
    const without = all.flatMap(([path, { choices = [], choiceTexts = {} }]) =>
      choices.filter((choice) => !Object.hasOwn(choiceTexts, choice)).map((choice) => `${path} ${choice}`),
    )
    expect(without).toEqual([
      'huawei.message.fields.harmony_push_type 1',
      'huawei.message.fields.harmony_push_type 7',
      'fcm.message.fields.priority high',
      'fcm.message.fields.priority normal',
    ])
    for (const [path, { choices = [], choiceTexts = {} }] of all)
      expect([path, Object.keys(choiceTexts).filter((key) => !choices.map(String).includes(key))]).toEqual([
        path,
        [],
      ])
  })

  it('is shown with its value and its meaning', () => {
    const texts = { 1: { en: 'system message', zh: '系统消息' }, HIGH: { en: 'at once', zh: '立即送达' } }
    expect(offeredChoices([0, 1, 'HIGH'], texts)).toEqual([1, 'HIGH'])
    expect(choiceLabel('1', texts, ({ zh }) => zh)).toBe('1 系统消息')
    expect(choiceLabel('HIGH', texts, ({ en }) => en)).toBe('HIGH: at once')
    expect(choiceLabel('0', texts, ({ en }) => en)).toBe('0')
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
