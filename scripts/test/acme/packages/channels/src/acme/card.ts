import type { Card } from '../card.ts'
import { label } from '../card-parts.ts'

const fuses = ['short', 'long'] as const
const fuseTexts = {
  short: { en: 'burns at once', zh: '立即引爆' },
  long: { en: 'burns slowly', zh: '缓慢燃烧' },
} as const

export const card = {
  name: 'acme',
  provider: 9,
  title: { en: 'Acme', zh: '艾克米' },
  inUps: true,
  defaultPlatform: 'android',
  addresses: {
    acme: {
      setting: 'HERALD_ACME_URL',
      about: { en: 'Acme', zh: '艾克米' },
      url: 'https://push.acme.example',
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
          to: 'app_secret',
          label: { en: 'Rocket key', zh: '火箭密钥' },
          kind: 'text',
          secret: true,
          flag: 'rocket-key',
          about: {
            en: 'rocket key, under Keys in the Acme console',
            zh: '火箭密钥，见艾克米开放平台的密钥页',
          },
        },
        {
          to: 'extra.fuse',
          label: { en: 'Fuse', zh: '引线' },
          kind: 'choice',
          choices: fuses,
          choiceTexts: fuseTexts,
          optional: true,
          about: { en: 'fuse of messages that set none', zh: '消息未指定时使用的引线' },
        },
      ],
      example: '--app-id 7 --rocket-key-file secret.txt',
    },
  ],
  classFields: {},
  message: {
    object: 'acme',
    android: true,
    fields: {
      fuse: {
        type: 'choice',
        choices: fuses,
        choiceTexts: fuseTexts,
        label: { en: 'Fuse', zh: '引线' },
        about: { en: 'Length of the fuse.', zh: '引线的长度。' },
      },
    },
  },
  carries: {
    cmd: 'no',
    big_text: 'no',
    attachment_url: 'no',
    badge: 'no',
    sound: 'yes',
    channel_id: 'no',
    intent: 'no',
    url: 'no',
    collapse_key: 'no',
    foreground: 'no',
    urgent: 'no',
  },
  limits: { tokensPerCall: 100, devicesPerSecond: 1000, timeZone: 'Asia/Shanghai' },
  reasonKinds: { token_dead: ['dead'], credentials_refused: ['http_401'] },
  recall: 'none',
} as const satisfies Card
