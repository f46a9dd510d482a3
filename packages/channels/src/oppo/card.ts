import type { Card } from '../card.ts'
import { label, regionField, regions } from '../card-parts.ts'
import { noteTexts } from './card-notes.ts'
import { reasonKinds } from './card-reasons.ts'

export const card = {
  name: 'oppo',
  provider: 6,
  title: { en: 'OPPO', zh: 'OPPO' },
  inUps: true,
  defaultPlatform: 'android',
  regions,
  credentialOfAllRegions: true,
  addresses: {
    oppo: {
      setting: 'HERALD_OPPO_URL',
      about: { en: 'OPPO', zh: 'OPPO' },
      url: 'https://api-push-cn.heytapmobi.com',
    },
    oppoIntl: {
      setting: 'HERALD_OPPO_INTL_URL',
      about: { en: 'OPPO (overseas)', zh: 'OPPO（海外）' },
      url: 'https://api-intl.push.oppomobile.com',
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
          flag: 'app-key',
          about: { en: 'App Key', zh: 'App Key' },
        },
        {
          to: 'app_secret',
          label: { en: 'Master secret', zh: '主密钥（Master secret）' },
          kind: 'text',
          secret: true,
          flag: 'master-secret',
          about: { en: 'Master Secret, which never ships in an app', zh: 'Master Secret，不能放进应用' },
        },
        {
          to: 'extra.client_app_secret',
          label: { en: 'App secret for the client SDK', zh: '客户端 SDK 密钥' },
          kind: 'text',
          secret: true,
          optional: true,
          about: {
            en: 'the App Secret of the SDK, to detect that it was saved as the Master Secret',
            zh: 'SDK 的 App Secret，用于发现它被误填为 Master Secret',
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
          to: 'extra.picture_url',
          label: { en: 'Picture by URL', zh: '通过 URL 发送图片' },
          kind: 'flag',
          optional: true,
          about: {
            en: 'the paid add-on that lets a request name the address of a picture',
            zh: '付费服务：请求中可以填写图片的 URL',
          },
        },
        {
          to: 'extra.badge',
          label: { en: 'Badge permission', zh: '角标权限' },
          kind: 'flag',
          optional: true,
          about: {
            en: 'OPPO permits badges for the application: messages that name no badge add one',
            zh: 'OPPO 已为应用开通角标：未指定角标的消息加 1',
          },
        },
        {
          to: 'extra.content_limit',
          label: { en: 'Maximum text length', zh: '正文长度上限' },
          kind: 'choice',
          choices: [50, 200],
          choiceTexts: {
            50: { en: 'characters (default)', zh: '个字符（默认）' },
            200: { en: 'characters, in older contracts', zh: '个字符，仅限旧合同' },
          },
          optional: true,
          about: {
            en: 'characters of a standard notice: 50 (default), 200 in older contracts',
            zh: '标准通知的正文字数：50（默认），旧合同为 200',
          },
        },
        regionField,
      ],
      example: '--app-id 301 --app-key 9d2c --master-secret-file secret.txt',
    },
  ],
  clientSecret: 'client_app_secret',
  classFields: {
    category: {
      type: 'category',
      maxLength: 32,
      about: {
        en: 'an OPPO category in capitals, such as IM, ORDER or MARKETING',
        zh: 'OPPO 的消息类别，大写，如 IM、ORDER 或 MARKETING',
      },
    },
    notify_level: { type: 'choice', choices: [1, 2, 16] },
    channel_id: { type: 'id' },
    private_msg_template_id: { type: 'id' },
  },
  message: {
    object: 'oppo',
    android: true,
    fields: {
      category: { type: 'text', maxLength: 32, label: label.category },
      notify_level: {
        type: 'choice',
        choices: [1, 2, 16],
        choiceTexts: {
          1: { en: 'notification bar', zh: '通知栏' },
          2: { en: 'notification bar and lock screen', zh: '通知栏 + 锁屏' },
          16: {
            en: 'notification bar, lock screen, banner, sound and vibration',
            zh: '通知栏 + 锁屏 + 横幅 + 铃声 + 震动',
          },
        },
        label: { en: 'Notification level', zh: '提醒等级' },
      },
      private_msg_template_id: {
        type: 'text',
        label: { en: 'Private message template ID', zh: '私信模板 ID' },
      },
      private_title_parameters: {
        type: 'object',
        label: { en: 'Title parameters (JSON)', zh: '标题参数（JSON）' },
      },
      private_content_parameters: {
        type: 'object',
        label: { en: 'Text parameters (JSON)', zh: '正文参数（JSON）' },
      },
    },
  },
  carries: {
    cmd: 'no',
    big_text: 'yes',
    attachment_url: { is: 'certificate', remark: { en: '`extra.picture_url`', zh: '`extra.picture_url`' } },
    badge: {
      is: 'yes',
      remark: { en: 'if the message sets it, with a permission', zh: '消息指定时发送，需授权' },
    },
    sound: 'no',
    channel_id: { is: 'yes', remark: { en: 'only `oppo.channel_id`', zh: '仅限 `oppo.channel_id`' } },
    intent: 'yes',
    url: 'yes',
    collapse_key: 'yes',
    foreground: 'no',
    urgent: 'no',
  },
  texts: { title: 50, body: 128, bigText: 128, pictureBody: 50 },
  // 5000 messages per second is the limit of applications with fewer than 10 million users, the smallest one. The daily quota of
  // marketing messages depends on the number of users, which only OPPO knows, so sending stops at its refusal.
  limits: { tokensPerCall: 1000, devicesPerSecond: 5000, perDevicePerDay: 2, timeZone: 'Asia/Shanghai' },
  reportsReceipts: true,
  noteTexts,
  reasonKinds,
  recall: 'replace',
} as const satisfies Card
