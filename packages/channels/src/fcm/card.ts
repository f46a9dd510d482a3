import type { Card } from '../card.ts'
import { label, serviceAccountFile } from '../card-parts.ts'
import { checkFields } from './card-check.ts'
import { reasonKinds } from './card-reasons.ts'

export const card = {
  name: 'fcm',
  provider: 7,
  title: { en: 'FCM', zh: 'FCM' },
  defaultPlatform: 'android',
  addresses: {
    fcm: { setting: 'HERALD_FCM_URL', about: { en: 'FCM', zh: 'FCM' }, url: 'https://fcm.googleapis.com' },
    fcmToken: {
      setting: 'HERALD_FCM_TOKEN_URL',
      about: { en: 'Google’s token exchange', zh: 'Google 的令牌接口' },
      url: 'https://oauth2.googleapis.com',
    },
  },
  credentials: [
    {
      fields: [
        {
          to: 'app_id',
          label: label.projectId,
          kind: 'text',
          optional: true,
          flag: 'project-id',
          about: {
            en: 'project id (default: the one in the JSON file)',
            zh: '项目 ID（默认取 JSON 文件中的值）',
          },
        },
        {
          to: 'certificate',
          label: label.serviceAccount,
          kind: 'file',
          flag: 'service-account',
          about: { en: 'JSON key file of a service account', zh: '服务账号的 JSON 密钥文件' },
          file: serviceAccountFile,
        },
        {
          to: 'extra.package_name',
          label: label.packageName,
          kind: 'text',
          optional: true,
          about: { en: 'tokens must belong to this Android package', zh: '令牌必须属于这个包名的安卓应用' },
        },
      ],
      example: '--service-account service-account.json',
    },
  ],
  classFields: {},
  message: {
    object: 'fcm',
    android: true,
    inheritsChannel: true,
    check: checkFields,
    fields: {
      priority: {
        type: 'choice',
        choices: ['HIGH', 'NORMAL', 'high', 'normal'],
        choiceTexts: {
          HIGH: { en: 'wakes the device', zh: '唤醒设备，立即送达' },
          NORMAL: { en: 'may be delayed while the device sleeps', zh: '设备休眠时可能延迟' },
        },
        label: { en: 'Priority', zh: '优先级（priority）' },
        about: {
          en: 'Android priority: HIGH wakes the device (default HIGH for notifications, NORMAL for cmd messages unless they are urgent).',
          zh: '安卓优先级：HIGH 会唤醒设备（通知默认为 HIGH；cmd 消息默认为 NORMAL，紧急消息除外）。',
        },
      },
      collapse_key: {
        type: 'text',
        maxLength: 255,
        label: { en: 'Collapse key', zh: '折叠键（collapse_key）' },
        about: {
          en: 'While the device is offline only the newest message with the same key is kept; at most 4 keys at a time per device. To replace a shown notification use message.collapse_key.',
          zh: '设备离线期间，键相同的消息只保留最新一条；每台设备同时最多 4 个键。要替换已显示的通知，请用 message.collapse_key。',
        },
      },
      analytics_label: {
        type: 'text',
        matches: {
          pattern: '[a-zA-Z0-9_.~%-]{1,50}',
          error: 'must have 1 to 50 letters, digits or characters of -_.~%',
        },
        label: { en: 'Analytics label', zh: '统计标签（analytics_label）' },
        about: {
          en: 'Label in Firebase’s statistics; 100 different ones per day.',
          zh: 'Firebase 统计中的标签；每天最多 100 个不同的标签。',
        },
      },
      icon: {
        type: 'text',
        maxLength: 255,
        label: { en: 'Icon', zh: '图标（icon）' },
        about: { en: 'Name of a drawable resource of the app.', zh: '应用中 drawable 资源的名称。' },
      },
      color: {
        type: 'text',
        matches: { pattern: '#[0-9a-fA-F]{6}', error: 'must be a color of the form #rrggbb' },
        label: { en: 'Color', zh: '颜色（color）' },
        about: { en: 'Color of the icon, `#rrggbb`.', zh: '图标颜色，格式为 `#rrggbb`。' },
      },
    },
  },
  carries: {
    cmd: 'yes',
    big_text: { is: 'no', remark: { en: 'shown if body is blank', zh: '正文为空时显示' } },
    attachment_url: { is: 'yes', remark: { en: 'https addresses', zh: '仅限 https 地址' } },
    badge: {
      is: 'yes',
      remark: { en: 'a number above 0; it cannot add', zh: '只能设为大于 0 的数字，不能累加' },
    },
    sound: 'yes',
    channel_id: 'yes',
    intent: { is: 'yes', remark: { en: 'by its `action=`', zh: '按其中的 `action=` 打开' } },
    url: 'app',
    collapse_key: 'yes',
    foreground: 'app',
    urgent: { is: 'yes', remark: { en: 'of cmd messages', zh: '仅限 cmd 消息' } },
  },
  // https://firebase.google.com/docs/cloud-messaging/throttling-and-quotas: 600,000 messages per minute and project
  limits: { tokensPerCall: 1000, onePerDevice: true, requestsPerSecond: 10_000, timeZone: 'UTC' },
  separatesIos: true,
  referenceLibrary: 'firebase-admin',
  reasonKinds,
  recall: 'replace',
} as const satisfies Card
