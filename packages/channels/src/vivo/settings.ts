import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem, type Limits } from '../channel.ts'
import {
  categoryWord,
  type ExtraLimits,
  oneOf,
  readExtra,
  requireField,
  requireWord,
  text,
} from '../shared/extra.ts'

export type VivoClass = { classification?: 0 | 1; category?: string }

export type VivoSettings = {
  appId: number
  appKey: string
  appSecret: string
  /** Id of a receipt address entered in the vivo console; the only receipts that list sends have. */
  callbackId?: string
  limits: ExtraLimits
  defaultClass: MessageClass
  classes: Record<MessageClass, VivoClass>
}

export function readSettings(certificate: Certificate): VivoSettings {
  const appId = requireField(certificate.appId, 'app_id', 'the numeric appId of the vivo push console')
  if (!/^[1-9]\d{0,14}$/.test(appId))
    throw new CertificateProblem('app_id must be the numeric appId of the vivo push console')
  const extra = readExtra(
    certificate.extra,
    { callback_id: text },
    {
      classification: oneOf(0, 1),
      category: categoryWord(64, 'a vivo category in capitals, such as IM, ORDER or MARKETING'),
    },
  )
  return {
    appId: Number(appId),
    appKey: requireWord(certificate.appKey, 'app_key', 'the appKey of the vivo push console'),
    appSecret: requireWord(certificate.appSecret, 'app_secret', 'the appSecret of the vivo push console'),
    callbackId: extra.callback_id,
    limits: extra.limits,
    defaultClass: extra.defaultClass,
    classes: extra.classes,
  }
}

/** 0 operational, 1 system: what the certificate says of the class, else the class's own meaning. */
export function classificationOf(settings: VivoSettings, messageClass: MessageClass): 0 | 1 {
  return settings.classes[messageClass].classification ?? (messageClass === 'service' ? 1 : 0)
}

/**
 * 3000 messages a second is the grant of applications with up to 5 million effective users; operational messages pass from
 * 07:00 to 23:00 in China (https://dev.vivo.com.cn/documentCenter/doc/362). Larger grants are set as extra.limits.
 */
export function limits(settings: VivoSettings, messageClass: MessageClass): Limits {
  const operational = classificationOf(settings, messageClass) === 0
  return {
    ...settings.limits,
    devicesPerSecond: settings.limits.devicesPerSecond ?? 3000,
    hours: operational ? { from: 7, to: 23 } : undefined,
    timeZone: 'Asia/Shanghai',
  }
}
