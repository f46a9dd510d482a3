import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem, type Limits } from '../channel.ts'
import { type ExtraLimits, flag, idText, readExtra, requireWord, text } from '../shared/extra.ts'

type XiaomiClass = { channelId?: string; templateId?: string }

export type XiaomiSettings = {
  appSecret: string
  packageName: string
  /** Channel of messages whose class names none. */
  channelId?: string
  bigText: boolean
  bigPicture: boolean
  passThrough: boolean
  limits: ExtraLimits
  defaultClass: MessageClass
  classes: Record<MessageClass, XiaomiClass>
}

export function readSettings(certificate: Certificate): XiaomiSettings {
  const appSecret = requireWord(
    certificate.appSecret,
    'app_secret',
    'the App Secret of “application info” in the Xiaomi developer console',
  )
  const extra = readExtra(
    certificate.extra,
    { package_name: text, channel_id: idText, big_text: flag, big_picture: flag, pass_through: flag },
    { channel_id: idText, template_id: idText },
  )
  const packageName = extra.package_name ?? certificate.packageName?.trim()
  if (!packageName)
    throw new CertificateProblem(
      'extra.package_name is missing: Xiaomi delivers only to the package registered in its console',
    )
  if (!/^[A-Za-z]\w*(\.\w+)+$/.test(packageName))
    throw new CertificateProblem('extra.package_name must be an Android package name such as com.example.app')
  return {
    appSecret,
    packageName,
    channelId: extra.channel_id,
    bigText: extra.big_text ?? false,
    bigPicture: extra.big_picture ?? false,
    passThrough: extra.pass_through ?? false,
    limits: extra.limits,
    defaultClass: extra.defaultClass,
    classes: { service: classOf(extra.classes.service), marketing: classOf(extra.classes.marketing) },
  }
}

/**
 * 500 requests a second is the grant of applications with fewer than 100,000 reachable devices, the smallest one
 * (https://dev.mi.com/xiaomihyperos/documentation/detail?pId=1656). Larger grants are set as extra.limits. The day's quota
 * depends on the number of reachable devices, which only Xiaomi knows; its own refusal closes the day.
 */
export function limits({ limits }: XiaomiSettings): Limits {
  return { ...limits, requestsPerSecond: limits.requestsPerSecond ?? 500, timeZone: 'Asia/Shanghai' }
}

function classOf(read: { channel_id?: string; template_id?: string }): XiaomiClass {
  return { channelId: read.channel_id, templateId: read.template_id }
}
