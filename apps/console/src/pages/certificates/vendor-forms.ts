import type { Environment, NewCertificate, Provider } from '@herald/client'
import type { en } from '../../words/en.ts'

type Word = keyof (typeof en)['certificateField']

/** Where a field of the form goes: one of the record's own, or a key of `extra`. */
export type CertificateField = {
  to: 'app_id' | 'app_key' | 'app_secret' | 'certificate' | { extra: string }
  label: Word
  kind: 'text' | 'secret' | 'long' | 'flag' | 'list' | 'choice'
  optional?: true
  options?: readonly string[]
}

/** A vendor's form. APNs has two, told apart by what was bought from Apple. */
export type VendorForm = {
  provider: Provider
  channel: string
  kind?: 'P8' | 'P12'
  /** What the file picker offers; a .p12 is read as bytes. */
  file?: { accept: string; as: 'text' | 'base64' }
  fields: CertificateField[]
}

type To = Exclude<CertificateField['to'], object>
const own = (
  to: To,
  label: Word,
  kind: CertificateField['kind'] = 'text',
  optional?: true,
): CertificateField => ({
  to,
  label,
  kind,
  optional,
})
/** Keys of `extra` carry the names that the vendor pages use. */
const extra = (
  label: Word,
  kind: CertificateField['kind'] = 'text',
  options?: readonly string[],
): CertificateField => ({ to: { extra: label }, label, kind, optional: true, options })

const bundleIds: CertificateField = {
  to: { extra: 'bundle_ids' },
  label: 'bundleIds',
  kind: 'list',
  optional: true,
}
const region = extra('region', 'choice', ['cn', 'intl'])
const userType = extra('target_user_type', 'choice', ['0', '1'])

export const vendorForms: readonly VendorForm[] = [
  {
    provider: 1,
    channel: 'apns',
    kind: 'P8',
    file: { accept: '.p8,.pem', as: 'text' },
    fields: [
      own('app_id', 'bundleId'),
      own('app_key', 'keyId'),
      own('app_secret', 'teamId'),
      own('certificate', 'p8', 'long'),
      bundleIds,
    ],
  },
  {
    provider: 1,
    channel: 'apns',
    kind: 'P12',
    file: { accept: '.p12,.pfx,.pem', as: 'base64' },
    fields: [
      own('app_id', 'bundleId', 'text', true),
      own('app_secret', 'passphrase', 'secret', true),
      own('certificate', 'p12', 'long'),
      bundleIds,
    ],
  },
  {
    provider: 2,
    channel: 'huawei',
    file: { accept: '.json', as: 'text' },
    fields: [
      own('app_id', 'clientId'),
      own('app_key', 'projectId', 'text', true),
      own('app_secret', 'clientSecret', 'secret', true),
      own('certificate', 'serviceAccount', 'long', true),
      extra('badge_class'),
      extra('receipt_id'),
      extra('callback_user'),
      extra('callback_secret', 'secret'),
      userType,
    ],
  },
  {
    provider: 3,
    channel: 'xiaomi',
    fields: [
      own('app_id', 'appId', 'text', true),
      own('app_key', 'appKey', 'text', true),
      own('app_secret', 'appSecret', 'secret'),
      extra('package_name'),
      extra('channel_id'),
      extra('big_text', 'flag'),
      extra('big_picture', 'flag'),
      extra('pass_through', 'flag'),
    ],
  },
  {
    provider: 4,
    channel: 'flyme',
    fields: [
      own('app_id', 'appId'),
      own('app_key', 'appKey', 'text', true),
      own('app_secret', 'appSecret', 'secret'),
      extra('receipt_registered', 'flag'),
      extra('receipt_token', 'secret'),
      extra('vip', 'flag'),
      extra('pass_through', 'flag'),
      region,
    ],
  },
  {
    provider: 5,
    channel: 'vivo',
    fields: [
      own('app_id', 'appId'),
      own('app_key', 'appKey'),
      own('app_secret', 'appSecret', 'secret'),
      extra('callback_id'),
    ],
  },
  {
    provider: 6,
    channel: 'oppo',
    fields: [
      own('app_id', 'appId', 'text', true),
      own('app_key', 'appKey'),
      own('app_secret', 'masterSecret', 'secret'),
      extra('client_app_secret', 'secret'),
      extra('channel_id'),
      extra('picture_url', 'flag'),
      extra('content_limit', 'choice', ['50', '200']),
      region,
    ],
  },
  {
    provider: 7,
    channel: 'fcm',
    file: { accept: '.json', as: 'text' },
    fields: [
      own('app_id', 'projectId', 'text', true),
      own('certificate', 'serviceAccount', 'long'),
      extra('package_name'),
    ],
  },
  {
    provider: 8,
    channel: 'honor',
    fields: [
      own('app_id', 'appId'),
      own('app_key', 'clientId'),
      own('app_secret', 'clientSecret', 'secret'),
      extra('badge_class'),
      userType,
    ],
  },
]

export const keyOf = ({ to }: CertificateField): string => (typeof to === 'string' ? to : `extra.${to.extra}`)

/** The record to save. `more` is the JSON of further keys; those of the form win. */
export function certificateOf(
  form: VendorForm,
  place: { environment: Environment; name: string },
  values: Readonly<Record<string, string>>,
  more: string,
): NewCertificate {
  const record: NewCertificate = {
    provider: form.provider,
    environment: place.environment,
    name: place.name.trim(),
  }
  const further: Record<string, unknown> = more.trim() === '' ? {} : JSON.parse(more)
  for (const field of form.fields) {
    const value = values[keyOf(field)]?.trim() ?? ''
    if (value === '') continue
    if (typeof field.to === 'string') record[field.to] = value
    else further[field.to.extra] = extraValue(field, value)
  }
  return Object.keys(further).length === 0 ? record : { ...record, extra: further }
}

function extraValue({ kind, options }: CertificateField, value: string): unknown {
  switch (kind) {
    case 'flag':
      return value === 'true'
    case 'list':
      return value
        .split(/[,\s]+/)
        .map((item) => item.trim())
        .filter((item) => item !== '')
    case 'choice':
      return options?.every((option) => /^\d+$/.test(option)) ? Number(value) : value
    default:
      return value
  }
}
