import type { TlsAnswer } from '../frame/tls-exchange.ts'
import { checkApns } from './apns-block.ts'
import { badCondition, badField, badToken, noTarget, tooLarge } from './errors.ts'

/** A message that FCM would accept. Field names are snake_case. */
export type SimMessage = {
  token?: string
  topic?: string
  condition?: string
  data: Record<string, string>
  fields: Record<string, unknown>
}

/** The type of each field: string, boolean, integer, list, map of strings, any value, or another object. */
type Shape = { [field: string]: 'text' | 'flag' | 'count' | 'list' | 'texts' | 'any' | Shape }

const analytics: Shape = { analytics_label: 'text' }

const androidNotification: Shape = {
  title: 'text',
  body: 'text',
  icon: 'text',
  color: 'text',
  sound: 'text',
  tag: 'text',
  click_action: 'text',
  body_loc_key: 'text',
  body_loc_args: 'list',
  title_loc_key: 'text',
  title_loc_args: 'list',
  channel_id: 'text',
  ticker: 'text',
  sticky: 'flag',
  event_time: 'text',
  local_only: 'flag',
  notification_priority: 'text',
  default_sound: 'flag',
  default_vibrate_timings: 'flag',
  default_light_settings: 'flag',
  vibrate_timings: 'list',
  visibility: 'text',
  notification_count: 'count',
  light_settings: 'any',
  image: 'text',
  proxy: 'text',
  bypass_proxy_notification: 'flag',
}

/** https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages */
const messageShape: Shape = {
  name: 'text',
  token: 'text',
  fid: 'text',
  topic: 'text',
  condition: 'text',
  data: 'texts',
  notification: { title: 'text', body: 'text', image: 'text' },
  fcm_options: analytics,
  android: {
    collapse_key: 'text',
    priority: 'text',
    ttl: 'text',
    restricted_package_name: 'text',
    data: 'texts',
    notification: androidNotification,
    fcm_options: analytics,
    direct_boot_ok: 'flag',
    bandwidth_constrained_ok: 'flag',
    restricted_satellite_ok: 'flag',
  },
  apns: {
    headers: 'texts',
    payload: 'any',
    fcm_options: { ...analytics, image: 'text' },
    live_activity_token: 'text',
  },
  webpush: {
    headers: 'texts',
    data: 'texts',
    notification: 'any',
    fcm_options: { ...analytics, link: 'text' },
  },
}

const maxBytes = 4096
const reservedKey = /^(from|message_type)$|^google|^gcm/
const tokenShape = /^[A-Za-z0-9_-]+:[A-Za-z0-9_-]+$/
const topicShape = /^[a-zA-Z0-9\-_.~%]+$/
const conditionShape = /^[\s()!]*'[^']+' in topics[\s()]*((&&|\|\|)[\s()!]*'[^']+' in topics[\s()]*){0,4}$/

/** The message of a request, or FCM's refusal. */
export function readMessage(body: string): { message: SimMessage; validateOnly: boolean } | TlsAnswer {
  let request: unknown
  try {
    request = JSON.parse(body)
  } catch {
    return badField('', 'Invalid JSON payload received. Unexpected token.', false)
  }
  const outer = readObject(request, '', { message: messageShape, validate_only: 'flag' })
  if ('status' in outer) return outer
  const fields = (outer.fields.message ?? {}) as Record<string, unknown>
  const message: SimMessage = {
    token: fields.token as string | undefined,
    topic: fields.topic as string | undefined,
    condition: fields.condition as string | undefined,
    data: (fields.data ?? {}) as Record<string, string>,
    fields,
  }
  return checkMessage(message) ?? { message, validateOnly: outer.fields.validate_only === true }
}

function checkMessage({ fields, token, topic, condition, data }: SimMessage): TlsAnswer | undefined {
  const targets = ['token', 'fid', 'topic', 'condition'].filter((name) => fields[name] !== undefined)
  if (targets.length === 0) return noTarget
  if (targets.length > 1) return badField('message', 'Only one recipient of the message may be set.', false)
  if (token !== undefined && !tokenShape.test(token)) return badToken
  if (topic !== undefined && !topicShape.test(topic))
    return badField('message.topic', 'Topic name contains invalid characters.')
  if (condition !== undefined && !conditionShape.test(condition)) return badCondition
  for (const key of Object.keys(data))
    if (reservedKey.test(key)) return badField('message.data', `Invalid data payload key: ${key}`)
  return checkAndroid(fields) ?? checkApns(fields) ?? (sizeOf(fields) > maxBytes ? tooLarge : undefined)
}

function checkAndroid(fields: Record<string, unknown>): TlsAnswer | undefined {
  const android = (fields.android ?? {}) as Record<string, unknown>
  const { ttl, priority } = android
  if (typeof ttl === 'string') {
    const seconds = /^(\d+)(\.\d{1,9})?s$/.exec(ttl)?.[1]
    if (seconds === undefined || Number(seconds) > 2_419_200)
      return badField('message.android.ttl', 'Invalid value for TTL.')
  }
  if (typeof priority === 'string' && !/^(normal|high)$/i.test(priority))
    return badField(
      'message.android.priority',
      `Invalid value at 'message.android.priority' (type.googleapis.com/google.firebase.fcm.v1.AndroidMessagePriority), "${priority}"`,
      false,
    )
  const shown = (android.notification ?? {}) as Record<string, unknown>
  if (typeof shown.color === 'string' && !/^#[0-9a-f]{6}$/i.test(shown.color))
    return badField('message.android.notification.color', 'Invalid color.')
  const images: [string, unknown][] = [
    ['message.android.notification.image', shown.image],
    ['message.notification.image', (fields.notification as Record<string, unknown> | undefined)?.image],
    ['message.apns.fcm_options.image', apnsImage(fields.apns)],
  ]
  for (const [field, image] of images)
    if (typeof image === 'string' && !isWebUrl(image)) return badField(field, 'Invalid image URL.')
  return undefined
}

function apnsImage(apns: unknown): unknown {
  return (apns as { fcm_options?: { image?: unknown } } | undefined)?.fcm_options?.image
}

function isWebUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

type ReadFields = { fields: Record<string, unknown> }

function readObject(value: unknown, path: string, shape: Shape): ReadFields | TlsAnswer {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return badField(path, `Invalid value at '${path || 'request'}'`, false)
  const fields: Record<string, unknown> = {}
  for (const [given, item] of Object.entries(value)) {
    const name = given.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    const kind = Object.hasOwn(shape, name) ? shape[name] : undefined
    const place = path ? `${path}.${name}` : name
    if (kind === undefined)
      return badField(
        path || 'message',
        `Invalid JSON payload received. Unknown name "${given}" at '${path}': Cannot find field.`,
        false,
      )
    if (item === null) continue
    if (typeof kind === 'object') {
      const inner = readObject(item, place, kind)
      if ('status' in inner) return inner
      fields[name] = inner.fields
      continue
    }
    const wrong = checkKind(item, place, kind)
    if (wrong) return wrong
    fields[name] = item
  }
  return { fields }
}

function checkKind(
  value: unknown,
  place: string,
  kind: Exclude<Shape[string], object>,
): TlsAnswer | undefined {
  const invalid = (at: string, type: string, bad: unknown) =>
    badField(at, `Invalid value at '${at}' (${type}), ${JSON.stringify(bad)}`, false)
  switch (kind) {
    case 'text':
      return typeof value === 'string' ? undefined : invalid(place, 'TYPE_STRING', value)
    case 'flag':
      return typeof value === 'boolean' ? undefined : invalid(place, 'TYPE_BOOL', value)
    case 'count':
      return Number.isInteger(value) ? undefined : invalid(place, 'TYPE_INT32', value)
    case 'list':
      return Array.isArray(value) ? undefined : invalid(place, 'TYPE_STRING', value)
    case 'texts': {
      if (typeof value !== 'object' || value === null || Array.isArray(value))
        return invalid(place, 'TYPE_MESSAGE', value)
      const at = Object.values(value).findIndex((item) => typeof item !== 'string')
      return at < 0 ? undefined : invalid(`${place}[${at}].value`, 'TYPE_STRING', Object.values(value)[at])
    }
    case 'any':
      return undefined
  }
}

/** Keys and values of the data and the texts of the notification. Google does not publish what exactly it counts. */
function sizeOf(fields: Record<string, unknown>): number {
  const android = (fields.android ?? {}) as Record<string, unknown>
  let bytes = 0
  for (const [key, value] of Object.entries((android.data ?? fields.data ?? {}) as Record<string, string>))
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
  for (const part of [fields.notification, android.notification])
    for (const value of Object.values((part ?? {}) as Record<string, unknown>))
      if (typeof value === 'string') bytes += Buffer.byteLength(value)
  return bytes
}
