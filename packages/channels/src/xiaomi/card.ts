import type { Card } from '../card.ts'
import { label } from '../card-parts.ts'
import { noteTexts } from './card-notes.ts'
import { reasonKinds } from './card-reasons.ts'

export const card = {
  name: 'xiaomi',
  provider: 3,
  title: { en: 'Xiaomi', zh: '小米' },
  inUps: true,
  defaultPlatform: 'android',
  addresses: {
    xiaomi: {
      setting: 'HERALD_XIAOMI_URL',
      about: { en: 'Xiaomi', zh: '小米' },
      url: 'https://api.xmpush.xiaomi.com',
    },
  },
  credentials: [
    {
      fields: [
        {
          to: 'app_id',
          label: label.appId,
          kind: 'text',
          optional: true,
          flag: 'app-id',
          about: {
            en: 'App ID; used by the app’s SDK, not by the server',
            zh: 'App ID；供应用的 SDK 使用，服务端不用',
          },
        },
        {
          to: 'app_key',
          label: label.appKey,
          kind: 'text',
          optional: true,
          flag: 'app-key',
          about: { en: 'App Key, also for the SDK', zh: 'App Key，同样供 SDK 使用' },
        },
        {
          to: 'app_secret',
          label: label.appSecret,
          kind: 'text',
          secret: true,
          flag: 'app-secret',
          about: {
            en: 'App Secret, under application info in the developer console',
            zh: 'App Secret，见小米开放平台的应用信息',
          },
        },
        {
          to: 'extra.package_name',
          label: label.packageName,
          kind: 'text',
          optional: true,
          proposes: 'package_name',
          about: {
            en: 'the package name registered in the console; by default that of the application',
            zh: '在小米开放平台登记的包名；默认为本应用的包名',
          },
        },
        {
          to: 'extra.channel_id',
          label: label.notificationChannel,
          kind: 'text',
          optional: true,
          about: {
            en: 'channel of messages whose class names none',
            zh: '消息类别未指定渠道时使用的通知渠道',
          },
        },
        {
          to: 'extra.big_text',
          label: { en: 'Long text', zh: '长文本' },
          kind: 'flag',
          optional: true,
          about: { en: 'the application may send long texts', zh: '应用可以发送长文本' },
        },
        {
          to: 'extra.pass_through',
          label: label.passThrough,
          kind: 'flag',
          optional: true,
          about: { en: 'the application may send pass-through messages', zh: '应用可以发送透传消息' },
        },
      ],
      example: `--app-id 2882 --app-key 5801 --app-secret-file secret.txt --extra '{"package_name":"com.example.shop"}'`,
    },
  ],
  classFields: { channel_id: { type: 'id' }, template_id: { type: 'id' } },
  message: {
    object: 'xiaomi',
    android: true,
    fields: {
      template_id: { type: 'text', label: { en: 'Template ID', zh: '模板 ID' } },
      template_param: {
        type: 'object',
        label: { en: 'Template parameters (JSON)', zh: '模板参数（JSON）' },
      },
    },
  },
  carries: {
    cmd: { is: 'certificate', remark: { en: '`extra.pass_through`', zh: '`extra.pass_through`' } },
    big_text: { is: 'certificate', remark: { en: '`extra.big_text`', zh: '`extra.big_text`' } },
    attachment_url: 'app',
    badge: 'no',
    sound: { is: 'yes', remark: { en: 'before Android 8', zh: '仅限安卓 8 之前的版本' } },
    channel_id: { is: 'yes', remark: { en: 'only `xiaomi.channel_id`', zh: '仅限 `xiaomi.channel_id`' } },
    intent: 'yes',
    url: 'yes',
    collapse_key: 'yes',
    foreground: 'yes',
    urgent: 'no',
  },
  texts: { title: 49, body: 127, bigText: 127, utf16: true },
  // 500 requests per second is the limit of applications with fewer than 100,000 reachable devices, the smallest one
  // (https://dev.mi.com/xiaomihyperos/documentation/detail?pId=1656). The daily quota depends on the number of reachable
  // devices, which only Xiaomi knows, so sending stops at its refusal.
  limits: { tokensPerCall: 1000, requestsPerSecond: 500, perDevicePerDay: 5, timeZone: 'Asia/Shanghai' },
  reportsReceipts: true,
  noteTexts,
  reasonKinds,
  recall: 'withdraw',
} as const satisfies Card
