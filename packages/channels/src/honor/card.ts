import type { Card } from '../card.ts'
import { badgeClassField, importanceTexts, label, targetUserTypeField } from '../card-parts.ts'
import { noteTexts } from './card-notes.ts'
import { reasonKinds } from './card-reasons.ts'

export const card = {
  name: 'honor',
  provider: 8,
  title: { en: 'Honor', zh: '荣耀' },
  inUps: true,
  defaultPlatform: 'android',
  addresses: {
    honor: {
      setting: 'HERALD_HONOR_URL',
      about: { en: 'Honor', zh: '荣耀' },
      url: 'https://push-api.cloud.honor.com',
    },
    honorAuth: {
      setting: 'HERALD_HONOR_AUTH_URL',
      about: { en: 'Honor’s token exchange', zh: '荣耀的令牌接口' },
      url: 'https://iam.developer.honor.com',
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
          about: { en: 'app id', zh: 'App ID' },
        },
        {
          to: 'app_key',
          label: label.clientId,
          kind: 'text',
          flag: 'client-id',
          about: { en: 'client id', zh: 'Client ID' },
        },
        {
          to: 'app_secret',
          label: label.clientSecret,
          kind: 'text',
          secret: true,
          flag: 'client-secret',
          about: { en: 'client secret', zh: 'Client Secret' },
        },
        {
          to: 'extra.badge_class',
          label: label.badgeClass,
          kind: 'text',
          optional: true,
          about: { en: 'entry activity of the app, for badges', zh: '应用的入口 Activity，用于角标' },
        },
        targetUserTypeField,
      ],
      example: '--app-id 104 --client-id 9a1b --client-secret-file secret.txt',
    },
  ],
  classFields: { importance: { type: 'choice', choices: ['LOW', 'NORMAL'] } },
  message: {
    object: 'honor',
    android: true,
    fields: {
      badge_class: badgeClassField,
      importance: {
        type: 'choice',
        choices: ['LOW', 'NORMAL'],
        choiceTexts: importanceTexts,
        label: label.importance,
      },
    },
  },
  carries: {
    cmd: 'yes',
    big_text: 'yes',
    attachment_url: {
      is: 'yes',
      remark: { en: 'https addresses, service messages', zh: '仅限 https 地址和服务类消息' },
    },
    badge: { is: 'yes', remark: { en: 'with a badge class', zh: '须有角标入口类' } },
    sound: 'no',
    channel_id: 'no',
    intent: 'yes',
    url: 'yes',
    collapse_key: 'yes',
    foreground: 'no',
    urgent: 'no',
  },
  // Aggregators report 3000 devices per second and app; Honor documents no limit.
  limits: { tokensPerCall: 1000, devicesPerSecond: 3000, perDevicePerDay: 2, timeZone: 'Asia/Shanghai' },
  reportsReceipts: true,
  noteTexts,
  reasonKinds,
  recall: 'replace',
} as const satisfies Card
