import type { Card, CheckFields } from '../card.ts'
import {
  badgeClassField,
  importanceTexts,
  label,
  regionField,
  regions,
  serviceAccountFile,
  targetUserTypeField,
} from '../card-parts.ts'
import { noteTexts } from './card-notes.ts'
import { reasonKinds } from './card-reasons.ts'

const checkFields: CheckFields = ({ harmony_push_type: pushType, category, click_page: page }, { type }) => {
  if (pushType === 1 || pushType === 7)
    return {
      field: 'harmony_push_type',
      problem: `cannot be ${pushType} (${pushType === 1 ? 'card' : 'live view'}): a message does not have the fields that it needs`,
    }
  if ((pushType === 0 || pushType === 2) && type === 'cmd')
    return {
      field: 'harmony_push_type',
      problem: `cannot be ${pushType}, which shows a notification, if type is cmd`,
    }
  if (pushType === 2 && category !== undefined && category !== 'PLAY_VOICE')
    return {
      field: 'harmony_push_type',
      problem: `cannot be 2 (voice broadcast) if category is ${category}: it has the category PLAY_VOICE only`,
    }
  if (page !== undefined && Object.values(page as object).every((value) => value === undefined))
    return { field: 'click_page', problem: 'must have ability or uri' }
  return undefined
}

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
      oneNeeded: ['app_secret', 'certificate'],
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
    check: checkFields,
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
        choiceTexts: {
          ...importanceTexts,
          HIGH: { en: 'important, with a permission from Huawei', zh: '重要消息，需华为授权' },
        },
        label: label.importance,
        about:
          'Android and HarmonyOS up to 4: `LOW` is silent. `HIGH` needs a permission from Huawei; without it the message is sent with `NORMAL`.',
      },
      urgency: {
        type: 'choice',
        choices: ['NORMAL', 'HIGH'],
        choiceTexts: {
          NORMAL: { en: 'may be delayed while the device sleeps', zh: '设备休眠时可能延迟' },
          HIGH: { en: 'delivered at once, with a permission from Huawei', zh: '立即送达，需华为授权' },
        },
        label: { en: 'Urgency', zh: '紧急程度' },
        about:
          'Of cmd messages. `HIGH` needs a permission from Huawei; without it the message is sent with `NORMAL`. Takes precedence over `message.urgent`.',
      },
      foreground_show: {
        type: 'flag',
        label: { en: 'Show while the app is in front', zh: '应用在前台时显示' },
        about:
          'Whether the notification is shown while the app is in front. Takes precedence over `message.foreground`.',
      },
      click_page: {
        type: 'record',
        label: { en: 'Page to open on HarmonyOS', zh: 'HarmonyOS 点击后打开的页面' },
        about:
          'HarmonyOS 5 and later: the page that a tap opens, by `ability`, `uri` or both. Takes precedence over click_action there; Android ignores it.',
        fields: {
          ability: {
            type: 'text',
            maxLength: 256,
            label: { en: 'Action of the ability', zh: 'Ability 的 action' },
            about:
              'The action that the `skills` of the ability name, such as `com.example.action.order`. It is tried before `uri`.',
          },
          uri: {
            type: 'text',
            maxLength: 1024,
            label: { en: 'URI of the ability', zh: 'Ability 的 URI' },
            about: 'A URI that the `skills` of the ability name, such as `example://order/77`.',
          },
        },
      },
      harmony_push_type: {
        type: 'choice',
        choices: [0, 1, 2, 6, 7, 10],
        choiceTexts: {
          0: { en: 'alert (default)', zh: '通知消息（默认）' },
          2: { en: 'voice broadcast', zh: '语音播报消息' },
          6: { en: 'background', zh: '后台消息' },
          10: { en: 'call', zh: '应用内通话消息' },
        },
        label: { en: 'HarmonyOS push type', zh: 'HarmonyOS 推送类型' },
        about:
          'Push type of HarmonyOS 5 and later: 0 = alert (default), 2 = voice broadcast, 6 = background (default of cmd), 10 = call. 2 and 10 need a permission from Huawei; without it a message with texts is sent as an alert. 1 (card) and 7 (live view) need fields that a message does not have, and are refused. Android ignores it.',
      },
    },
  },
  carries: {
    cmd: 'yes',
    big_text: 'yes',
    attachment_url: { is: 'yes', remark: 'https addresses' },
    badge: { is: 'yes', remark: 'with a badge class' },
    sound: 'yes',
    channel_id: 'yes',
    intent: 'yes',
    url: { is: 'yes', remark: 'https addresses; HarmonyOS: in the data' },
    collapse_key: 'yes',
    foreground: 'yes',
    urgent: { is: 'yes', remark: 'of cmd messages, with a permission' },
  },
  // Huawei's limit in devices per second is monthly users × a factor by industry × 0.00072, and at least 6000. Only the minimum
  // is known here.
  limits: { tokensPerCall: 1000, devicesPerSecond: 6000, perDevicePerDay: 2, timeZone: 'Asia/Shanghai' },
  reportsReceipts: true,
  noteTexts,
  reasonKinds,
  recall: 'withdraw',
} as const satisfies Card
