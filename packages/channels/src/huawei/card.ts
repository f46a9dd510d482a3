import type { Card } from '../card.ts'
import {
  badgeClassField,
  label,
  regionField,
  regions,
  serviceAccountFile,
  targetUserTypeField,
} from '../card-parts.ts'

export const card = {
  name: 'huawei',
  provider: 2,
  title: { en: 'Huawei', zh: '华为' },
  inUps: true,
  defaultPlatform: 'android',
  separatesHarmony: true,
  regions,
  addresses: {
    huawei: { setting: 'HERALD_HUAWEI_URL', about: 'Huawei', url: 'https://push-api.cloud.huawei.com' },
    huaweiAuth: {
      setting: 'HERALD_HUAWEI_AUTH_URL',
      about: 'Huawei’s token exchange',
      url: 'https://oauth-login.cloud.huawei.com',
    },
    // Huawei documents one host for all data storage locations; installations that were told another one set it.
    huaweiIntl: {
      setting: 'HERALD_HUAWEI_INTL_URL',
      about: 'Huawei (overseas)',
      url: 'https://push-api.cloud.huawei.com',
      region: true,
    },
    huaweiIntlAuth: {
      setting: 'HERALD_HUAWEI_INTL_AUTH_URL',
      about: 'Huawei’s token exchange (overseas)',
      url: 'https://oauth-login.cloud.huawei.com',
      region: true,
    },
  },
  credentials: [
    {
      fields: [
        { to: 'app_id', label: label.clientId, kind: 'text', flag: 'client-id', about: 'client id (App ID)' },
        {
          to: 'app_key',
          label: label.projectId,
          kind: 'text',
          optional: true,
          flag: 'project-id',
          about: 'project id; without it, v1 of the API is used',
        },
        {
          to: 'app_secret',
          label: label.clientSecret,
          kind: 'text',
          secret: true,
          optional: true,
          flag: 'client-secret',
          about: 'client secret',
        },
        {
          to: 'certificate',
          label: label.serviceAccount,
          kind: 'file',
          optional: true,
          flag: 'service-account',
          about: 'JSON key file of a service account, needed for HarmonyOS 5 and later',
          file: serviceAccountFile,
        },
        {
          to: 'extra.badge_class',
          label: label.badgeClass,
          kind: 'text',
          optional: true,
          about: 'entry activity of the app, for badges',
        },
        {
          to: 'extra.receipt_id',
          label: { en: 'Receipt ID', zh: '回执 ID' },
          kind: 'text',
          optional: true,
          about: 'id of a receipt configuration in AppGallery Connect',
        },
        {
          to: 'extra.callback_user',
          label: { en: 'Receipt user name', zh: '回执用户名' },
          kind: 'text',
          optional: true,
          about: 'user name of the receipt configuration',
        },
        {
          to: 'extra.callback_secret',
          label: { en: 'Receipt secret', zh: '回执密钥' },
          kind: 'text',
          secret: true,
          optional: true,
          about: 'secret of the receipt configuration, which signs receipts',
        },
        targetUserTypeField,
        regionField,
      ],
      example: '--client-id 104 --project-id 736 --client-secret-file secret.txt',
    },
  ],
  classFields: {
    category: {
      type: 'category',
      maxLength: 64,
      about: 'a Huawei message category such as IM, EXPRESS or MARKETING',
    },
    importance: { type: 'choice', choices: ['LOW', 'NORMAL', 'HIGH'] },
  },
  message: {
    object: 'huawei',
    android: true,
    inheritsChannel: true,
    fields: {
      badge_class: badgeClassField,
      category: {
        type: 'text',
        label: label.category,
        about:
          'Message category such as `IM` or `EXPRESS`; without one Huawei treats the message as marketing.',
      },
      importance: {
        type: 'choice',
        choices: ['LOW', 'NORMAL', 'HIGH'],
        label: label.importance,
        about:
          'Android and HarmonyOS up to 4: `LOW` is silent. `HIGH` needs a permission from Huawei; without it the message is sent with `NORMAL`.',
      },
      urgency: {
        type: 'choice',
        choices: ['NORMAL', 'HIGH'],
        label: { en: 'Urgency', zh: '紧急程度' },
        about:
          'Of cmd messages. `HIGH` needs a permission from Huawei; without it the message is sent with `NORMAL`.',
      },
    },
  },
  // Huawei's limit in devices per second is monthly users × a factor by industry × 0.00072, and at least 6000. Only the minimum
  // is known here.
  limits: { tokensPerCall: 1000, devicesPerSecond: 6000, perDevicePerDay: 2, timeZone: 'Asia/Shanghai' },
  reportsReceipts: true,
} as const satisfies Card
