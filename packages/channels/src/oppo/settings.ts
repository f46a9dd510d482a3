import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem, type Limits } from '../channel.ts'
import {
  categoryWord,
  type ExtraLimits,
  flag,
  idText,
  oneOf,
  readExtra,
  requireWord,
  text,
} from '../shared/extra.ts'

type OppoClass = {
  category?: string
  notifyLevel?: 1 | 2 | 16
  channelId?: string
  privateMsgTemplateId?: string
}

export type OppoSettings = {
  /** In receipts only; blank = not checked. */
  appId: string
  appKey: string
  masterSecret: string
  channelId?: string
  /** The paid add-on that lets a request name a picture's address. */
  pictureUrl: boolean
  /** Characters of a standard notice: 50 now, 200 in older contracts. */
  contentLimit: 50 | 200
  region: 'cn' | 'intl'
  limits: ExtraLimits
  defaultClass: MessageClass
  classes: Record<MessageClass, OppoClass>
}

export function readSettings(certificate: Certificate): OppoSettings {
  const extra = readExtra(
    certificate.extra,
    {
      client_app_secret: text,
      channel_id: idText,
      picture_url: flag,
      content_limit: oneOf(50, 200),
      region: oneOf('cn', 'intl'),
    },
    {
      category: categoryWord(32, 'an OPPO category in capitals, such as IM, ORDER or MARKETING'),
      notify_level: oneOf(1, 2, 16),
      channel_id: idText,
      private_msg_template_id: idText,
    },
  )
  const masterSecret = requireWord(
    certificate.appSecret,
    'app_secret',
    'the Master Secret of the OPPO push console',
  )
  if (masterSecret === extra.client_app_secret)
    throw new CertificateProblem(
      'app_secret is the same as extra.client_app_secret: app_secret holds the Master Secret, which never ships in an app',
    )
  return {
    appId: (certificate.appId ?? '').trim(),
    appKey: requireWord(certificate.appKey, 'app_key', 'the App Key of the OPPO push console'),
    masterSecret,
    channelId: extra.channel_id,
    pictureUrl: extra.picture_url ?? false,
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

/**
 * 5000 messages a second is the grant of applications with fewer than 10 million users, the smallest one. Larger grants are
 * set as extra.limits. The day's total of marketing messages depends on the number of users, which only OPPO knows; its own
 * refusal closes the day.
 */
export function limits({ limits }: OppoSettings): Limits {
  return { ...limits, devicesPerSecond: limits.devicesPerSecond ?? 5000, timeZone: 'Asia/Shanghai' }
}

function readClass(
  name: MessageClass,
  read: {
    category?: string
    notify_level?: 1 | 2 | 16
    channel_id?: string
    private_msg_template_id?: string
  },
): OppoClass {
  if (read.notify_level !== undefined && read.category === undefined)
    throw new CertificateProblem(
      `extra.classes.${name}.notify_level needs extra.classes.${name}.category: OPPO refuses one without the other`,
    )
  return {
    category: read.category,
    notifyLevel: read.notify_level,
    channelId: read.channel_id,
    privateMsgTemplateId: read.private_msg_template_id,
  }
}
