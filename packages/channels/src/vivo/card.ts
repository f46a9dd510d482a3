import type { Card } from '../card.ts'
import { label } from '../card-parts.ts'
import { noteTexts } from './card-notes.ts'
import { reasonKinds } from './card-reasons.ts'

export const card = {
  name: 'vivo',
  provider: 5,
  title: { en: 'vivo', zh: 'vivo' },
  inUps: true,
  defaultPlatform: 'android',
  addresses: {
    vivo: { setting: 'HERALD_VIVO_URL', about: 'vivo', url: 'https://api-push.vivo.com.cn' },
  },
  credentials: [
    {
      fields: [
        { to: 'app_id', label: label.appId, kind: 'text', flag: 'app-id', about: 'App ID' },
        { to: 'app_key', label: label.appKey, kind: 'text', flag: 'app-key', about: 'App Key' },
        {
          to: 'app_secret',
          label: label.appSecret,
          kind: 'text',
          secret: true,
          flag: 'app-secret',
          about: 'App Secret',
        },
        {
          to: 'extra.callback_id',
          label: { en: 'Callback ID', zh: '回调 ID' },
          kind: 'text',
          optional: true,
          about: 'id of a receipt address entered in the vivo console; list sends have no other receipts',
        },
        {
          to: 'extra.badge',
          label: { en: 'Badge permission', zh: '角标权限' },
          kind: 'flag',
          optional: true,
          about: 'vivo has granted the badge permission: messages without a badge of their own add one',
        },
      ],
      example: '--app-id 105 --app-key 41ab --app-secret-file secret.txt',
    },
  ],
  classFields: {
    classification: { type: 'choice', choices: [0, 1] },
    category: {
      type: 'category',
      maxLength: 64,
      about: 'a vivo category in capitals, such as IM, ORDER or MARKETING',
    },
  },
  message: {
    object: 'vivo',
    android: true,
    fields: {
      push_mode: {
        type: 'choice',
        choices: [0, 1],
        choiceTexts: {
          0: { en: 'production (default)', zh: '正式推送（默认）' },
          1: { en: 'test', zh: '测试推送' },
        },
        label: { en: 'Push mode', zh: '推送模式' },
        about: '0 = production push, 1 = test push (default 0).',
      },
      classification: {
        type: 'choice',
        choices: [0, 1],
        choiceTexts: {
          0: { en: 'marketing (default)', zh: '运营消息（默认）' },
          1: { en: 'system message', zh: '系统消息' },
        },
        label: { en: 'Classification', zh: '消息分类' },
        about: '0 = operational message, 1 = system message (default 0).',
      },
      category: { type: 'text', label: label.category },
    },
  },
  carries: {
    cmd: 'no',
    big_text: { is: 'no', remark: 'shown if body is blank' },
    attachment_url: 'app',
    badge: { is: 'yes', remark: 'adds 1 if the message sets it, with a permission' },
    sound: { is: 'yes', remark: 'on or off' },
    channel_id: 'no',
    intent: 'yes',
    url: 'yes',
    collapse_key: 'yes',
    foreground: 'yes',
    urgent: 'no',
  },
  texts: { title: 40, body: 100 },
  // 3000 messages per second is the limit of applications with up to 5 million effective users
  // (https://dev.vivo.com.cn/documentCenter/doc/362).
  limits: { tokensPerCall: 1000, devicesPerSecond: 3000, perDevicePerDay: 2, timeZone: 'Asia/Shanghai' },
  reportsReceipts: true,
  noteTexts,
  reasonKinds,
  recall: 'replace',
} as const satisfies Card
