import type { Card, CredentialField } from '../card.ts'
import { label } from '../card-parts.ts'
import { checkFields } from './card-check.ts'
import { pushTypes, pushTypeTexts } from './card-push-types.ts'
import { reasonKinds } from './card-reasons.ts'

const bundleIds = {
  to: 'extra.bundle_ids',
  label: { en: 'Additional bundle IDs (comma-separated)', zh: '其他 Bundle ID（逗号分隔）' },
  kind: 'list',
  about: 'further bundle ids that this credential is valid for; a binding may name one of them',
  optional: true,
} as const satisfies CredentialField

const bundleId = {
  to: 'app_id',
  label: { en: 'Bundle ID', zh: '应用包 ID（Bundle ID）' },
  kind: 'text',
  flag: 'bundle-id',
  about: 'bundle id (the topic); optional with a certificate for a single topic',
} as const satisfies CredentialField

/** The end of the year 9999; larger values are milliseconds by mistake. */
const lastSecond = 253_402_300_799

export const card = {
  name: 'apns',
  provider: 1,
  title: { en: 'APNs', zh: 'APNs' },
  solePlatform: 'ios',
  defaultPlatform: 'ios',
  addresses: {
    apns: {
      setting: 'HERALD_APNS_URL',
      about: 'APNs (production)',
      url: 'https://api.push.apple.com',
      environment: 'production',
    },
    apnsSandbox: {
      setting: 'HERALD_APNS_SANDBOX_URL',
      about: 'APNs (development)',
      url: 'https://api.sandbox.push.apple.com',
      environment: 'development',
    },
  },
  credentials: [
    {
      kind: { en: 'Signing key (.p8)', zh: '签名密钥（.p8）' },
      fields: [
        bundleId,
        {
          to: 'app_key',
          label: { en: 'Key ID', zh: '密钥 ID（Key ID）' },
          kind: 'text',
          flag: 'key-id',
          about: 'key id of the .p8 file',
        },
        {
          to: 'app_secret',
          label: { en: 'Team ID', zh: '团队 ID（Team ID）' },
          kind: 'text',
          flag: 'team-id',
          about: 'team id, with a .p8 file',
        },
        {
          to: 'certificate',
          label: { en: 'Signing key (.p8)', zh: '签名密钥内容（.p8）' },
          kind: 'file',
          flag: 'p8',
          about: 'signing key, AuthKey_….p8',
          file: { accept: '.p8,.pem', as: 'text' },
        },
        bundleIds,
      ],
      example: '--bundle-id com.example.shop --key-id ABC1234567 --team-id DEF1234567 --p8 AuthKey.p8',
    },
    {
      kind: { en: 'Certificate (.p12 or PEM)', zh: '证书（.p12 或 PEM）' },
      fields: [
        { ...bundleId, optional: true },
        {
          to: 'app_secret',
          label: { en: 'Passphrase', zh: '证书密码' },
          kind: 'text',
          secret: true,
          optional: true,
          flag: 'passphrase',
          about: 'passphrase of the .p12 file',
        },
        {
          to: 'certificate',
          label: { en: 'Certificate (base64 of the .p12, or PEM)', zh: '证书（.p12 的 base64，或 PEM）' },
          kind: 'file',
          flag: 'p12',
          about: 'push certificate with its key',
          file: { accept: '.p12,.pfx,.pem', as: 'base64' },
          alias: { flag: 'pem', about: 'push certificate with its key, in PEM', as: 'text' },
        },
        bundleIds,
      ],
      example: '--environment development --p12 push.p12 --passphrase-file passphrase.txt',
    },
  ],
  classFields: {},
  message: {
    object: 'ios',
    replaceField: 'apns_collapse_id',
    check: checkFields,
    fields: {
      sound: {
        type: 'text',
        label: { en: 'Sound', zh: '提示音' },
        about: 'Alert sound; without it the push makes no sound.',
      },
      content_available: {
        type: 'flag',
        label: { en: 'Content available', zh: '后台唤醒（content-available）' },
        about: 'APNs content-available.',
      },
      mutable_content: {
        type: 'flag',
        label: { en: 'Mutable content', zh: '可修改内容（mutable-content）' },
        about: 'APNs mutable-content.',
      },
      category: { type: 'text', label: label.category, about: 'APNs payload category.' },
      thread_id: {
        type: 'text',
        label: { en: 'Thread ID', zh: '分组 ID（thread-id）' },
        about: 'APNs thread-id: notifications with the same value are grouped.',
      },
      subtitle: { type: 'text', maxLength: 1_048_576, label: { en: 'Subtitle', zh: '副标题' } },
      apns_collapse_id: {
        type: 'text',
        maxBytes: 64,
        label: { en: 'Collapse ID', zh: '折叠 ID' },
        about:
          'A notification replaces earlier ones with the same value. Takes precedence over collapse_key.',
      },
      push_type: {
        type: 'choice',
        choices: pushTypes,
        choiceTexts: pushTypeTexts,
        label: { en: 'Push type', zh: '推送类型（push type）' },
        about:
          'Kind of push: `alert` (default), `background` (default for cmd messages), `liveactivity` (default with live_activity), `voip`, `widgets`, `location`, `pushtotalk`, `complication` or `fileprovider`. The topic gets the suffix of the type. The types after liveactivity have tokens of their own: bind such a token to a device of its own.',
      },
      priority: {
        type: 'choice',
        choices: [10, 5, 1],
        choiceTexts: {
          10: { en: 'at once', zh: '立即送达' },
          5: { en: 'power-aware', zh: '兼顾省电' },
          1: { en: 'does not wake the device', zh: '不唤醒设备' },
        },
        label: { en: 'Priority', zh: '优先级（apns-priority）' },
        about:
          'apns-priority: 10 at once, 5 power-aware, 1 does not wake the device. Default 10 for alerts, 5 for background pushes, which allow no other.',
      },
      interruption_level: {
        type: 'choice',
        choices: ['passive', 'active', 'time-sensitive', 'critical'],
        choiceTexts: {
          passive: { en: 'in the list only, without sound', zh: '仅进入通知列表，无声音' },
          active: { en: 'as usual (default)', zh: '正常提醒（默认）' },
          'time-sensitive': { en: 'also in a Focus', zh: '专注模式下也提醒' },
          critical: { en: 'also while muted', zh: '静音时也提醒' },
        },
        label: { en: 'Interruption level', zh: '中断级别（interruption-level）' },
        about: 'APNs interruption-level. `time-sensitive` and `critical` need capabilities of the app.',
      },
      relevance_score: {
        type: 'number',
        min: 0,
        max: 100,
        label: { en: 'Relevance score', zh: '相关度（relevance-score）' },
        about:
          'APNs relevance-score: 0 to 1, the highest leads the summary; for a Live Activity 0 to 100, the highest is shown in the Dynamic Island.',
      },
      target_content_id: {
        type: 'text',
        label: { en: 'Target content ID', zh: '目标窗口（target-content-id）' },
        about: 'APNs target-content-id: the window of the app that a tap brings forward.',
      },
      filter_criteria: {
        type: 'text',
        label: { en: 'Focus filter criteria', zh: '专注模式过滤（filter-criteria）' },
        about: 'APNs filter-criteria, which the Focus filter of the app compares.',
      },
      critical: {
        type: 'record',
        label: { en: 'Critical sound', zh: '重要警报声音（critical）' },
        about:
          'Plays a sound even if the device is muted; the app needs an entitlement that Apple grants. Replaces `sound`.',
        fields: {
          name: {
            type: 'text',
            label: { en: 'Critical sound name', zh: '警报声音文件' },
            about: 'File of the sound (default: `sound`, otherwise the default sound).',
          },
          volume: {
            type: 'number',
            min: 0,
            max: 1,
            required: true,
            label: { en: 'Critical sound volume', zh: '警报音量' },
            about: '0 to 1.',
          },
        },
      },
      title_loc_key: {
        type: 'text',
        label: { en: 'Title key (localized)', zh: '标题的本地化键' },
        about: 'Key in the string table of the app, shown instead of the title.',
      },
      title_loc_args: {
        type: 'list',
        maxItems: 20,
        maxLength: 1024,
        label: { en: 'Title arguments', zh: '标题的本地化参数' },
        about: 'Texts for the placeholders of title_loc_key.',
      },
      loc_key: {
        type: 'text',
        label: { en: 'Body key (localized)', zh: '正文的本地化键' },
        about: 'Key in the string table of the app, shown instead of the body.',
      },
      loc_args: {
        type: 'list',
        maxItems: 20,
        maxLength: 1024,
        label: { en: 'Body arguments', zh: '正文的本地化参数' },
        about: 'Texts for the placeholders of loc_key.',
      },
      live_activity: {
        type: 'record',
        label: { en: 'Live Activity', zh: '实时活动（Live Activity）' },
        about:
          'Starts, updates or ends a Live Activity. `update` and `end` take the audience `activity`, `start` any other; see the guide of Live Activities.',
        fields: {
          event: {
            type: 'choice',
            choices: ['start', 'update', 'end'],
            choiceTexts: {
              start: { en: 'begins the activity', zh: '开始活动' },
              update: { en: 'changes its content', zh: '更新内容' },
              end: { en: 'ends the activity', zh: '结束活动' },
            },
            required: true,
            label: { en: 'Event', zh: '事件' },
            about: '`start`, `update` or `end`.',
          },
          content_state: {
            type: 'object',
            label: { en: 'Content state', zh: '内容状态（content-state）' },
            about: 'ContentState of the app; required for start and update.',
          },
          timestamp: {
            type: 'number',
            whole: true,
            min: 1,
            max: lastSecond,
            label: { en: 'Timestamp', zh: '时间戳' },
            about:
              'Unix seconds (default: when the task was accepted). An update with an older one than the last of the same activity is not sent.',
          },
          stale_date: {
            type: 'number',
            whole: true,
            min: 1,
            max: lastSecond,
            label: { en: 'Stale date', zh: '过期时间（stale-date）' },
            about: 'Unix seconds after which the system marks the activity as stale.',
          },
          dismissal_date: {
            type: 'number',
            whole: true,
            min: 1,
            max: lastSecond,
            label: { en: 'Dismissal date', zh: '移除时间（dismissal-date）' },
            about:
              'Unix seconds when an ended activity leaves the screen, only with `end`; a past time removes it at once.',
          },
          attributes_type: {
            type: 'text',
            maxLength: 255,
            label: { en: 'Attributes type', zh: '属性类型（attributes-type）' },
            about: 'Name of the ActivityAttributes of the app; required for start, refused otherwise.',
          },
          attributes: {
            type: 'object',
            label: { en: 'Attributes', zh: '属性（attributes）' },
            about: 'Values of the attributes, only with start (default: none).',
          },
          alert: {
            type: 'record',
            label: { en: 'Alert', zh: '提醒' },
            about: 'Texts and sound of an alert for this event; required for start.',
            fields: {
              title: { type: 'text', label: { en: 'Alert title', zh: '提醒标题' } },
              body: { type: 'text', maxLength: 4096, label: { en: 'Alert body', zh: '提醒正文' } },
              sound: { type: 'text', label: { en: 'Alert sound', zh: '提醒声音' } },
            },
          },
        },
      },
    },
  },
  carries: {
    cmd: 'yes',
    big_text: { is: 'no', remark: 'shown if body is blank' },
    attachment_url: { is: 'app', remark: 'its notification service extension loads the picture' },
    badge: 'yes',
    sound: { is: 'yes', remark: '`ios.sound`' },
    channel_id: 'no',
    intent: 'no',
    url: 'app',
    collapse_key: 'yes',
    foreground: 'app',
    urgent: { is: 'yes', remark: 'push types that may have priority 10; background pushes may not' },
  },
  // Apple documents no rate limit per app, only one per device.
  limits: { tokensPerCall: 1000, onePerDevice: true, timeZone: 'UTC' },
  topicPerBinding: true,
  environmentBound: true,
  absoluteBadge: true,
  activityTokens: true,
  referenceLibrary: 'apn',
  reasonKinds,
  recall: 'replace',
} as const satisfies Card
