import type { NewCertificate } from '@herald/db/certificates'
import type { VendorChannel } from '@herald/domain'
import type { DemoCredentials } from './credentials.ts'

export const packageName = 'com.example.herald'
export const fcmEmail = ({ projectId }: DemoCredentials['fcm']) =>
  `firebase-adminsdk@${projectId}.iam.gserviceaccount.com`

type Fields = Pick<NewCertificate, 'appId' | 'appKey' | 'appSecret' | 'certificate' | 'extra'>

/** Messages of this class are open around the clock and not capped per device, so that the demo works at any hour. */
const service = { default_class: 'service' }

/** What an operator would copy from each vendor's console, if the console were real. */
export const certificateFields: Record<VendorChannel, (credentials: DemoCredentials) => Fields> = {
  apns: ({ apns }) => ({
    appId: packageName,
    appKey: apns.keyId,
    appSecret: apns.teamId,
    certificate: apns.key,
    extra: service,
  }),
  huawei: ({ huawei }) => ({
    appId: huawei.clientId,
    appKey: huawei.projectId,
    appSecret: huawei.clientSecret,
    certificate: JSON.stringify({
      project_id: huawei.projectId,
      key_id: huawei.account.keyId,
      private_key: huawei.account.key,
      sub_account: huawei.account.subAccount,
    }),
    extra: {
      ...service,
      badge_class: `${packageName}.MainActivity`,
      callback_user: huawei.callbackUser,
      callback_secret: huawei.callbackKey,
    },
  }),
  xiaomi: ({ xiaomi }) => ({
    appId: xiaomi.appId,
    appKey: xiaomi.appKey,
    appSecret: xiaomi.appSecret,
    certificate: '',
    extra: { ...service, package_name: packageName, big_text: true, big_picture: true },
  }),
  meizu: ({ meizu }) => ({
    appId: meizu.appId,
    appKey: meizu.appKey,
    appSecret: meizu.appSecret,
    certificate: '',
    extra: {
      ...service,
      receipt_registered: true,
      receipt_token: meizu.receiptToken,
      // The vendor's usual grant of 200 a second would make a larger audience crawl for no reason here.
      limits: { devices_per_s: 5000 },
    },
  }),
  vivo: ({ vivo }) => ({
    appId: vivo.appId,
    appKey: vivo.appKey,
    appSecret: vivo.appSecret,
    certificate: '',
    extra: { ...service, callback_id: vivo.callbackId },
  }),
  oppo: ({ oppo }) => ({
    appId: oppo.appId,
    appKey: oppo.appKey,
    appSecret: oppo.masterSecret,
    certificate: '',
    extra: { ...service, client_app_secret: oppo.clientSecret },
  }),
  fcm: ({ fcm }) => ({
    appId: fcm.projectId,
    appKey: '',
    appSecret: '',
    certificate: JSON.stringify({
      type: 'service_account',
      project_id: fcm.projectId,
      private_key_id: fcm.keyId,
      private_key: fcm.key,
      client_email: fcmEmail(fcm),
      token_uri: 'https://oauth2.googleapis.com/token',
    }),
    extra: service,
  }),
  honor: ({ honor }) => ({
    appId: honor.appId,
    appKey: honor.clientId,
    appSecret: honor.clientSecret,
    certificate: '',
    extra: { ...service, badge_class: `${packageName}.MainActivity` },
  }),
}
