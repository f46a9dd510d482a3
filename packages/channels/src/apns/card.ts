import type { Card, CredentialField } from '../card.ts'
import { label } from '../card-parts.ts'
import { checkFields } from './card-check.ts'
import { pushTypes, pushTypeTexts } from './card-push-types.ts'
import { reasonKinds } from './card-reasons.ts'

const bundleIds = {
  to: 'extra.bundle_ids',
  label: { en: 'Additional bundle IDs (comma-separated)', zh: '其他 Bundle ID（逗号分隔）' },
  kind: 'list',
  about: {
    en: 'further bundle ids that this credential is valid for; a binding may name one of them',
    zh: '该凭据适用的其他 Bundle ID；绑定令牌时可以指定其中一个',
  },
  optional: true,
} as const satisfies CredentialField

const bundleId = {
  to: 'app_id',
  label: { en: 'Bundle ID', zh: '应用包 ID（Bundle ID）' },
  kind: 'text',
  flag: 'bundle-id',
  about: {
    en: 'bundle id (the topic); optional with a certificate for a single topic',
    zh: 'Bundle ID（即 topic）；证书只含一个 topic 时可以不填',
  },
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
      about: { en: 'APNs (production)', zh: 'APNs（生产环境）' },
      url: 'https://api.push.apple.com',
      environment: 'production',
    },
    apnsSandbox: {
      setting: 'HERALD_APNS_SANDBOX_URL',
      about: { en: 'APNs (development)', zh: 'APNs（开发环境）' },
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
          about: { en: 'key id of the .p8 file', zh: '.p8 文件的 Key ID' },
        },
        {
          to: 'app_secret',
          label: { en: 'Team ID', zh: '团队 ID（Team ID）' },
          kind: 'text',
          flag: 'team-id',
          about: { en: 'team id, with a .p8 file', zh: 'Team ID，使用 .p8 文件时填写' },
        },
        {
          to: 'certificate',
          label: { en: 'Signing key (.p8)', zh: '签名密钥内容（.p8）' },
          kind: 'file',
          flag: 'p8',
          about: { en: 'signing key, AuthKey_….p8', zh: '签名密钥文件，AuthKey_….p8' },
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
          about: { en: 'passphrase of the .p12 file', zh: '.p12 文件的密码' },
        },
        {
          to: 'certificate',
          label: { en: 'Certificate (base64 of the .p12, or PEM)', zh: '证书（.p12 的 base64，或 PEM）' },
          kind: 'file',
          flag: 'p12',
          about: { en: 'push certificate with its key', zh: '推送证书（含私钥）' },
          file: { accept: '.p12,.pfx,.pem', as: 'base64' },
          alias: {
            flag: 'pem',
            about: { en: 'push certificate with its key, in PEM', zh: 'PEM 格式的推送证书（含私钥）' },
            as: 'text',
          },
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
        about: { en: 'Alert sound; without it the push makes no sound.', zh: '提示音；不填则没有声音。' },
      },
      content_available: {
        type: 'flag',
        label: { en: 'Content available', zh: '后台唤醒（content-available）' },
        about: { en: 'APNs content-available.', zh: 'APNs 的 content-available。' },
      },
      mutable_content: {
        type: 'flag',
        label: { en: 'Mutable content', zh: '可修改内容（mutable-content）' },
        about: { en: 'APNs mutable-content.', zh: 'APNs 的 mutable-content。' },
      },
      category: {
        type: 'text',
        label: label.category,
        about: { en: 'APNs payload category.', zh: 'APNs 消息体中的 category。' },
      },
      thread_id: {
        type: 'text',
        label: { en: 'Thread ID', zh: '分组 ID（thread-id）' },
        about: {
          en: 'APNs thread-id: notifications with the same value are grouped.',
          zh: 'APNs 的 thread-id：值相同的通知归为一组。',
        },
      },
      subtitle: { type: 'text', maxLength: 1_048_576, label: { en: 'Subtitle', zh: '副标题' } },
      apns_collapse_id: {
        type: 'text',
        maxBytes: 64,
        label: { en: 'Collapse ID', zh: '折叠 ID' },
        about: {
          en: 'A notification replaces earlier ones with the same value. Takes precedence over collapse_key.',
          zh: '新通知替换之前值相同的通知。优先于 collapse_key。',
        },
      },
      push_type: {
        type: 'choice',
        choices: pushTypes,
        choiceTexts: pushTypeTexts,
        label: { en: 'Push type', zh: '推送类型（push type）' },
        about: {
          en: 'Kind of push: `alert` (default), `background` (default for cmd messages), `liveactivity` (default with live_activity), `voip`, `widgets`, `controls`, `location`, `pushtotalk`, `complication` or `fileprovider`. The topic gets the suffix of the type. The types after liveactivity have tokens of their own: bind such a token to a device of its own.',
          zh: '推送类型：`alert`（默认）、`background`（cmd 消息的默认值）、`liveactivity`（带 live_activity 时的默认值）、`voip`、`widgets`、`controls`、`location`、`pushtotalk`、`complication` 或 `fileprovider`。topic 会加上该类型的后缀。liveactivity 之后的类型使用各自的令牌，这种令牌须绑定到单独的设备上。',
        },
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
        about: {
          en: 'apns-priority: 10 at once, 5 power-aware, 1 does not wake the device. Default 10 for alerts, 5 for background pushes, which allow no other.',
          zh: 'apns-priority：10 立即送达，5 兼顾省电，1 不唤醒设备。通知默认为 10；后台推送默认为 5，且只能是 5。',
        },
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
        about: {
          en: 'APNs interruption-level. `time-sensitive` and `critical` need capabilities of the app.',
          zh: 'APNs 的 interruption-level。`time-sensitive` 和 `critical` 需要应用开通相应能力。',
        },
      },
      relevance_score: {
        type: 'number',
        min: 0,
        max: 100,
        label: { en: 'Relevance score', zh: '相关度（relevance-score）' },
        about: {
          en: 'APNs relevance-score: 0 to 1, the highest leads the summary; for a Live Activity 0 to 100, the highest is shown in the Dynamic Island.',
          zh: 'APNs 的 relevance-score：0 到 1，最高的排在通知摘要首位；实时活动为 0 到 100，最高的显示在灵动岛。',
        },
      },
      target_content_id: {
        type: 'text',
        label: { en: 'Target content ID', zh: '目标窗口（target-content-id）' },
        about: {
          en: 'APNs target-content-id: the window of the app that a tap brings forward.',
          zh: 'APNs 的 target-content-id：点击后切换到前台的应用窗口。',
        },
      },
      filter_criteria: {
        type: 'text',
        label: { en: 'Focus filter criteria', zh: '专注模式过滤（filter-criteria）' },
        about: {
          en: 'APNs filter-criteria, which the Focus filter of the app compares.',
          zh: 'APNs 的 filter-criteria，供应用的专注模式过滤条件比对。',
        },
      },
      critical: {
        type: 'record',
        label: { en: 'Critical sound', zh: '重要警报声音（critical）' },
        about: {
          en: 'Plays a sound even if the device is muted; the app needs an entitlement that Apple grants. Replaces `sound`.',
          zh: '设备静音时也播放声音，应用须获得 Apple 授予的权限（entitlement）。代替 `sound`。',
        },
        fields: {
          name: {
            type: 'text',
            label: { en: 'Critical sound name', zh: '警报声音文件' },
            about: {
              en: 'File of the sound (default: `sound`, otherwise the default sound).',
              zh: '声音文件名（默认取 `sound`，没有则用默认提示音）。',
            },
          },
          volume: {
            type: 'number',
            min: 0,
            max: 1,
            required: true,
            label: { en: 'Critical sound volume', zh: '警报音量' },
            about: { en: '0 to 1.', zh: '0 到 1。' },
          },
        },
      },
      title_loc_key: {
        type: 'text',
        label: { en: 'Title key (localized)', zh: '标题的本地化键' },
        about: {
          en: 'Key in the string table of the app, shown instead of the title.',
          zh: '应用字符串表中的键，用对应的文字代替标题。',
        },
      },
      title_loc_args: {
        type: 'list',
        maxItems: 20,
        maxLength: 1024,
        label: { en: 'Title arguments', zh: '标题的本地化参数' },
        about: {
          en: 'Texts for the placeholders of title_loc_key.',
          zh: '填入 title_loc_key 占位符的文字。',
        },
      },
      loc_key: {
        type: 'text',
        label: { en: 'Body key (localized)', zh: '正文的本地化键' },
        about: {
          en: 'Key in the string table of the app, shown instead of the body.',
          zh: '应用字符串表中的键，用对应的文字代替正文。',
        },
      },
      loc_args: {
        type: 'list',
        maxItems: 20,
        maxLength: 1024,
        label: { en: 'Body arguments', zh: '正文的本地化参数' },
        about: { en: 'Texts for the placeholders of loc_key.', zh: '填入 loc_key 占位符的文字。' },
      },
      live_activity: {
        type: 'record',
        label: { en: 'Live Activity', zh: '实时活动（Live Activity）' },
        about: {
          en: 'Starts, updates or ends a Live Activity. `update` and `end` take the audience `activity`, `start` any other; see the guide of Live Activities.',
          zh: '开始、更新或结束实时活动。`update` 和 `end` 的受众为 `activity`，`start` 可用其他任何受众；详见实时活动的说明。',
        },
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
            about: { en: '`start`, `update` or `end`.', zh: '`start`、`update` 或 `end`。' },
          },
          content_state: {
            type: 'object',
            label: { en: 'Content state', zh: '内容状态（content-state）' },
            about: {
              en: 'ContentState of the app; required for start and update.',
              zh: '应用的 ContentState；start 和 update 必填。',
            },
          },
          timestamp: {
            type: 'number',
            whole: true,
            min: 1,
            max: lastSecond,
            label: { en: 'Timestamp', zh: '时间戳' },
            about: {
              en: 'Unix seconds (default: when the task begins, which is its acceptance or show_begin_time). An update with an older one than the last of the same activity is not sent.',
              zh: 'Unix 时间（秒），默认为任务的开始时间，即受理时间或 show_begin_time。早于同一活动上次更新的不会发送。',
            },
          },
          stale_date: {
            type: 'number',
            whole: true,
            min: 1,
            max: lastSecond,
            label: { en: 'Stale date', zh: '过期时间（stale-date）' },
            about: {
              en: 'Unix seconds after which the system marks the activity as stale.',
              zh: 'Unix 时间（秒），此后系统把活动标记为过时。',
            },
          },
          dismissal_date: {
            type: 'number',
            whole: true,
            min: 1,
            max: lastSecond,
            label: { en: 'Dismissal date', zh: '移除时间（dismissal-date）' },
            about: {
              en: 'Unix seconds when an ended activity leaves the screen, only with `end`; a past time removes it at once.',
              zh: 'Unix 时间（秒），已结束的活动到时从屏幕移除，仅用于 `end`；填过去的时间则立即移除。',
            },
          },
          attributes_type: {
            type: 'text',
            maxLength: 255,
            label: { en: 'Attributes type', zh: '属性类型（attributes-type）' },
            about: {
              en: 'Name of the ActivityAttributes of the app; required for start, refused otherwise.',
              zh: '应用的 ActivityAttributes 类型名；start 必填，其他事件不能填写。',
            },
          },
          attributes: {
            type: 'object',
            label: { en: 'Attributes', zh: '属性（attributes）' },
            about: {
              en: 'Values of the attributes, only with start (default: none).',
              zh: '属性的值，仅用于 start（默认为空）。',
            },
          },
          alert: {
            type: 'record',
            label: { en: 'Alert', zh: '提醒' },
            about: {
              en: 'Texts and sound of an alert for this event; required for start.',
              zh: '本次事件的提醒文字和声音；start 必填。',
            },
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
    big_text: { is: 'no', remark: { en: 'shown if body is blank', zh: '正文为空时显示' } },
    attachment_url: {
      is: 'app',
      remark: {
        en: 'its notification service extension loads the picture',
        zh: '由应用的通知服务扩展加载图片',
      },
    },
    badge: 'yes',
    sound: { is: 'yes', remark: { en: '`ios.sound`', zh: '`ios.sound`' } },
    channel_id: 'no',
    intent: 'no',
    url: 'app',
    collapse_key: 'yes',
    foreground: 'app',
    urgent: {
      is: 'yes',
      remark: {
        en: 'push types that may have priority 10; background pushes may not',
        zh: '仅限优先级可为 10 的推送类型，后台推送不行',
      },
    },
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
