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
    honor: { setting: 'HERALD_HONOR_URL', about: 'Honor', url: 'https://push-api.cloud.honor.com' },
    honorAuth: {
      setting: 'HERALD_HONOR_AUTH_URL',
      about: 'Honor’s token exchange',
      url: 'https://iam.developer.honor.com',
    },
  },
  credentials: [
    {
      fields: [
        { to: 'app_id', label: label.appId, kind: 'text', flag: 'app-id', about: 'app id' },
        { to: 'app_key', label: label.clientId, kind: 'text', flag: 'client-id', about: 'client id' },
        {
          to: 'app_secret',
          label: label.clientSecret,
          kind: 'text',
          secret: true,
          flag: 'client-secret',
          about: 'client secret',
        },
        {
          to: 'extra.badge_class',
          label: label.badgeClass,
          kind: 'text',
          optional: true,
          about: 'entry activity of the app, for badges',
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
    attachment_url: { is: 'yes', remark: 'https addresses, service messages' },
    badge: { is: 'yes', remark: 'with a badge class' },
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
