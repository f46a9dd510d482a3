import type { Card } from '../card.ts'
import { label, regionField, regions } from '../card-parts.ts'
import { noteTexts } from './card-notes.ts'
import { reasonKinds } from './card-reasons.ts'

export const card = {
  name: 'meizu',
  provider: 4,
  publicName: 'flyme',
  title: { en: 'Meizu', zh: '魅族' },
  inUps: true,
  defaultPlatform: 'android',
  regions,
  addresses: {
    meizu: {
      setting: 'HERALD_MEIZU_URL',
      about: { en: 'Meizu', zh: '魅族' },
      url: 'https://server-api-push.meizu.com',
    },
    meizuIntl: {
      setting: 'HERALD_MEIZU_INTL_URL',
      about: { en: 'Meizu (overseas)', zh: '魅族（海外）' },
      url: 'https://server-api-push.in.meizu.com',
      region: true,
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
          optional: true,
          flag: 'app-key',
          about: {
            en: 'App Key; used by the app’s SDK, not by the server',
            zh: 'App Key；供应用的 SDK 使用，服务端不用',
          },
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
          to: 'extra.receipt_registered',
          label: { en: 'Receipt URL registered with the vendor', zh: '已在厂商后台登记回执地址' },
          kind: 'flag',
          optional: true,
          about: {
            en: 'the callback address is entered in the console; without that Meizu refuses a push that names it',
            zh: '回执地址已在魅族推送平台登记；未登记时，魅族拒绝带该地址的推送',
          },
        },
        {
          to: 'extra.receipt_token',
          label: { en: 'Receipt token', zh: '回执令牌' },
          kind: 'text',
          secret: true,
          optional: true,
          about: {
            en: 'what Meizu sends along with receipts, as set in the console',
            zh: '魅族随回执一并发送的令牌，与推送平台上填写的一致',
          },
        },
        {
          to: 'extra.vip',
          label: { en: 'VIP permission', zh: 'VIP 权限' },
          kind: 'flag',
          optional: true,
          about: { en: 'big pictures are for VIP applications', zh: '大图仅供 VIP 应用使用' },
        },
        {
          to: 'extra.pass_through',
          label: label.passThrough,
          kind: 'flag',
          optional: true,
          about: {
            en: 'pass-through is retired and open to old contracts only',
            zh: '透传已下线，仅旧合同可用',
          },
        },
        regionField,
      ],
      example: '--app-id 110 --app-key 7c1e --app-secret-file secret.txt',
    },
  ],
  classFields: { notice_msg_type: { type: 'choice', choices: [0, 1] } },
  message: {
    object: 'flyme',
    android: true,
    fields: {
      notice_msg_type: {
        type: 'choice',
        choices: [0, 1],
        choiceTexts: {
          0: { en: 'public message', zh: '公信消息' },
          1: { en: 'private message', zh: '私信消息' },
        },
        label: { en: 'Message type', zh: '消息类型' },
        about: { en: '0 = public message, 1 = private message.', zh: '0 = 公信消息，1 = 私信消息。' },
      },
    },
  },
  carries: {
    cmd: { is: 'certificate', remark: { en: '`extra.pass_through`', zh: '`extra.pass_through`' } },
    big_text: 'yes',
    attachment_url: { is: 'certificate', remark: { en: '`extra.vip`', zh: '`extra.vip`' } },
    badge: 'no',
    sound: { is: 'yes', remark: { en: 'on or off', zh: '只能开启或关闭' } },
    channel_id: 'no',
    intent: 'yes',
    url: 'yes',
    collapse_key: 'yes',
    foreground: 'no',
    urgent: 'no',
  },
  // Meizu documents no limit of the expanded text: this is that of its other fields.
  texts: { title: 32, body: 100, bigText: 1000, utf16: true },
  // The documentation before August 2023 says 1000 tokens per call. Meizu documents no rate limit; aggregators report 200 per
  // second by default, which push_support@meizu.com can raise.
  limits: { tokensPerCall: 100, devicesPerSecond: 200, perDevicePerDay: 3, timeZone: 'Asia/Shanghai' },
  reportsReceipts: true,
  noteTexts,
  reasonKinds,
  recall: 'replace',
} as const satisfies Card
