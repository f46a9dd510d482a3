import { isHttps, isObject, isText, isWhole } from '../shared/sim-checks.ts'
import { type Answer, answer, ttlProblem } from './simulator-answers.ts'

/** A request of v1 or v2 that passed every rule. */
export type ClassicOrder = {
  tokens: readonly string[]
  biTag?: string
  receiptId?: string
  validateOnly: boolean
}

type ClassicSwitches = { highUrgency: boolean }

const categories = new Set(
  (
    'IM VOIP SUBSCRIPTION TRAVEL HEALTH WORK ACCOUNT EXPRESS FINANCE DEVICE_REMINDER SYSTEM_REMINDER MAIL ' +
    'PLAY_VOICE MARKETING'
  ).split(' '),
)

/** Judges a body as the reference of messages:send describes it; the first broken rule is the answer. */
export function judgeClassic(
  body: unknown,
  rawBytes: number,
  switches: ClassicSwitches,
): ClassicOrder | Answer {
  if (!isObject(body) || !isObject(body.message)) return answer('80100003', 'Illegal payload')
  const { message } = body
  const targets = ['token', 'topic', 'condition'].filter((name) => message[name] !== undefined)
  if (targets.length > 1) return parameter('only one of token, topic and condition may be set')
  // Topics and conditions are taken and reach nobody: they have no devices here.
  const toDevices = targets[0] !== 'topic' && targets[0] !== 'condition'
  const tokens = toDevices ? message.token : []
  if (!isTokenList(tokens) || (toDevices && tokens.length === 0))
    return answer('80300010', 'The number of tokens in the message body exceeds the default value')
  if (rawBytes - Buffer.byteLength(JSON.stringify(tokens)) > 4096)
    return answer('80300008', 'The length of the message body exceeds the default value')
  const problem = messageProblem(message, switches)
  if (problem) return typeof problem === 'string' ? parameter(problem) : problem
  const android = isObject(message.android) ? message.android : {}
  return {
    tokens,
    biTag: android.bi_tag as string | undefined,
    receiptId: android.receipt_id as string | undefined,
    validateOnly: body.validate_only === true,
  }
}

type Problem = string | Answer | undefined
type Fields = Record<string, unknown>

const parameter = (detail: string): Answer => answer('80100001', `Invalid parameter: ${detail}`)

function isTokenList(value: unknown): value is string[] {
  return (
    Array.isArray(value) && value.length <= 1000 && value.every((item) => typeof item === 'string' && item)
  )
}

function messageProblem(message: Fields, switches: ClassicSwitches): Problem {
  const { data, notification, android } = message
  if (data !== undefined && typeof data !== 'string') return 'data must be a string'
  if (notification !== undefined && !isObject(notification)) return 'notification must be an object'
  if (android !== undefined && !isObject(android)) return 'android must be an object'
  const problem = android && androidProblem(android, switches)
  if (problem) return problem
  const own = android?.notification
  if (own === undefined && notification === undefined)
    return data === undefined && android?.data === undefined
      ? 'neither data nor notification is set'
      : undefined
  if (own !== undefined && !isObject(own)) return 'android.notification must be an object'
  return notificationProblem({ ...notification, ...own })
}

function androidProblem(android: Fields, switches: ClassicSwitches): Problem {
  const { category, urgency, ttl, collapse_key, bi_tag, receipt_id, data } = android
  if (category !== undefined && !categories.has(category as string)) return 'category is not known'
  if (urgency !== undefined && urgency !== 'NORMAL' && urgency !== 'HIGH') return 'urgency is not known'
  if (urgency === 'HIGH' && !switches.highUrgency)
    return answer('80300011', 'The application has no permission to send high priority messages')
  if (ttl !== undefined && ttlProblem(ttl)) return ttlProblem(ttl)
  if (collapse_key !== undefined && !isWhole(collapse_key, -1, 100))
    return answer('80100013', 'Invalid collapse_key')
  if (bi_tag !== undefined && typeof bi_tag !== 'string') return 'bi_tag must be a string'
  if (receipt_id !== undefined && typeof receipt_id !== 'string') return 'receipt_id must be a string'
  if (data !== undefined && typeof data !== 'string') return 'android.data must be a string'
  if (android.target_user_type !== undefined && !isWhole(android.target_user_type, 0, 1))
    return 'target_user_type must be 0 or 1'
  if (android.fast_app_target !== undefined && !isWhole(android.fast_app_target, 1, 2))
    return 'fast_app_target must be 1 or 2'
  return undefined
}

const words: Readonly<Record<string, readonly string[]>> = {
  importance: ['LOW', 'NORMAL', 'HIGH'],
  visibility: ['VISIBILITY_UNSPECIFIED', 'PUBLIC', 'SECRET', 'PRIVATE'],
}

function notificationProblem(shown: Fields): Problem {
  for (const name of ['title', 'body']) if (!isText(shown[name])) return `${name} is missing`
  for (const [name, allowed] of Object.entries(words))
    if (shown[name] !== undefined && !allowed.includes(shown[name] as string)) return `${name} is not known`
  for (const name of ['channel_id', 'sound', 'tag', 'group'])
    if (shown[name] !== undefined && typeof shown[name] !== 'string') return `${name} must be a string`
  if (shown.default_sound !== undefined && typeof shown.default_sound !== 'boolean')
    return 'default_sound must be true or false'
  if (shown.image !== undefined && !isHttps(shown.image)) return 'image must be an https URL'
  if (shown.notify_id !== undefined && !isWhole(shown.notify_id, -1, 2147483647))
    return 'notify_id must be an int'
  return (
    clickProblem(shown.click_action) ??
    styleProblem(shown) ??
    badgeProblem(shown.badge) ??
    buttonsProblem(shown.buttons)
  )
}

function clickProblem(click: unknown): Problem {
  if (!isObject(click)) return 'click_action is missing'
  if (!isWhole(click.type, 1, 4)) return 'click_action.type is not known'
  if (click.type === 1 && !isText(click.intent) && !isText(click.action))
    return 'click_action of type 1 needs intent or action'
  if (click.type === 2 && !isHttps(click.url)) return 'click_action of type 2 needs an https url'
  return undefined
}

function styleProblem(shown: Fields): Problem {
  if (shown.style === undefined || shown.style === 0) return undefined
  if (shown.style === 1)
    return isText(shown.big_title) && isText(shown.big_body)
      ? undefined
      : 'style 1 needs big_title and big_body'
  if (shown.style !== 3) return 'style is not known'
  const lines = shown.inbox_content
  const fits =
    Array.isArray(lines) &&
    lines.length >= 1 &&
    lines.length <= 5 &&
    lines.every((line) => typeof line === 'string' && line.length <= 1024)
  return fits ? undefined : 'style 3 needs inbox_content of at most 5 lines'
}

function badgeProblem(badge: unknown): Problem {
  if (badge === undefined) return undefined
  if (!isObject(badge) || !isText(badge.class)) return 'badge needs class'
  if (badge.add_num !== undefined && !isWhole(badge.add_num, 1, 99)) return 'badge.add_num must be 1 to 99'
  if (badge.set_num !== undefined && !isWhole(badge.set_num, 0, 99)) return 'badge.set_num must be 0 to 99'
  return undefined
}

function buttonsProblem(buttons: unknown): Problem {
  if (buttons === undefined) return undefined
  if (!Array.isArray(buttons) || buttons.length > 3) return 'at most 3 buttons'
  return buttons.every(
    (button) => isObject(button) && isText(button.name) && isWhole(button.action_type, 0, 4),
  )
    ? undefined
    : 'a button needs name and action_type'
}
