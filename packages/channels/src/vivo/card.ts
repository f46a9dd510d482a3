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
    vivo: {
      setting: 'HERALD_VIVO_URL',
      about: { en: 'vivo', zh: 'vivo' },
      url: 'https://api-push.vivo.com.cn',
    },
  },
  credentials: [
    {
      fields: [
        {
          to: 'app_id',
          label: label.appId,
          kind: 'text',
          flag: 'app-id',
          about: { en: 'App ID', zh: 'App ID' },
        },
        {
          to: 'app_key',
          label: label.appKey,
          kind: 'text',
          flag: 'app-key',
          about: { en: 'App Key', zh: 'App Key' },
        },
        {
          to: 'app_secret',
          label: label.appSecret,
          kind: 'text',
          secret: true,
          flag: 'app-secret',
          about: { en: 'App Secret', zh: 'App Secret' },
        },
        {
          to: 'extra.callback_id',
          label: { en: 'Callback ID', zh: '回调 ID' },
          kind: 'text',
          optional: true,
          about: {
            en: 'id of a receipt address entered in the vivo console; list sends have no other receipts',
            zh: '在 vivo 推送平台填写的回执地址的 ID；群推只能这样获得回执',
          },
        },
        {
          to: 'extra.badge',
          label: { en: 'Badge permission', zh: '角标权限' },
          kind: 'flag',
          optional: true,
          about: {
            en: 'vivo has granted the badge permission: messages without a badge of their own add one',
            zh: 'vivo 已授予角标权限：未指定角标的消息加 1',
          },
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
      about: {
        en: 'a vivo category in capitals, such as IM, ORDER or MARKETING',
        zh: 'vivo 的消息类别，大写，如 IM、ORDER 或 MARKETING',
      },
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
        about: {
          en: '0 = production push, 1 = test push (default 0).',
          zh: '0 = 正式推送，1 = 测试推送（默认 0）。',
        },
      },
      classification: {
        type: 'choice',
        choices: [0, 1],
        choiceTexts: {
          0: { en: 'operational message', zh: '运营消息' },
          1: { en: 'system message', zh: '系统消息' },
        },
        label: { en: 'Classification', zh: '消息分类' },
        about: {
          en: '0 = operational message, 1 = system message. By default 1 for `service` and 0 for `marketing`, unless the certificate says otherwise.',
          zh: '0 = 运营消息，1 = 系统消息。默认 `service` 为 1，`marketing` 为 0，除非通道配置另有设置。',
        },
      },
      category: { type: 'text', label: label.category },
    },
  },
  carries: {
    cmd: 'no',
    big_text: { is: 'no', remark: { en: 'shown if body is blank', zh: '正文为空时显示' } },
    attachment_url: 'app',
    badge: {
      is: 'yes',
      remark: { en: 'adds 1 if the message sets it, with a permission', zh: '消息指定时加 1，需授权' },
    },
    sound: { is: 'yes', remark: { en: 'on or off', zh: '只能开启或关闭' } },
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
