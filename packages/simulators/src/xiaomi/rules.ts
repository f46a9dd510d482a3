import { countCodePoints, isInRange, parseObject } from '../frame/fields.ts'
import { findRefusal, type Rule } from '../frame/rules.ts'

/** A refusal with Xiaomi's code. */
export type Refusal = { code: number; reason: string }

/** An application registered in the simulated console. */
export type XiaomiSimApp = {
  appSecret: string
  /** By default every package, for load tests that accept all credentials. */
  packageName?: string
  /** Registered channels by id; by default `100001` public and `100002` private. */
  channels?: Readonly<Record<string, 'public' | 'private'>>
  /** Approved templates and their variables; by default every template id, with parameters of any name. */
  templates?: Readonly<Record<string, readonly string[]>>
  switches?: XiaomiSimSwitches
}

/** Switches of one application; all off by default except pass-through, whose end has no known date. */
export type XiaomiSimSwitches = {
  /** Every send gets this code. */
  forceCode?: number
  requestsPerSecond?: number
  /** Maximum number of deliveries per day in Asia/Shanghai. */
  dailyQuota?: number
  allowPassThrough?: boolean
  /** Applications that have moved to the new classes cannot send without a channel. */
  requireChannel?: boolean
  /** Private channels need an approved template (one source). */
  requireTemplate?: boolean
}

/**
 * Rules of some accounts, and readings of questions that the documentation leaves open: the fault `rules` switches them on.
 * `utf16_limits` counts an emoji as two, `ttl_by_channel` refuses a ttl above the limit of the channel, `receipt_address_refused`
 * refuses every callback.
 */
export const optionalRules = ['utf16_limits', 'ttl_by_channel', 'receipt_address_refused'] as const
export type OptionalRule = (typeof optionalRules)[number]

/** Xiaomi's short Chinese text of a code. */
export const descriptions: Readonly<Record<number, string>> = {
  10012: '非法请求',
  10016: '缺少必选参数',
  10017: '参数值非法',
  10036: '操作被禁止',
  20301: '发送消息失败',
  21301: '认证失败',
  22022: '应用包名不合法',
  27001: 'channel相关信息不匹配',
  65009: '内容太长',
  65014: 'extra键值对过多',
  65015: 'extra键值对过长',
  65036: 'callback参数过长',
  65037: 'callback url过长',
  65038: 'callback url不合法',
  200001: '当日推送总量超限',
  200002: 'QPS超限',
}

const defaultChannels: NonNullable<XiaomiSimApp['channels']> = { 100001: 'public', 100002: 'private' }

/** `extra.*` names that Xiaomi defines; at most ten others are allowed. */
const builtIn = new Set(
  [
    'notify_effect intent_uri web_uri notify_foreground sound_uri channel_id channel_name channel_description',
    'template_id template_param jobkey only_send_once flow_control ticker callback callback.param callback.type',
    'notification_style_type notification_bigPic_uri notification_large_icon_uri badge',
    'locale locale_not_in model model_not_in app_version app_version_not_in connpt',
  ]
    .join(' ')
    .split(' '),
)

const dayMs = 86_400_000
const sevenDaysMs = 7 * dayMs
/** How long messages are kept. */
const maxTtlMs = { private: 10 * dayMs, public: dayMs }

type Fields = ReadonlyMap<string, string>
type Input = { fields: Fields; app: XiaomiSimApp; now: number; has(rule: OptionalRule): boolean }
type MessageRule = Rule<Input, Refusal>

const bad = (name: string): Refusal => ({ code: 10017, reason: `Invalid parameter value: ${name}` })
const absent = (name: string): Refusal => ({ code: 10016, reason: `${name} is missing` })
const mismatch: Refusal = { code: 27001, reason: 'invalid channel info!' }

const isPassThrough = ({ fields }: Input) => fields.get('pass_through') === '1'
const bytesOf = (text = '') => Buffer.byteLength(text)
/** A rule for notifications: pass-through messages have no texts and no effect. */
const shown = (holds: (fields: Fields) => boolean, refusal: Refusal): MessageRule => [
  (input) => isPassThrough(input) || holds(input.fields),
  refusal,
]
const text = (name: string, max: number): MessageRule => [
  (input) => {
    const value = input.fields.get(name) ?? ''
    const length = input.has('utf16_limits') ? value.length : countCodePoints(value)
    return isPassThrough(input) || (value.trim() !== '' && length <= max)
  },
  bad(name),
]
const effect = (value: string, holds: (fields: Fields) => boolean, name: string) =>
  shown((fields) => fields.get('extra.notify_effect') !== value || holds(fields), bad(name))
const number = (name: string, range: (now: number) => [min: number, max: number]): MessageRule => [
  ({ fields, now }) => isInRange(fields.get(name), ...range(now)),
  bad(name),
]

/** The rules of the parameter page, in its order. */
const rules: readonly MessageRule[] = [
  [({ fields }) => Boolean(fields.get('restricted_package_name')), absent('restricted_package_name')],
  [
    ({ fields, app: { packageName } }) =>
      packageName === undefined ||
      fields
        .get('restricted_package_name')!
        .split(',')
        .every((name) => name.trim() === packageName),
    { code: 22022, reason: 'package name does not match' },
  ],
  [({ fields }) => ['0', '1', undefined].includes(fields.get('pass_through')), bad('pass_through')],
  [
    ({ fields }) => (fields.get('payload') ?? '').length < 4096,
    { code: 65009, reason: 'payload is too long' },
  ],
  [
    (input) => !isPassThrough(input) || input.app.switches?.allowPassThrough !== false,
    { code: 10036, reason: 'pass-through is no longer provided' },
  ],
  [(input) => !isPassThrough(input) || Boolean(input.fields.get('payload')), absent('payload')],
  text('title', 49),
  text('description', 127),
  shown((fields) => /^[123]$/.test(fields.get('extra.notify_effect') ?? ''), bad('extra.notify_effect')),
  effect('2', (fields) => Boolean(fields.get('extra.intent_uri')), 'extra.intent_uri'),
  effect('3', (fields) => /^https?:\/\/./.test(fields.get('extra.web_uri') ?? ''), 'extra.web_uri'),
  shown(
    (fields) => ['0', '1', undefined].includes(fields.get('extra.notify_foreground')),
    bad('extra.notify_foreground'),
  ),
  number('notify_id', () => [0, 2147483647]),
  number('notify_type', () => [-1, 7]),
  number('time_to_live', () => [0, Number.MAX_SAFE_INTEGER]),
  [
    ({ fields, app, has }) =>
      !has('ttl_by_channel') ||
      Number(fields.get('time_to_live') ?? 0) <= maxTtlMs[channelOf(fields, app) ?? 'public'],
    bad('time_to_live'),
  ],
  number('time_to_send', (now) => [now, now + sevenDaysMs]),
  [({ fields }) => ownExtras(fields).length <= 10, { code: 65014, reason: 'too many extra pairs' }],
  [
    ({ fields }) => ownExtras(fields).every(([key, value]) => key.length <= 1024 && value.length <= 1024),
    { code: 65015, reason: 'an extra pair is too long' },
  ],
  [
    ({ fields }) => /^[0-9A-Za-z-][0-9A-Za-z_-]{0,19}$/.test(fields.get('extra.jobkey') ?? '-'),
    bad('extra.jobkey'),
  ],
  [
    ({ fields }) => bytesOf(fields.get('extra.callback')) <= 128,
    { code: 65037, reason: 'callback url is too long' },
  ],
  [
    ({ fields }) => /^https?:\/\/[^/\s]+/.test(fields.get('extra.callback') ?? 'http://none'),
    { code: 65038, reason: 'callback url is illegal' },
  ],
  [
    ({ fields, has }) => !fields.has('extra.callback') || !has('receipt_address_refused'),
    { code: 65038, reason: 'callback url is illegal' },
  ],
  [
    ({ fields }) => bytesOf(fields.get('extra.callback.param')) <= 64,
    { code: 65036, reason: 'callback param is too long' },
  ],
  [({ fields, app }) => fields.has('extra.channel_id') || !app.switches?.requireChannel, mismatch],
  [({ fields, app }) => !fields.has('extra.channel_id') || channelOf(fields, app) !== undefined, mismatch],
  [
    ({ fields, app }) =>
      fields.has('extra.template_id') ||
      channelOf(fields, app) !== 'private' ||
      !app.switches?.requireTemplate,
    absent('template_id'),
  ],
  [
    ({ fields, app: { templates } }) => {
      const id = templateId(fields)
      return id === undefined || !templates || Object.hasOwn(templates, id)
    },
    bad('extra.template_id'),
  ],
  [
    ({ fields, app }) => templateId(fields) === undefined || hasTemplateValues(fields, app),
    bad('extra.template_param'),
  ],
]

/** The refusal of one message's form fields; undefined if they meet all rules. */
export function checkMessage(
  fields: Fields,
  app: XiaomiSimApp,
  now: number,
  has: (rule: OptionalRule) => boolean,
): Refusal | undefined {
  return findRefusal(rules, { fields, app, now, has })
}

/** Of /v1/message/regid/revoke. */
export function checkRevoke(fields: Fields, { packageName }: XiaomiSimApp): Refusal | undefined {
  const given = fields.get('restricted_package_name')
  if (!given) return absent('restricted_package_name')
  if (packageName !== undefined && given !== packageName)
    return { code: 22022, reason: 'package name does not match' }
  if (!fields.get('registration_ids')) return absent('registration_ids')
  if (!fields.has('notify_id')) return absent('notify_id')
  return isInRange(fields.get('notify_id'), 0, 2147483647) ? undefined : bad('notify_id')
}

/** Converts one message of `multi_messages` to the fields of a single send. */
export function flattenMessage(message: Record<string, unknown>): Map<string, string> {
  const fields = new Map<string, string>()
  for (const [name, value] of Object.entries(message)) {
    if (name === 'extra' && typeof value === 'object' && value !== null)
      for (const [key, item] of Object.entries(value)) fields.set(`extra.${key}`, String(item))
    else fields.set(name, String(value))
  }
  return fields
}

function ownExtras(fields: Fields): [key: string, value: string][] {
  return [...fields].flatMap(([name, value]): [string, string][] => {
    const key = name.startsWith('extra.') ? name.slice('extra.'.length) : undefined
    return key === undefined || builtIn.has(key) ? [] : [[key, value]]
  })
}

function channelOf(fields: Fields, app: XiaomiSimApp): 'public' | 'private' | undefined {
  const channels = app.channels ?? defaultChannels
  const id = fields.get('extra.channel_id') ?? ''
  return Object.hasOwn(channels, id) ? channels[id] : undefined
}

/** Templates are checked only for messages with a channel. */
const templateId = (fields: Fields) =>
  fields.has('extra.channel_id') ? fields.get('extra.template_id') : undefined

function hasTemplateValues(fields: Fields, { templates }: XiaomiSimApp): boolean {
  const values = parseObject(fields.get('extra.template_param') ?? '{}')
  if (!values) return false
  const variables = templates?.[templateId(fields)!]
  const keys = Object.keys(values)
  return (
    keys.length <= 9 &&
    (!variables || (variables.length === keys.length && keys.every((key) => variables.includes(key)))) &&
    Object.values(values).every(isTemplateValue)
  )
}

function isTemplateValue(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    value.trim() !== '' &&
    countCodePoints(value) <= 128 &&
    !/[\p{Extended_Pictographic}\p{So}\p{Cn}]/u.test(value)
  )
}
