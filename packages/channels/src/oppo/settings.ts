import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem } from '../channel.ts'
import { type ExtraLimits, idText, requireWord } from '../shared/extra.ts'
import { type ClassExtra, readCardExtra } from '../shared/from-card.ts'
import { card } from './card.ts'

type OppoClass = {
  category?: string
  notifyLevel?: 1 | 2 | 16
  channelId?: string
  privateMsgTemplateId?: string
}

export type OppoSettings = {
  appKey: string
  masterSecret: string
  channelId?: string
  /** The paid add-on for picture URLs in requests. */
  pictureUrl: boolean
  /** OPPO permits badges: messages that name none add one. */
  badge: boolean
  /** Maximum characters of a standard notification: 50, or 200 in older contracts. */
  contentLimit: 50 | 200
  region: 'cn' | 'intl'
  limits: ExtraLimits
  defaultClass: MessageClass
  classes: Record<MessageClass, OppoClass>
}

export function readSettings(certificate: Certificate): OppoSettings {
  const extra = readCardExtra(card, certificate.extra, { channel_id: idText })
  const masterSecret = requireWord(
    certificate.appSecret,
    'app_secret',
    'the Master Secret from the OPPO push console',
  )
  if (masterSecret === extra.client_app_secret)
    throw new CertificateProblem(
      'app_secret equals extra.client_app_secret: enter the Master Secret as app_secret, not the App Secret of the client SDK',
    )
  return {
    appKey: requireWord(certificate.appKey, 'app_key', 'the App Key from the OPPO push console'),
    masterSecret,
    channelId: extra.channel_id,
    pictureUrl: extra.picture_url ?? false,
    badge: extra.badge ?? false,
    contentLimit: extra.content_limit ?? 50,
    region: extra.region ?? 'cn',
    limits: extra.limits,
    defaultClass: extra.defaultClass,
    classes: {
      service: readClass('service', extra.classes.service),
      marketing: readClass('marketing', extra.classes.marketing),
    },
  }
}

function readClass(name: MessageClass, read: ClassExtra<typeof card>): OppoClass {
  if (read.notify_level !== undefined && read.category === undefined)
    throw new CertificateProblem(
      `extra.classes.${name}.notify_level needs extra.classes.${name}.category: OPPO refuses a level without a category`,
    )
  return {
    category: read.category,
    notifyLevel: read.notify_level,
    channelId: read.channel_id,
    privateMsgTemplateId: read.private_msg_template_id,
  }
}
