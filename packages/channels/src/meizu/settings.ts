import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem, type Limits } from '../channel.ts'
import { type ExtraLimits, flag, oneOf, readExtra, requireField, requireWord, text } from '../shared/extra.ts'

export type MeizuSettings = {
  appId: string
  appSecret: string
  region: 'cn' | 'intl'
  /** The callback address stands in the console; without that Meizu refuses a push that names it. */
  receiptRegistered: boolean
  /** What Meizu sends along with receipts, as set in the console. */
  receiptToken?: string
  /** Big pictures are for VIP applications. */
  vip: boolean
  /** Pass-through is retired and open to old contracts only. */
  passThrough: boolean
  limits: ExtraLimits
  defaultClass: MessageClass
  classes: Record<MessageClass, { noticeMsgType?: 0 | 1 }>
}

export function readSettings(certificate: Certificate): MeizuSettings {
  const appId = requireField(certificate.appId, 'app_id', 'the numeric appId of the Meizu push console')
  if (!/^[1-9]\d{0,14}$/.test(appId))
    throw new CertificateProblem('app_id must be the numeric appId of the Meizu push console')
  const appSecret = requireWord(
    certificate.appSecret,
    'app_secret',
    'the appSecret of the Meizu push console',
  )
  const extra = readExtra(
    certificate.extra,
    {
      receipt_registered: flag,
      receipt_token: text,
      vip: flag,
      pass_through: flag,
      region: oneOf('cn', 'intl'),
    },
    { notice_msg_type: oneOf(0, 1) },
  )
  const classOf = (name: MessageClass) => ({ noticeMsgType: extra.classes[name].notice_msg_type })
  return {
    appId,
    appSecret,
    region: extra.region ?? 'cn',
    receiptRegistered: extra.receipt_registered ?? false,
    receiptToken: extra.receipt_token,
    vip: extra.vip ?? false,
    passThrough: extra.pass_through ?? false,
    limits: extra.limits,
    defaultClass: extra.defaultClass,
    classes: { service: classOf('service'), marketing: classOf('marketing') },
  }
}

/** Meizu names no figure; relays report 200 a second by default, and that push_support@meizu.com raises it. */
export function limits({ limits }: MeizuSettings): Limits {
  return { ...limits, devicesPerSecond: limits.devicesPerSecond ?? 200, timeZone: 'Asia/Shanghai' }
}
