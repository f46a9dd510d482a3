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
    huawei: {
      setting: 'HERALD_HUAWEI_URL',
      about: { en: 'Huawei', zh: '华为' },
      url: 'https://push-api.cloud.huawei.com',
    },
    huaweiAuth: {
      setting: 'HERALD_HUAWEI_AUTH_URL',
      about: { en: 'Huawei’s token exchange', zh: '华为的令牌接口' },
      url: 'https://oauth-login.cloud.huawei.com',
    },
    // Huawei documents one host for all data storage locations; installations that were told another one set it.
    huaweiIntl: {
      setting: 'HERALD_HUAWEI_INTL_URL',
      about: { en: 'Huawei (overseas)', zh: '华为（海外）' },
      url: 'https://push-api.cloud.huawei.com',
      region: true,
    },
    huaweiIntlAuth: {
      setting: 'HERALD_HUAWEI_INTL_AUTH_URL',
      about: { en: 'Huawei’s token exchange (overseas)', zh: '华为的令牌接口（海外）' },
      url: 'https://oauth-login.cloud.huawei.com',
      region: true,
    },
  },
  credentials: [
    {
      fields: [
        {
          to: 'app_id',
          label: label.clientId,
          kind: 'text',
          flag: 'client-id',
          about: { en: 'client id (App ID)', zh: 'Client ID（即 App ID）' },
        },
        {
          to: 'app_key',
          label: label.projectId,
          kind: 'text',
          optional: true,
          flag: 'project-id',
          about: { en: 'project id; without it, v1 of the API is used', zh: '项目 ID；不填则使用 v1 接口' },
        },
        {
          to: 'app_secret',
          label: label.clientSecret,
          kind: 'text',
          secret: true,
          optional: true,
          flag: 'client-secret',
          about: { en: 'client secret', zh: 'Client Secret' },
        },
        {
          to: 'certificate',
          label: label.serviceAccount,
          kind: 'file',
          optional: true,
          flag: 'service-account',
          about: {
            en: 'JSON key file of a service account, needed for HarmonyOS 5 and later',
            zh: '服务账号的 JSON 密钥文件，HarmonyOS 5 及以上需要',
          },
          file: serviceAccountFile,
        },
        {
          to: 'extra.badge_class',
          label: label.badgeClass,
          kind: 'text',
          optional: true,
          about: { en: 'entry activity of the app, for badges', zh: '应用的入口 Activity，用于角标' },
        },
        {
          to: 'extra.receipt_id',
          label: { en: 'Receipt ID', zh: '回执 ID' },
          kind: 'text',
          optional: true,
          about: {
            en: 'id of a receipt configuration in AppGallery Connect',
            zh: 'AppGallery Connect 中回执配置的 ID',
          },
        },
        {
          to: 'extra.callback_user',
          label: { en: 'Receipt user name', zh: '回执用户名' },
          kind: 'text',
          optional: true,
          about: { en: 'user name of the receipt configuration', zh: '回执配置的用户名' },
        },
        {
          to: 'extra.callback_secret',
          label: { en: 'Receipt secret', zh: '回执密钥' },
          kind: 'text',
          secret: true,
          optional: true,
          about: {
            en: 'secret of the receipt configuration, which signs receipts',
            zh: '回执配置的密钥，用于回执签名',
          },
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
      about: {
        en: 'a Huawei message category such as IM, EXPRESS or MARKETING',
        zh: '华为的消息类别，如 IM、EXPRESS 或 MARKETING',
      },
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
        about: {
          en: 'Message category such as `IM` or `EXPRESS`; without one Huawei treats the message as marketing.',
          zh: '消息类别，如 `IM` 或 `EXPRESS`；不填时华为按资讯营销类处理。',
        },
      },
      importance: {
        type: 'choice',
        choices: ['LOW', 'NORMAL', 'HIGH'],
        choiceTexts: {
          ...importanceTexts,
          HIGH: { en: 'sent as NORMAL', zh: '按 NORMAL 发送' },
        },
        label: label.importance,
        about: {
          en: 'Android and HarmonyOS up to 4: `LOW` is silent. `HIGH` is sent as `NORMAL`: Huawei refuses it.',
          zh: '安卓和 HarmonyOS 4 及以下：`LOW` 为静默展示。`HIGH` 会被华为拒绝，因此按 `NORMAL` 发送。',
        },
      },
      urgency: {
        type: 'choice',
        choices: ['NORMAL', 'HIGH'],
        choiceTexts: {
          NORMAL: { en: 'may be delayed while the device sleeps', zh: '设备休眠时可能延迟' },
          HIGH: { en: 'delivered at once, with a permission from Huawei', zh: '立即送达，需华为授权' },
        },
        label: { en: 'Urgency', zh: '紧急程度' },
        about: {
          en: 'Of cmd messages. `HIGH` needs a permission from Huawei; without it the message is sent with `NORMAL`. Takes precedence over `message.urgent`.',
          zh: '用于 cmd 消息。`HIGH` 需华为授权，未授权时按 `NORMAL` 发送。优先于 `message.urgent`。',
        },
      },
      foreground_show: {
        type: 'flag',
        label: { en: 'Show while the app is in front', zh: '应用在前台时显示' },
        about: {
          en: 'Whether the notification is shown while the app is in front. Takes precedence over `message.foreground`.',
          zh: '应用在前台时是否显示通知。优先于 `message.foreground`。',
        },
      },
      click_page: {
        type: 'record',
        label: { en: 'Page to open on HarmonyOS', zh: 'HarmonyOS 点击后打开的页面' },
        about: {
          en: 'HarmonyOS 5 and later: the page that a tap opens, by `ability`, `uri` or both. Takes precedence over click_action there; Android ignores it.',
          zh: 'HarmonyOS 5 及以上：点击后打开的页面，用 `ability`、`uri` 之一或两者指定，在这些设备上优先于 click_action；安卓忽略此字段。',
        },
        fields: {
          ability: {
            type: 'text',
            maxLength: 256,
            label: { en: 'Action of the ability', zh: 'Ability 的 action' },
            about: {
              en: 'The action that the `skills` of the ability name, such as `com.example.action.order`. It is tried before `uri`.',
              zh: 'Ability 的 `skills` 中声明的 action，如 `com.example.action.order`，先于 `uri` 匹配。',
            },
          },
          uri: {
            type: 'text',
            maxLength: 1024,
            label: { en: 'URI of the ability', zh: 'Ability 的 URI' },
            about: {
              en: 'A URI that the `skills` of the ability name, such as `example://order/77`.',
              zh: 'Ability 的 `skills` 中声明的 URI，如 `example://order/77`。',
            },
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
        about: {
          en: 'Push type of HarmonyOS 5 and later: 0 = alert (default), 2 = voice broadcast, 6 = background (default of cmd), 10 = call. 2 and 10 need a permission from Huawei; without it a message with texts is sent as an alert. 1 (card) and 7 (live view) need fields that a message does not have, and are refused. Android ignores it.',
          zh: 'HarmonyOS 5 及以上的推送类型：0 = 通知消息（默认），2 = 语音播报消息，6 = 后台消息（cmd 的默认值），10 = 应用内通话消息。2 和 10 需华为授权，未授权时有文字的消息按通知消息发送。1（卡片刷新消息）和 7（实况窗消息）所需的字段在消息中没有，因此会被拒绝。安卓忽略此字段。',
        },
      },
    },
  },
  carries: {
    cmd: 'yes',
    big_text: 'yes',
    attachment_url: { is: 'yes', remark: { en: 'https addresses', zh: '仅限 https 地址' } },
    badge: { is: 'yes', remark: { en: 'with a badge class', zh: '须有角标入口类' } },
    sound: 'yes',
    channel_id: 'yes',
    intent: 'yes',
    url: {
      is: 'yes',
      remark: { en: 'https addresses; HarmonyOS: in the data', zh: '仅限 https 地址，HarmonyOS 放在数据中' },
    },
    collapse_key: 'yes',
    foreground: 'yes',
    urgent: { is: 'yes', remark: { en: 'of cmd messages, with a permission', zh: '仅限 cmd 消息，需授权' } },
  },
  // Huawei's limit in devices per second is monthly users × a factor by industry × 0.00072, and at least 6000. Only the minimum
  // is known here.
  limits: { tokensPerCall: 1000, devicesPerSecond: 6000, perDevicePerDay: 2, timeZone: 'Asia/Shanghai' },
  reportsReceipts: true,
  noteTexts,
  reasonKinds,
  recall: 'withdraw',
} as const satisfies Card
