import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem, type Limits } from '../channel.ts'
import { categoryWord, type ExtraLimits, oneOf, readExtra, requireField, text } from '../shared/extra.ts'
import { readServiceAccount, type ServiceAccount } from './service-account.ts'

export type HuaweiSettings = {
  /** Client id and secret open v1 and v2, which reach Android, EMUI and HarmonyOS up to 4. */
  classic?: { clientId: string; clientSecret: string; projectId?: string }
  /** A service account opens v3, which reaches HarmonyOS 5 and later. */
  next?: ServiceAccount
  clientId?: string
  badgeClass?: string
  receiptId?: string
  targetUserType?: 0 | 1
  /** Signs receipts. */
  callback?: { user: string; secret: string }
  limits: ExtraLimits
  defaultClass: MessageClass
  classes: Record<MessageClass, HuaweiClass>
}

type HuaweiClass = { category?: string; importance?: 'LOW' | 'NORMAL' | 'HIGH' }

export function readSettings(certificate: Certificate): HuaweiSettings {
  const extra = readExtra(
    certificate.extra,
    {
      badge_class: text,
      receipt_id: text,
      callback_user: text,
      callback_secret: text,
      target_user_type: oneOf(0, 1),
    },
    {
      category: categoryWord(64, 'a Huawei message category such as IM, EXPRESS or MARKETING'),
      importance: oneOf('LOW', 'NORMAL', 'HIGH'),
    },
  )
  const clientSecret = certificate.appSecret.trim()
  const next = certificate.certificate.trim() ? readServiceAccount(certificate.certificate) : undefined
  if (!clientSecret && !next)
    throw new CertificateProblem(
      'app_secret is missing: it holds the client secret of AppGallery Connect; certificate may hold a service-account JSON instead',
    )
  const clientId =
    clientSecret || certificate.appId.trim()
      ? requireField(certificate.appId, 'app_id', 'the client id (App ID) of AppGallery Connect')
      : undefined
  if (clientId !== undefined && !/^[0-9]{1,64}$/.test(clientId))
    throw new CertificateProblem('app_id must be the client id (App ID) of AppGallery Connect: digits only')
  const projectId = certificate.appKey.trim() || undefined
  if (projectId !== undefined && !/^[A-Za-z0-9_-]{1,64}$/.test(projectId))
    throw new CertificateProblem('app_key must be the project id of AppGallery Connect, or blank')
  if (!extra.callback_user !== !extra.callback_secret)
    throw new CertificateProblem(
      'extra.callback_user and extra.callback_secret belong together: set both as in AppGallery Connect, or neither',
    )
  return {
    classic: clientSecret ? { clientId: clientId!, clientSecret, projectId } : undefined,
    next,
    clientId,
    badgeClass: extra.badge_class,
    receiptId: extra.receipt_id,
    targetUserType: extra.target_user_type,
    callback: extra.callback_user ? { user: extra.callback_user, secret: extra.callback_secret! } : undefined,
    limits: extra.limits,
    defaultClass: extra.defaultClass,
    classes: extra.classes,
  }
}

/**
 * Huawei counts devices a second: monthly users x a weight by trade x 0.00072, and never less than 6000. Only the floor can
 * be known here; an operator with a higher allowance says so in extra.limits.
 */
const floorDevicesPerSecond = 6000

export function limits({ limits }: HuaweiSettings): Limits {
  const devicesPerSecond = limits.devicesPerSecond ?? floorDevicesPerSecond
  return { ...limits, devicesPerSecond, timeZone: 'Asia/Shanghai' }
}
