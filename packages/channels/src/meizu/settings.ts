import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem } from '../channel.ts'
import { type ExtraLimits, requireField, requireWord } from '../shared/extra.ts'
import { readCardExtra } from '../shared/from-card.ts'
import { card } from './card.ts'

export type MeizuSettings = {
  appId: string
  appSecret: string
  region: 'cn' | 'intl'
  /** The callback URL is registered in the console; otherwise Meizu refuses a push that contains it. */
  receiptRegistered: boolean
  /** The token that Meizu sends with receipts, as set in the console. */
  receiptToken?: string
  /** Big pictures are available to VIP applications only. */
  vip: boolean
  /** Pass-through is discontinued and available in old contracts only. */
  passThrough: boolean
  limits: ExtraLimits
  defaultClass: MessageClass
  classes: Record<MessageClass, { noticeMsgType?: 0 | 1 }>
}

export function readSettings(certificate: Certificate): MeizuSettings {
  const appId = requireField(certificate.appId, 'app_id', 'the numeric appId from the Meizu push console')
  if (!/^[1-9]\d{0,14}$/.test(appId))
    throw new CertificateProblem('app_id must be the numeric appId from the Meizu push console')
  const appSecret = requireWord(
    certificate.appSecret,
    'app_secret',
    'the appSecret from the Meizu push console',
  )
  const extra = readCardExtra(card, certificate.extra, {})
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
