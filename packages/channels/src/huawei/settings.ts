import type { MessageClass } from '@herald/domain'
import { type Certificate, CertificateProblem } from '../channel.ts'
import { type ExtraLimits, requireField } from '../shared/extra.ts'
import { type ClassExtra, readCardExtra } from '../shared/from-card.ts'
import { card } from './card.ts'
import { readServiceAccount, type ServiceAccount } from './service-account.ts'

/** At least one of `client` and `account` is set. */
export type HuaweiSettings = {
  /** OAuth client for v1 and v2, which reach Android, EMUI and HarmonyOS up to 4. Without one they get the JWT of `account`. */
  client?: OAuthClient
  /** Signs the JWT of v3, which reaches HarmonyOS 5 and later. */
  account?: ServiceAccount
  /** Names the app in the path of v1; HarmonyOS messages are withdrawn there, whatever the login. */
  clientId?: string
  region: 'cn' | 'intl'
  badgeClass?: string
  receiptId?: string
  targetUserType?: 0 | 1
  /** Verifies the signature of receipts. */
  callback?: { user: string; secret: string }
  limits: ExtraLimits
  defaultClass: MessageClass
  classes: Record<MessageClass, ClassExtra<typeof card>>
}

/** With a project id requests go to v2, otherwise to v1. */
export type OAuthClient = { clientId: string; clientSecret: string; projectId?: string }

export function readSettings(certificate: Certificate): HuaweiSettings {
  const extra = readCardExtra(card, certificate.extra, {})
  const clientSecret = certificate.appSecret.trim()
  const account = certificate.certificate.trim() ? readServiceAccount(certificate.certificate) : undefined
  if (!clientSecret && !account)
    throw new CertificateProblem(
      'app_secret is missing: enter the client secret from AppGallery Connect, or a service-account JSON as certificate',
    )
  const clientId =
    clientSecret || certificate.appId.trim()
      ? requireField(certificate.appId, 'app_id', 'the client id (App ID) from AppGallery Connect')
      : undefined
  if (clientId !== undefined && !/^[0-9]{1,64}$/.test(clientId))
    throw new CertificateProblem('app_id must be the client id (App ID) from AppGallery Connect, digits only')
  const projectId = certificate.appKey.trim() || undefined
  if (projectId !== undefined && !/^[A-Za-z0-9_-]{1,64}$/.test(projectId))
    throw new CertificateProblem('app_key must be the project id from AppGallery Connect, or empty')
  if (!extra.callback_user !== !extra.callback_secret)
    throw new CertificateProblem(
      'extra.callback_user and extra.callback_secret must be set together, as in AppGallery Connect, or not at all',
    )
  return {
    client: clientSecret ? { clientId: clientId!, clientSecret, projectId } : undefined,
    account,
    clientId,
    region: extra.region ?? 'cn',
    badgeClass: extra.badge_class,
    receiptId: extra.receipt_id,
    targetUserType: extra.target_user_type,
    callback: extra.callback_user ? { user: extra.callback_user, secret: extra.callback_secret! } : undefined,
    limits: extra.limits,
    defaultClass: extra.defaultClass,
    classes: extra.classes,
  }
}
