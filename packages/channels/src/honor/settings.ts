import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem } from '../channel.ts'
import { type ExtraLimits, oneOf, type Reader, requireField } from '../shared/extra.ts'
import { type ClassExtra, readCardExtra } from '../shared/from-card.ts'
import { card } from './card.ts'

export type HonorSettings = {
  appId: string
  clientId: string
  clientSecret: string
  badgeClass?: string
  targetUserType?: 0 | 1
  /** Meanings of receipt codes set by the operator; they take precedence over the documented ones. */
  receiptCodes: ReadonlyMap<number, ReceiptMeaning>
  limits: ExtraLimits
  defaultClass: MessageClass
  classes: Record<MessageClass, ClassExtra<typeof card>>
}

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
    throw new CertificateProblem(`${name} must be a JSON object with receipt codes as keys`)
  const read = new Map<number, ReceiptMeaning>()
  for (const [code, meaning] of Object.entries(value)) {
    if (!/^\d{1,12}$/.test(code)) throw new CertificateProblem(`${name}.${code} is not a receipt code`)
    read.set(Number(code), oneOf(...meanings)(meaning, `${name}.${code}`))
  }
  return read
}

export function readSettings(certificate: Certificate): HonorSettings {
  const extra = readCardExtra(card, certificate.extra, { receipt_codes: receiptCodes })
  const appId = requireField(
    certificate.appId,
    'app_id',
    'the app id that the Honor console shows after push is enabled',
  )
  // It is part of the URL path.
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(appId))
    throw new CertificateProblem('app_id must be the app id from the Honor developer console')
  return {
    appId,
    clientId: requireField(
      certificate.appKey,
      'app_key',
      'the client id from the push service page, not the app id',
    ),
    clientSecret: requireField(
      certificate.appSecret,
      'app_secret',
      'the client secret from the push service page, not the "App Secret"',
    ),
    badgeClass: extra.badge_class,
    targetUserType: extra.target_user_type,
    receiptCodes: extra.receipt_codes ?? new Map(),
    limits: extra.limits,
    defaultClass: extra.defaultClass,
    classes: extra.classes,
  }
}
