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
    acme: { setting: 'HERALD_ACME_URL', about: 'Acme', url: 'https://push.acme.example' },
  },
  credentials: [
    {
      fields: [
        { to: 'app_id', label: label.appId, kind: 'text', flag: 'app-id', about: 'App ID' },
        {
          to: 'app_secret',
          label: { en: 'Rocket key', zh: '火箭密钥' },
          kind: 'text',
          secret: true,
          flag: 'rocket-key',
          about: 'rocket key, under Keys in the Acme console',
        },
        {
          to: 'extra.fuse',
          label: { en: 'Fuse', zh: '引线' },
          kind: 'choice',
          choices: fuses,
          choiceTexts: fuseTexts,
          optional: true,
          about: 'fuse of messages that set none',
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
        about: 'Length of the fuse.',
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
