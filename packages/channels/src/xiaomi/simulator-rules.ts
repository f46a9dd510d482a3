import { parseObject } from '../shared/http.ts'
import { countCodePoints } from '../shared/truncate.ts'

/** A refusal in Xiaomi's terms; undefined = the message is fine. */
export type Refusal = { code: number; reason: string }

/** An application registered in the simulated console. */
export type XiaomiSimApp = {
  appSecret: string
  /** Absent: any package, for load tests that accept any credential. */
  packageName?: string
  /** Registered channels by id; absent: `100001` public and `100002` private. */
  channels?: Readonly<Record<string, 'public' | 'private'>>
  /** Approved templates and their variables; absent: any template id, its parameters checked by form. */
  templates?: Readonly<Record<string, readonly string[]>>
  switches?: XiaomiSimSwitches
}

/** What one application may be told to do; all off by default but pass-through, whose end has no known date. */
export type XiaomiSimSwitches = {
  /** Every send is answered with this code. */
  forceCode?: number
  requestsPerSecond?: number
  /** Deliveries a day in Asia/Shanghai. */
  dailyQuota?: number
  allowPassThrough?: boolean
  /** Applications fully moved to the new classes cannot send without a channel. */
  requireChannel?: boolean
  /** Private channels need an approved template (one source). */
  requireTemplate?: boolean
}

/** Xiaomi's short Chinese text of a code; clients log it, none should read it. */
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

/** `extra.*` names that Xiaomi itself defines; every other one is the caller's own and counts to ten. */
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

const sevenDaysMs = 7 * 86_400_000

/** One message's form fields against the rules of the parameter page, in the order a reader meets them there. */
export function checkMessage(
  fields: ReadonlyMap<string, string>,
  app: XiaomiSimApp,
  nowMs: number,
): Refusal | undefined {
  return (
    checkPackage(fields, app) ??
    checkContent(fields, app) ??
    checkNumbers(fields, nowMs) ??
    checkExtras(fields) ??
    checkCallback(fields) ??
    checkChannel(fields, app)
  )
}

/** Flattens one message of `multi_messages` into the fields of a single send. */
export function flattenMessage(message: Record<string, unknown>): Map<string, string> {
  const fields = new Map<string, string>()
  for (const [name, value] of Object.entries(message)) {
    if (name === 'extra' && typeof value === 'object' && value !== null)
      for (const [key, item] of Object.entries(value)) fields.set(`extra.${key}`, String(item))
    else fields.set(name, String(value))
  }
  return fields
}

function checkPackage(fields: ReadonlyMap<string, string>, app: XiaomiSimApp): Refusal | undefined {
  const named = fields.get('restricted_package_name')
  if (!named) return { code: 10016, reason: 'restricted_package_name is missing' }
  if (app.packageName !== undefined && named.split(',').some((name) => name.trim() !== app.packageName))
    return { code: 22022, reason: 'package name does not match' }
  return undefined
}

function checkContent(fields: ReadonlyMap<string, string>, app: XiaomiSimApp): Refusal | undefined {
  const passThrough = fields.get('pass_through') ?? '0'
  if (passThrough !== '0' && passThrough !== '1') return bad('pass_through')
  const payload = fields.get('payload') ?? ''
  if (payload.length >= 4096) return { code: 65009, reason: 'payload is too long' }
  if (passThrough === '1') {
    if (app.switches?.allowPassThrough === false)
      return { code: 10036, reason: 'pass-through is no longer provided' }
    return payload === '' ? { code: 10016, reason: 'payload is missing' } : undefined
  }
  for (const [name, most] of [['title', 49] as const, ['description', 127] as const]) {
    const text = fields.get(name) ?? ''
    if (text.trim() === '' || countCodePoints(text) > most) return bad(name)
  }
  return checkEffect(fields)
}

function checkEffect(fields: ReadonlyMap<string, string>): Refusal | undefined {
  switch (fields.get('extra.notify_effect')) {
    case '1':
      return undefined
    case '2':
      return fields.get('extra.intent_uri') ? undefined : bad('extra.intent_uri')
    case '3':
      return /^https?:\/\/./.test(fields.get('extra.web_uri') ?? '') ? undefined : bad('extra.web_uri')
    default:
      return bad('extra.notify_effect')
  }
}

function checkNumbers(fields: ReadonlyMap<string, string>, nowMs: number): Refusal | undefined {
  if (!inRange(fields.get('notify_id'), 0, 2147483647)) return bad('notify_id')
  if (!inRange(fields.get('notify_type'), -1, 7)) return bad('notify_type')
  if (!inRange(fields.get('time_to_live'), 0, Number.MAX_SAFE_INTEGER)) return bad('time_to_live')
  if (!inRange(fields.get('time_to_send'), nowMs, nowMs + sevenDaysMs)) return bad('time_to_send')
  return undefined
}

function checkExtras(fields: ReadonlyMap<string, string>): Refusal | undefined {
  let own = 0
  for (const [name, value] of fields) {
    if (!name.startsWith('extra.')) continue
    const key = name.slice('extra.'.length)
    if (builtIn.has(key)) continue
    if (++own > 10) return { code: 65014, reason: 'too many extra pairs' }
    if (key.length > 1024 || value.length > 1024) return { code: 65015, reason: 'an extra pair is too long' }
  }
  const jobkey = fields.get('extra.jobkey')
  if (jobkey !== undefined && !/^[0-9A-Za-z-][0-9A-Za-z_-]{0,19}$/.test(jobkey)) return bad('extra.jobkey')
  return undefined
}

function checkCallback(fields: ReadonlyMap<string, string>): Refusal | undefined {
  const url = fields.get('extra.callback')
  if (url !== undefined) {
    if (Buffer.byteLength(url) > 128) return { code: 65037, reason: 'callback url is too long' }
    if (!/^https?:\/\/[^/\s]+/.test(url)) return { code: 65038, reason: 'callback url is illegal' }
  }
  if (Buffer.byteLength(fields.get('extra.callback.param') ?? '') > 64)
    return { code: 65036, reason: 'callback param is too long' }
  return undefined
}

function checkChannel(fields: ReadonlyMap<string, string>, app: XiaomiSimApp): Refusal | undefined {
  const mismatch = { code: 27001, reason: 'invalid channel info!' }
  const id = fields.get('extra.channel_id')
  if (id === undefined) return app.switches?.requireChannel ? mismatch : undefined
  const channels = app.channels ?? defaultChannels
  if (!Object.hasOwn(channels, id)) return mismatch
  const templateId = fields.get('extra.template_id')
  if (templateId === undefined)
    return channels[id] === 'private' && app.switches?.requireTemplate
      ? { code: 10016, reason: 'template_id is missing' }
      : undefined
  return checkTemplate(templateId, fields.get('extra.template_param'), app)
}

function checkTemplate(id: string, param: string | undefined, app: XiaomiSimApp): Refusal | undefined {
  if (app.templates && !Object.hasOwn(app.templates, id)) return bad('extra.template_id')
  const values = param === undefined ? {} : parseObject(param)
  if (!values) return bad('extra.template_param')
  const variables = app.templates?.[id]
  const keys = Object.keys(values)
  const matches =
    !variables || (variables.length === keys.length && keys.every((key) => variables.includes(key)))
  return matches && keys.length <= 9 && Object.values(values).every(isTemplateValue)
    ? undefined
    : bad('extra.template_param')
}

function isTemplateValue(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    value.trim() !== '' &&
    countCodePoints(value) <= 128 &&
    !/\p{Extended_Pictographic}/u.test(value)
  )
}

function inRange(value: string | undefined, least: number, most: number): boolean {
  if (value === undefined) return true
  return /^-?\d{1,16}$/.test(value) && Number(value) >= least && Number(value) <= most
}

function bad(name: string): Refusal {
  return { code: 10017, reason: `Invalid parameter value: ${name}` }
}
