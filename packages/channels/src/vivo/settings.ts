import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem, type Limits } from '../channel.ts'
import { type ExtraLimits, requireField, requireWord } from '../shared/extra.ts'
import { type ClassExtra, limitsOf, readCardExtra } from '../shared/from-card.ts'
import { card } from './card.ts'

export type VivoClass = ClassExtra<typeof card>

export type VivoSettings = {
  appId: number
  appKey: string
  appSecret: string
  /** Id of a receipt URL entered in the vivo console; the only way to get receipts for lists. */
  callbackId?: string
  /** vivo has granted the permission for badges, so every message adds one unless it says otherwise. */
  badge: boolean
  limits: ExtraLimits
  defaultClass: MessageClass
  classes: Record<MessageClass, VivoClass>
}

export function readSettings(certificate: Certificate): VivoSettings {
  const appId = requireField(certificate.appId, 'app_id', 'the numeric appId from the vivo push console')
  if (!/^[1-9]\d{0,14}$/.test(appId))
    throw new CertificateProblem('app_id must be the numeric appId from the vivo push console')
  const extra = readCardExtra(card, certificate.extra, {})
  return {
    appId: Number(appId),
    appKey: requireWord(certificate.appKey, 'app_key', 'the appKey from the vivo push console'),
    appSecret: requireWord(certificate.appSecret, 'app_secret', 'the appSecret from the vivo push console'),
    callbackId: extra.callback_id,
    badge: extra.badge ?? false,
    limits: extra.limits,
    defaultClass: extra.defaultClass,
    classes: extra.classes,
  }
}

/** 0 operational, 1 system: the certificate's setting for the class, otherwise service is system. */
export function classificationOf(settings: VivoSettings, messageClass: MessageClass): 0 | 1 {
  return settings.classes[messageClass].classification ?? (messageClass === 'service' ? 1 : 0)
}

/**
 * `messageClass` is the class that vivo counts the message under. Operational messages are allowed from 07:00 to 23:00 in China
 * (https://dev.vivo.com.cn/documentCenter/doc/362).
 */
export function limits(settings: VivoSettings, messageClass: MessageClass): Limits {
  const operational = messageClass === 'marketing'
  return {
    ...limitsOf(card, settings.limits, operational),
    hours: operational ? { from: 7, to: 23 } : undefined,
  }
}
