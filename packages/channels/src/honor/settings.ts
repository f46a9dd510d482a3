import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem, type Limits } from '../channel.ts'
import { type ExtraLimits, oneOf, type Reader, readExtra, requireField, text } from '../shared/extra.ts'

export type HonorSettings = {
  appId: string
  clientId: string
  clientSecret: string
  badgeClass?: string
  targetUserType?: 0 | 1
  /** What receipt codes mean, as the operator learnt it; wins over the one that is documented. */
  receiptCodes: ReadonlyMap<number, ReceiptMeaning>
  limits: ExtraLimits
  defaultClass: MessageClass
  classes: Record<MessageClass, HonorClass>
}

type HonorClass = { importance?: 'LOW' | 'NORMAL' }

const meanings = [
  'delivered',
  'uninstalled',
  'token-invalid',
  'notify-off',
  'throttled',
  'expired',
  'other',
] as const
export type ReceiptMeaning = (typeof meanings)[number]

const receiptCodes: Reader<Map<number, ReceiptMeaning>> = (value, name) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CertificateProblem(`${name} must be a JSON object of receipt codes`)
  const read = new Map<number, ReceiptMeaning>()
  for (const [code, meaning] of Object.entries(value)) {
    if (!/^\d{1,12}$/.test(code)) throw new CertificateProblem(`${name}.${code} is not a receipt code`)
    read.set(Number(code), oneOf(...meanings)(meaning, `${name}.${code}`))
  }
  return read
}

export function readSettings(certificate: Certificate): HonorSettings {
  const extra = readExtra(
    certificate.extra,
    { badge_class: text, receipt_codes: receiptCodes, target_user_type: oneOf(0, 1) },
    { importance: oneOf('LOW', 'NORMAL') },
  )
  const appId = requireField(certificate.appId, 'app_id', 'the app id that Honor shows once push is enabled')
  // It becomes part of the path.
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(appId))
    throw new CertificateProblem('app_id must be the app id of the Honor developer console')
  return {
    appId,
    clientId: requireField(
      certificate.appKey,
      'app_key',
      'the client id of the push service page, not the app id',
    ),
    clientSecret: requireField(
      certificate.appSecret,
      'app_secret',
      'the client secret of the push service page, not the "App Secret"',
    ),
    badgeClass: extra.badge_class,
    targetUserType: extra.target_user_type,
    receiptCodes: extra.receipt_codes ?? new Map(),
    limits: extra.limits,
    defaultClass: extra.defaultClass,
    classes: extra.classes,
  }
}

/** Aggregators name 3000 devices a second an app; Honor itself documents none, so extra.limits may name more. */
const usualDevicesPerSecond = 3000

export function limits({ limits }: HonorSettings): Limits {
  const devicesPerSecond = limits.devicesPerSecond ?? usualDevicesPerSecond
  return { ...limits, devicesPerSecond, timeZone: 'Asia/Shanghai' }
}
