import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem } from '../channel.ts'
import { type ExtraLimits, flag, idText, requireWord } from '../shared/extra.ts'
import { type ClassExtra, readCardExtra } from '../shared/from-card.ts'
import { card } from './card.ts'

type XiaomiClass = { channelId?: string; templateId?: string }

export type XiaomiSettings = {
  appSecret: string
  packageName: string
  /** Channel for messages whose class has none. */
  channelId?: string
  bigText: boolean
  /** Accepted for certificates saved before Xiaomi discontinued large pictures; it has no effect. */
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
    'the App Secret from “application info” in the Xiaomi developer console',
  )
  const extra = readCardExtra(card, certificate.extra, { channel_id: idText, big_picture: flag })
  const packageName = extra.package_name ?? certificate.packageName?.trim()
  if (!packageName)
    throw new CertificateProblem(
      'extra.package_name is missing: enter the package registered in the Xiaomi console',
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

function classOf(read: ClassExtra<typeof card>): XiaomiClass {
  return { channelId: read.channel_id, templateId: read.template_id }
}
