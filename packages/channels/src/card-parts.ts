import type { CredentialField, MessageField, Text } from './card.ts'

/** Labels that several cards share. */
export const label = {
  appId: { en: 'App ID', zh: '应用 ID（App ID）' },
  appKey: { en: 'App key', zh: '应用 Key（App key）' },
  appSecret: { en: 'App secret', zh: '应用密钥（App secret）' },
  clientId: { en: 'Client ID', zh: '客户端 ID（Client ID）' },
  clientSecret: { en: 'Client secret', zh: '客户端密钥（Client secret）' },
  projectId: { en: 'Project ID', zh: '项目 ID（Project ID）' },
  serviceAccount: { en: 'Service account (JSON)', zh: '服务账号（JSON）' },
  packageName: { en: 'Package name', zh: '包名' },
  notificationChannel: { en: 'Notification channel ID', zh: '通知渠道 ID' },
  passThrough: { en: 'Pass-through messages', zh: '透传消息' },
  region: { en: 'Region', zh: '地区' },
  badgeClass: { en: 'Badge class', zh: '角标入口类' },
  targetUserType: { en: 'Target user type', zh: '目标用户类型' },
  category: { en: 'Category', zh: '类别' },
  importance: { en: 'Importance', zh: '重要程度' },
} as const satisfies Record<string, Text>

export const serviceAccountFile = { accept: '.json', as: 'text' } as const

/** Of vendors with levels of importance, for Android. */
export const importanceTexts = {
  LOW: { en: 'marketing, shown silently', zh: '资讯营销类，静默展示' },
  NORMAL: { en: 'service and communication', zh: '服务与通讯类' },
} as const satisfies Record<string, Text>

/** Mainland China is the usual region of these vendors. */
export const regions = ['cn', 'intl'] as const

export const regionField = {
  to: 'extra.region',
  label: label.region,
  kind: 'choice',
  choices: regions,
  choiceTexts: { cn: { en: 'Mainland China', zh: '中国大陆' }, intl: { en: 'other countries', zh: '海外' } },
  about: {
    en: '`cn` (default) or `intl`: region of the record; each region has its own',
    zh: '`cn`（默认）或 `intl`：该配置所属的地区，每个地区各有一份',
  },
  optional: true,
} as const satisfies CredentialField

export const targetUserTypeField = {
  to: 'extra.target_user_type',
  label: label.targetUserType,
  kind: 'choice',
  choices: [0, 1],
  choiceTexts: {
    0: { en: 'ordinary messages (default)', zh: '正式消息（默认）' },
    1: { en: 'test messages', zh: '测试消息' },
  },
  about: { en: '`1` marks messages as test messages', zh: '`1` 表示测试消息' },
  optional: true,
} as const satisfies CredentialField

/** The fields of `android` and of every vendor object that has `android: true`. */
export const androidFields = {
  sound: {
    type: 'text',
    label: { en: 'Sound', zh: '提示音' },
    about: { en: 'Alert sound.', zh: '提示音。' },
  },
  channel_id: {
    type: 'text',
    label: label.notificationChannel,
    about: { en: 'Notification bar channel.', zh: '通知渠道。' },
  },
  click_action: {
    type: 'choice',
    choices: ['intent', 'open_app', 'url'],
    choiceTexts: {
      intent: { en: 'open a page of the app', zh: '打开应用内页面' },
      open_app: { en: 'open the app (default)', zh: '打开应用（默认）' },
      url: { en: 'open a web page or deep link', zh: '打开网页或深层链接' },
    },
    label: { en: 'Click action', zh: '点击动作' },
    about: {
      en: 'Action on click: `intent` opens a page of the app, `url` a web page or deep link, `open_app` the app (default open_app).',
      zh: '点击动作：`intent` 打开应用内页面，`url` 打开网页或深层链接，`open_app` 打开应用（默认 open_app）。',
    },
  },
  intent: {
    type: 'text',
    maxLength: 4096,
    label: { en: 'Page to open (intent)', zh: '打开的页面（intent）' },
    about: {
      en: 'Page to open, for example `intent:#Intent;component=package/activity;S.key=value;end`; required if click_action is intent. Some vendors open it only by its `action=`.',
      zh: '要打开的页面，例如 `intent:#Intent;component=package/activity;S.key=value;end`；click_action 为 intent 时必填。部分厂商只按其中的 `action=` 打开。',
    },
  },
  url: {
    type: 'text',
    maxLength: 2048,
    label: { en: 'Web page or deep link (URL)', zh: '网页或深层链接（URL）' },
    about: {
      en: 'Address to open: an https address, or a deep link with the scheme of the app; required if click_action is url, refused otherwise.',
      zh: '要打开的地址：https 网址，或使用应用 scheme 的深层链接；click_action 为 url 时必填，否则不能填写。',
    },
  },
} as const satisfies Record<string, MessageField>

export const badgeClassField = {
  type: 'text',
  label: label.badgeClass,
  about: { en: 'Activity class of the launcher icon.', zh: '桌面图标对应的 Activity 类名。' },
} as const satisfies MessageField
