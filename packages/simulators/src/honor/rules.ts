import { isHttps, isObject, isText, isWhole } from '../frame/fields.ts'
import { findRefusal, type Rule } from '../frame/rules.ts'

/** A request that meets every rule. */
export type HonorMessage = { tokens: readonly string[]; biTag?: string; marketing: boolean; test: boolean }
export type Refusal = { code: number; message: string }

type Fields = Record<string, unknown>

const parameter = (message: string): Refusal => ({ code: 80100001, message })
const unknownField = (name: string): Refusal => ({
  code: 80100003,
  message: `${name} is not a field of this interface`,
})

/** Rules that not every source of the reference has. */
export type HonorSwitches = {
  bigTextEqualsBody: boolean
  noMarketingPictures: boolean
  /** The app may show no picture at all. */
  noPictures: boolean
}

type Input = HonorSwitches & {
  body: Fields
  rawBytes: number
  android: Fields
  /** The notification as Android shows it; undefined for a data message. */
  shown?: Fields
}
type BodyRule = Rule<Input, Refusal>

const formRules: readonly BodyRule[] = [
  // The most common mistake is a body written for another vendor.
  [({ body }) => body.message === undefined, unknownField('message')],
  [({ body }) => snakeKeyOf(body) === undefined, ({ body }) => unknownField(snakeKeyOf(body)!)],
  [
    ({ body: { token } }) => Array.isArray(token) && token.every(isText),
    parameter('token must be a list of strings'),
  ],
  [
    ({ body }) => isWhole((body.token as string[]).length, 1, 1000),
    { code: 80300010, message: 'token count must be 1 to 1000' },
  ],
  [
    ({ body, rawBytes }) => rawBytes - Buffer.byteLength(JSON.stringify(body.token)) <= 4096,
    { code: 80300008, message: 'body too large' },
  ],
  [
    ({ body: { data } }) => data === undefined || typeof data === 'string',
    parameter('data must be a string'),
  ],
  [({ body }) => isOptionalObject(body.notification), parameter('notification must be an object')],
  [({ body }) => isOptionalObject(body.android), parameter('android must be an object')],
  [
    ({ android }) => isOptionalObject(android.notification),
    parameter('android.notification must be an object'),
  ],
  [
    ({ body, android, shown }) =>
      shown !== undefined || body.data !== undefined || android.data !== undefined,
    parameter('neither data nor notification is set'),
  ],
]

const on = (field: string, holds: (value: unknown) => boolean, message: string): BodyRule => [
  ({ android }) => android[field] === undefined || holds(android[field]),
  parameter(message),
]
const isSeconds = (ttl: unknown) => typeof ttl === 'string' && /^\d+s?$/.test(ttl)
const androidRules: readonly BodyRule[] = [
  on('ttl', isSeconds, 'ttl must be seconds such as 86400s'),
  on('ttl', (ttl) => Number.parseInt(ttl as string, 10) <= 1_296_000, 'ttl must be at most 1296000s'),
  on('biTag', (tag) => typeof tag === 'string', 'biTag must be a string'),
  on('data', (data) => typeof data === 'string', 'android.data must be a string'),
  on('targetUserType', (type) => isWhole(type, 0, 1), 'targetUserType must be 0 or 1'),
]

const notice = (holds: (shown: Fields) => boolean, message: string): BodyRule => [
  ({ shown }) => shown === undefined || holds(shown),
  parameter(message),
]
const click = (holds: (click: Fields) => boolean, message: string) =>
  notice(({ clickAction }) => holds(clickAction as Fields), message)
const badge = (holds: (badge: Fields) => boolean, message: string) =>
  notice((shown) => shown.badge === undefined || holds(shown.badge as Fields), message)
const isOptionalWhole = (value: unknown, min: number, max: number) =>
  value === undefined || isWhole(value, min, max)
const noticeRules: readonly BodyRule[] = [
  notice(({ title }) => isText(title), 'title is missing'),
  notice(({ body }) => isText(body), 'body is missing'),
  notice(({ image }) => image === undefined || image === '' || isHttps(image), 'image must be an https URL'),
  notice(
    ({ importance }) => [undefined, 'LOW', 'NORMAL'].includes(importance as string),
    'importance must be LOW or NORMAL',
  ),
  notice(({ style }) => isOptionalWhole(style, 0, 1), 'style must be 0 or 1'),
  notice(
    ({ style, bigTitle, bigBody }) => style !== 1 || (isText(bigTitle) && isText(bigBody)),
    'style 1 needs bigTitle and bigBody',
  ),
  [
    ({ shown, bigTextEqualsBody }) =>
      !bigTextEqualsBody ||
      shown?.style !== 1 ||
      (shown.bigTitle === shown.title && shown.bigBody === shown.body),
    parameter('bigTitle and bigBody must equal title and body'),
  ],
  [
    ({ shown, noMarketingPictures }) =>
      !noMarketingPictures || !shown?.image || shown.importance === 'NORMAL',
    parameter('a marketing message must not have a picture'),
  ],
  [({ shown, noPictures }) => !noPictures || !shown?.image, parameter('the app may not send pictures')],
  notice(({ notifyId }) => isOptionalWhole(notifyId, -1, 2147483647), 'notifyId must be an int'),
  notice(
    ({ buttons }) => buttons === undefined || (Array.isArray(buttons) && buttons.length <= 3),
    'at most 3 buttons',
  ),
  notice(({ clickAction }) => isObject(clickAction), 'clickAction is missing'),
  click(({ type }) => isWhole(type, 1, 3), 'clickAction.type must be 1, 2 or 3'),
  click(
    ({ type, intent, action }) => type !== 1 || isText(intent) || isText(action),
    'clickAction of type 1 needs intent or action',
  ),
  click(({ type, url }) => type !== 2 || isHttps(url), 'clickAction of type 2 needs an https url'),
  badge((badge) => isObject(badge) && isText(badge.badgeClass), 'badge needs badgeClass'),
  badge(({ setNum }) => isOptionalWhole(setNum, 0, 99), 'badge.setNum must be 0 to 99'),
  badge(({ addNum }) => isOptionalWhole(addNum, 1, 99), 'badge.addNum must be 1 to 99'),
]

const rules = [...formRules, ...androidRules, ...noticeRules]

/** Checks a body as the reference of sendMessage describes it; returns the refusal of the first rule that is not met. */
export function checkHonor(body: unknown, rawBytes: number, switches: HonorSwitches): HonorMessage | Refusal {
  if (!isObject(body)) return { code: 80100003, message: 'the body is not a JSON object' }
  const android = isObject(body.android) ? body.android : {}
  const isNotification = body.notification !== undefined || android.notification !== undefined
  const shown = isNotification
    ? { ...(body.notification as Fields), ...(android.notification as Fields) }
    : undefined
  const refusal = findRefusal(rules, { ...switches, body, rawBytes, android, shown })
  if (refusal) return refusal
  return {
    tokens: body.token as string[],
    biTag: android.biTag as string | undefined,
    marketing: shown !== undefined && shown.importance !== 'NORMAL',
    test: android.targetUserType === 1,
  }
}

const isOptionalObject = (value: unknown) => value === undefined || isObject(value)

/** The first key in snake_case. Keys inside the string `data` are the caller's own. */
function snakeKeyOf(value: unknown): string | undefined {
  if (!isObject(value)) return undefined
  for (const [key, inner] of Object.entries(value)) {
    if (key.includes('_')) return key
    const found = snakeKeyOf(inner)
    if (found) return found
  }
  return undefined
}
