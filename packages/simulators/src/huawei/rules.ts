import { isHttps, isObject, isText, isWhole } from '../frame/fields.ts'
import { findRefusal, type Rule } from '../frame/rules.ts'
import { type Answer, answer } from './answers.ts'

/** A request of v1 or v2 that meets every rule. */
export type ClassicMessage = {
  tokens: readonly string[]
  biTag?: string
  receiptId?: string
  validateOnly: boolean
  category?: string
  hasImage: boolean
  isNotification: boolean
  isTest: boolean
}

type ClassicSwitches = { highAllowed: boolean }

type Fields = Record<string, unknown>
type Input = ClassicSwitches & {
  message: Fields
  rawBytes: number
  tokens: unknown
  /** Messages to topics and conditions are accepted without devices: the simulator has no subscriptions. */
  toDevices: boolean
  android: Fields
  /** The notification as Android shows it; undefined for a data message. */
  shown?: Fields
}
type BodyRule = Rule<Input, Answer>

const parameter = (detail: string): Answer => answer('80100001', `Invalid parameter: ${detail}`)
const isOptionalText = (value: unknown) => value === undefined || typeof value === 'string'
const isOptionalWhole = (value: unknown, min: number, max: number) =>
  value === undefined || isWhole(value, min, max)
const isOptionalObject = (value: unknown) => value === undefined || isObject(value)
const isTokenList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length <= 1000 && value.every(isText)
/** Seconds as a string, with or without an s, with up to nine decimals. */
const secondsOf = (ttl: unknown) =>
  typeof ttl === 'string' ? /^(\d+(?:\.\d{1,9})?)[sS]?$/.exec(ttl)?.[1] : undefined

const formRules: readonly BodyRule[] = [
  [
    ({ message }) =>
      ['token', 'topic', 'condition'].filter((name) => message[name] !== undefined).length <= 1,
    parameter('only one of token, topic and condition may be set'),
  ],
  [
    ({ tokens, toDevices }) => isTokenList(tokens) && (!toDevices || tokens.length > 0),
    answer('80300010', 'The number of tokens in the message body exceeds the default value'),
  ],
  [
    ({ tokens, rawBytes }) => rawBytes - Buffer.byteLength(JSON.stringify(tokens)) <= 4096,
    answer('80300008', 'The length of the message body exceeds the default value'),
  ],
  [({ message }) => isOptionalText(message.data), parameter('data must be a string')],
  [({ message }) => isOptionalObject(message.notification), parameter('notification must be an object')],
  [({ message }) => isOptionalObject(message.android), parameter('android must be an object')],
]

const android = (holds: (android: Fields) => boolean, refusal: string | Answer): BodyRule => [
  (input) => holds(input.android),
  typeof refusal === 'string' ? parameter(refusal) : refusal,
]
const androidRules: readonly BodyRule[] = [
  // Any word is accepted; what is not a known category counts as marketing.
  android(({ category }) => isOptionalText(category), 'category must be a string'),
  android(({ urgency }) => [undefined, 'NORMAL', 'HIGH'].includes(urgency as string), 'urgency is not known'),
  [
    ({ android, shown, highAllowed }) =>
      highAllowed || (android.urgency !== 'HIGH' && shown?.importance !== 'HIGH'),
    answer('80300011', 'No permission to send high-level notification messages'),
  ],
  android(
    ({ ttl }) => ttl === undefined || secondsOf(ttl) !== undefined,
    'ttl must be seconds such as 86400s',
  ),
  android(({ ttl }) => Number(secondsOf(ttl) ?? 0) <= 1_296_000, 'ttl must be at most 1296000s'),
  android(
    ({ collapse_key: key }) => isOptionalWhole(key, -1, 100),
    answer('80100013', 'Invalid collapse_key'),
  ),
  ...['bi_tag', 'receipt_id'].map((name) =>
    android((fields) => isOptionalText(fields[name]), `${name} must be a string`),
  ),
  android(({ data }) => isOptionalText(data), 'android.data must be a string'),
  android(({ target_user_type: type }) => isOptionalWhole(type, 0, 1), 'target_user_type must be 0 or 1'),
  android(({ fast_app_target: target }) => isOptionalWhole(target, 1, 2), 'fast_app_target must be 1 or 2'),
  [
    ({ message, android, shown }) =>
      shown !== undefined || message.data !== undefined || android.data !== undefined,
    parameter('neither data nor notification is set'),
  ],
  android(({ notification }) => isOptionalObject(notification), 'android.notification must be an object'),
]

const allowedValues: Readonly<Record<string, readonly string[]>> = {
  importance: ['LOW', 'NORMAL', 'HIGH'],
  visibility: ['VISIBILITY_UNSPECIFIED', 'PUBLIC', 'SECRET', 'PRIVATE'],
}
const notice = (holds: (shown: Fields) => boolean, detail: string): BodyRule => [
  ({ shown }) => shown === undefined || holds(shown),
  parameter(detail),
]
const click = (holds: (click: Fields) => boolean, detail: string) =>
  notice(({ click_action }) => holds(click_action as Fields), detail)
const badge = (holds: (badge: Fields) => boolean, detail: string) =>
  notice((shown) => shown.badge === undefined || holds(shown.badge as Fields), detail)
const noticeRules: readonly BodyRule[] = [
  ...['title', 'body'].map((name) => notice((shown) => isText(shown[name]), `${name} is missing`)),
  ...Object.entries(allowedValues).map(([name, allowed]) =>
    notice(
      (shown) => shown[name] === undefined || allowed.includes(shown[name] as string),
      `${name} is not known`,
    ),
  ),
  ...['channel_id', 'sound', 'tag', 'group'].map((name) =>
    notice((shown) => isOptionalText(shown[name]), `${name} must be a string`),
  ),
  notice(
    ({ default_sound: sound }) => sound === undefined || typeof sound === 'boolean',
    'default_sound must be true or false',
  ),
  notice(
    ({ foreground_show: show }) => show === undefined || typeof show === 'boolean',
    'foreground_show must be true or false',
  ),
  notice(({ image }) => image === undefined || isHttps(image), 'image must be an https URL'),
  notice(({ notify_id: id }) => isOptionalWhole(id, -1, 2147483647), 'notify_id must be an int'),
  notice(({ click_action }) => isObject(click_action), 'click_action is missing'),
  click(({ type }) => isWhole(type, 1, 4), 'click_action.type is not known'),
  click(
    ({ type, intent, action }) => type !== 1 || isText(intent) || isText(action),
    'click_action of type 1 needs intent or action',
  ),
  click(({ type, url }) => type !== 2 || isHttps(url), 'click_action of type 2 needs an https url'),
  notice(({ style }) => [undefined, 0, 1, 3].includes(style as number), 'style is not known'),
  notice(
    ({ style, big_title, big_body }) => style !== 1 || (isText(big_title) && isText(big_body)),
    'style 1 needs big_title and big_body',
  ),
  notice(
    ({ style, inbox_content: lines }) =>
      style !== 3 ||
      (Array.isArray(lines) &&
        isWhole(lines.length, 1, 5) &&
        lines.every((line) => typeof line === 'string' && line.length <= 1024)),
    'style 3 needs inbox_content of at most 5 lines',
  ),
  badge((badge) => isObject(badge) && isText(badge.class), 'badge needs class'),
  badge(({ add_num }) => isOptionalWhole(add_num, 1, 99), 'badge.add_num must be 1 to 99'),
  badge(({ set_num }) => isOptionalWhole(set_num, 0, 99), 'badge.set_num must be 0 to 99'),
  notice(
    ({ buttons }) => buttons === undefined || (Array.isArray(buttons) && buttons.length <= 3),
    'at most 3 buttons',
  ),
  notice(
    ({ buttons = [] }) =>
      (buttons as unknown[]).every(
        (button) => isObject(button) && isText(button.name) && isWhole(button.action_type, 0, 4),
      ),
    'a button needs name and action_type',
  ),
]

const rules = [...formRules, ...androidRules, ...noticeRules]

/** Checks a body as the reference of messages:send describes it; returns the refusal of the first rule that is not met. */
export function checkClassic(
  body: unknown,
  rawBytes: number,
  switches: ClassicSwitches,
): ClassicMessage | Answer {
  if (!isObject(body) || !isObject(body.message)) return answer('80100003', 'Illegal payload')
  const { message } = body
  const android = isObject(message.android) ? message.android : {}
  const toDevices = message.topic === undefined && message.condition === undefined
  const tokens = toDevices ? message.token : []
  const isNotification = message.notification !== undefined || android.notification !== undefined
  const shown = isNotification
    ? { ...(message.notification as Fields), ...(android.notification as Fields) }
    : undefined
  const refusal = findRefusal(rules, { ...switches, message, rawBytes, tokens, toDevices, android, shown })
  if (refusal) return refusal
  return {
    tokens: tokens as string[],
    biTag: android.bi_tag as string | undefined,
    receiptId: android.receipt_id as string | undefined,
    validateOnly: body.validate_only === true,
    category: android.category as string | undefined,
    hasImage: shown?.image !== undefined,
    isNotification,
    isTest: android.target_user_type === 1,
  }
}
