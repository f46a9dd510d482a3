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
  about: '`cn` (default) or `intl`: region of the record; each region has its own',
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
  about: '`1` marks messages as test messages',
  optional: true,
} as const satisfies CredentialField

/** The fields of `android` and of every vendor object that has `android: true`. */
export const androidFields = {
  sound: { type: 'text', label: { en: 'Sound', zh: '提示音' }, about: 'Alert sound.' },
  channel_id: { type: 'text', label: label.notificationChannel, about: 'Notification bar channel.' },
  click_action: {
    type: 'choice',
    choices: ['intent', 'open_app', 'url'],
    choiceTexts: {
      intent: { en: 'open a page of the app', zh: '打开应用内页面' },
      open_app: { en: 'open the app (default)', zh: '打开应用（默认）' },
      url: { en: 'open a web page or deep link', zh: '打开网页或深层链接' },
    },
    label: { en: 'Click action', zh: '点击动作' },
    about:
      'Action on click: `intent` opens a page of the app, `url` a web page or deep link, `open_app` the app (default open_app).',
  },
  intent: {
    type: 'text',
    maxLength: 4096,
    label: { en: 'Page to open (intent)', zh: '打开的页面（intent）' },
    about:
      'Page to open, for example `intent:#Intent;component=package/activity;S.key=value;end`; required if click_action is intent. Some vendors open it only by its `action=`.',
  },
  url: {
    type: 'text',
    maxLength: 2048,
    label: { en: 'Web page or deep link (URL)', zh: '网页或深层链接（URL）' },
    about:
      'Address to open: an https address, or a deep link with the scheme of the app; required if click_action is url, refused otherwise.',
  },
} as const satisfies Record<string, MessageField>

export const badgeClassField = {
  type: 'text',
  label: label.badgeClass,
  about: 'Activity class of the launcher icon.',
} as const satisfies MessageField
