import { isHttps, isObject, isText, isWhole } from '../frame/fields.ts'
import { findRefusal, type Rule } from '../frame/rules.ts'
import { type Answer, answer } from './answers.ts'
import type { ClassicMessage } from './rules.ts'

/** A request of v3 that meets every rule. */
type NextMessage = Omit<ClassicMessage, 'validateOnly'>

/** The documented push types; only alerts and background messages have rules here. */
const pushTypes = new Set(['0', '1', '2', '6', '7', '10'])

type Fields = Record<string, unknown>
type Input = {
  payload: Fields
  tokens: unknown
  options: Fields
  rawBytes: number
  pushType: string
  /** The notification of an alert. */
  shown: Fields
}
type BodyRule = Rule<Input, Answer>

const parameter = (detail: string): Answer => answer('80100001', `Invalid parameter: ${detail}`)
const rule = (holds: (input: Input) => boolean, detail: string): BodyRule => [holds, parameter(detail)]
const isOptionalWhole = (value: unknown, min: number, max: number) =>
  value === undefined || isWhole(value, min, max)
const alert = (holds: (shown: Fields) => boolean, detail: string) =>
  rule(({ pushType, shown }) => pushType !== '0' || holds(shown), detail)
const badge = (holds: (badge: Fields) => boolean, detail: string) =>
  alert((shown) => shown.badge === undefined || holds(shown.badge as Fields), detail)

const rules: readonly BodyRule[] = [
  [
    ({ tokens }) => Array.isArray(tokens) && tokens.every(isText) && isWhole(tokens.length, 1, 1000),
    answer('80300010', 'Invalid number of tokens'),
  ],
  [
    ({ options, tokens }) => options.testMessage !== true || (tokens as string[]).length <= 10,
    answer('80300030', 'Too many tokens for a test message'),
  ],
  [
    ({ rawBytes, tokens }) => rawBytes - Buffer.byteLength(JSON.stringify(tokens)) <= 4096,
    answer('80300008', 'The length of the message body exceeds the default value'),
  ],
  rule(
    ({ options: { ttl } }) => isOptionalWhole(ttl, 1, 1_296_000),
    'ttl must be a number from 1 to 1296000',
  ),
  rule(
    ({ options: { biTag } }) =>
      biTag === undefined || (typeof biTag === 'string' && Buffer.byteLength(biTag) <= 64),
    'biTag must be a string of at most 64 bytes',
  ),
  rule(
    ({ options: { receiptId } }) => receiptId === undefined || typeof receiptId === 'string',
    'receiptId must be a string',
  ),
  rule(
    ({ options: { testMessage: test } }) => test === undefined || typeof test === 'boolean',
    'testMessage must be true or false',
  ),
  rule(
    ({ pushType, payload }) => pushType !== '6' || typeof payload.extraData === 'string',
    'a background message needs extraData',
  ),
  rule(
    ({ pushType, payload }) => pushType !== '0' || isObject(payload.notification),
    'an alert needs notification',
  ),
  ...['category', 'title', 'body'].map((name) =>
    alert((shown) => isText(shown[name]), `notification.${name} is missing`),
  ),
  alert(({ image }) => image === undefined || isHttps(image), 'notification.image must be an https URL'),
  alert(({ notifyId }) => isOptionalWhole(notifyId, 0, 2147483647), 'notifyId must be an int'),
  alert(
    ({ clickAction: click }) => isObject(click) && isWhole(click.actionType, 0, 1),
    'clickAction.actionType must be 0 or 1',
  ),
  alert(({ clickAction }) => {
    const { actionType, action, uri } = clickAction as Fields
    return actionType !== 1 || Boolean(action || uri)
  }, 'actionType 1 needs action or uri'),
  alert(({ clickAction }) => {
    const { data } = clickAction as Fields
    return data === undefined || isObject(data)
  }, 'clickAction.data must be an object'),
  badge(isObject, 'badge must be an object'),
  badge(({ addNum }) => isOptionalWhole(addNum, 1, 99), 'badge.addNum must be 1 to 99'),
  badge(({ setNum }) => isOptionalWhole(setNum, 0, 99), 'badge.setNum must be 0 to 99'),
]

export function checkNext(
  body: unknown,
  rawBytes: number,
  pushType: string | undefined,
): NextMessage | Answer {
  if (pushType === undefined || !pushTypes.has(pushType)) return parameter('push-type is not known')
  if (!isObject(body) || !isObject(body.payload) || !isObject(body.target))
    return answer('80100003', 'Illegal payload')
  const { payload, target, pushOptions: options = {} } = body
  if (!isObject(options)) return parameter('pushOptions must be an object')
  const tokens = target.token
  const shown = isObject(payload.notification) ? payload.notification : {}
  return (
    findRefusal(rules, { payload, tokens, options, rawBytes, pushType, shown }) ?? {
      tokens: tokens as string[],
      biTag: options.biTag as string | undefined,
      receiptId: options.receiptId as string | undefined,
      category: shown.category as string | undefined,
      hasImage: shown.image !== undefined,
      isNotification: pushType === '0',
      isTest: options.testMessage === true,
    }
  )
}
