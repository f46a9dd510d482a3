import { isHttps, isObject, isText, isWhole } from '../frame/fields.ts'
import { findRefusal, type Rule } from '../frame/rules.ts'
import { type Answer, answer } from './answers.ts'
import type { ClassicMessage } from './rules.ts'

/** A request of v3 that meets every rule. */
type NextMessage = Omit<ClassicMessage, 'validateOnly'> & {
  /** The kind of message needs a permission: voice broadcast, live view or call. */
  needsRight: boolean
  /** Id by which the notification can be withdrawn. */
  notifyId?: number
}

/** The documented push types: alert, card, voice broadcast, background, live view, call. */
const pushTypes = new Set(['0', '1', '2', '6', '7', '10'])
const withRight = new Set(['2', '7', '10'])
/** The category of voice broadcasts. */
const voiceCategory = 'PLAY_VOICE'

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
/** Of alerts and voice broadcasts, which show a notification. */
const alert = (holds: (shown: Fields) => boolean, detail: string) =>
  rule(({ pushType, shown }) => !['0', '2'].includes(pushType) || holds(shown), detail)
const payloadOf = (types: readonly string[], holds: (payload: Fields) => boolean, detail: string) =>
  rule(({ pushType, payload }) => !types.includes(pushType) || holds(payload), detail)
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
  payloadOf(
    ['2', '6', '10'],
    ({ extraData }) => typeof extraData === 'string',
    'a voice broadcast, background message or call needs extraData',
  ),
  rule(
    ({ pushType, options: { ttl } }) => pushType !== '10' || isOptionalWhole(ttl, 30, 60),
    'the ttl of a call must be 30 to 60',
  ),
  rule(
    ({ options: { collapseKey: key }, pushType }) =>
      key === undefined || (['0', '2'].includes(pushType) && isWhole(key, -1, 100)),
    'collapseKey must be -1 to 100, in alerts and voice broadcasts',
  ),
  rule(
    ({ pushType, tokens }) => pushType !== '1' || (tokens as string[]).length === 1,
    'a card goes to one token',
  ),
  payloadOf(
    ['1'],
    ({ formId, version, moduleName, formName, abilityName, formData }) =>
      [formId, version].every((value) => isWhole(value, 0, Number.MAX_SAFE_INTEGER)) &&
      [moduleName, formName, abilityName].every(isText) &&
      isObject(formData),
    'a card needs formId, version, moduleName, formName, abilityName and formData',
  ),
  payloadOf(
    ['7'],
    ({ activityId, operation, version }) =>
      isWhole(activityId, 0, 2147483647) &&
      [0, 1, 2, 4, 6].includes(operation as number) &&
      isWhole(version, 0, 2147483647),
    'a live view needs activityId, operation and version',
  ),
  payloadOf(
    ['0', '2'],
    ({ notification }) => isObject(notification),
    'an alert or voice broadcast needs notification',
  ),
  rule(
    ({ pushType, shown }) => (pushType === '2') === (shown.category === voiceCategory),
    `a voice broadcast, and no other message, has the category ${voiceCategory}`,
  ),
  ...['category', 'title', 'body'].map((name) =>
    alert((shown) => isText(shown[name]), `notification.${name} is missing`),
  ),
  alert(({ image }) => image === undefined || isHttps(image), 'notification.image must be an https URL'),
  alert(
    ({ foregroundShow: show }) => show === undefined || typeof show === 'boolean',
    'notification.foregroundShow must be true or false',
  ),
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

/** A request of messages:revoke that meets every rule. */
type Revocation = { notifyId: number; tokens: readonly string[] }

export function checkRevoke(body: unknown, pushType: string | undefined): Revocation | Answer {
  if (pushType !== '0' && pushType !== '2') return parameter('push-type must be 0 or 2')
  if (!isObject(body)) return answer('80100003', 'Illegal payload')
  const { notifyId, token: tokens } = body
  if (!isWhole(notifyId, 0, 2147483647)) return parameter('notifyId must be an int')
  if (!Array.isArray(tokens) || !tokens.every(isText) || !isWhole(tokens.length, 1, 1000))
    return answer('80300010', 'Invalid number of tokens')
  return { notifyId: notifyId as number, tokens }
}

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
      isNotification: pushType === '0' || pushType === '2',
      needsRight: withRight.has(pushType),
      notifyId: shown.notifyId as number | undefined,
      isTest: options.testMessage === true,
    }
  )
}
