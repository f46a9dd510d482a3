import { parseObject } from '../shared/http.ts'
import { isObject } from '../shared/sim-checks.ts'
import { countCodePoints } from '../shared/truncate.ts'

/** A refusal in OPPO's terms; undefined = the notification is fine. */
export type Refusal = { code: number; message: string }

/** An application registered in the simulated console. */
export type OppoSimApp = {
  appId: string
  appKey: string
  masterSecret: string
  /** Channels registered in the console; absent: all. Messages to others are accepted and never delivered. */
  channels?: readonly string[]
  /** Categories whose messages need an approved template. */
  templateCategories?: readonly string[]
  /** Characters of a standard notice. */
  contentLimit?: 50 | 200
  /** The paid add-on: a request may name a picture's address. */
  pictureUrls?: boolean
  /** Ids of uploaded pictures. */
  pictures?: readonly string[]
  switches?: OppoSimSwitches
}

/** What one application may be told to do; all off by default. */
export type OppoSimSwitches = {
  /** Every send is answered with this code. */
  forceCode?: number
  messagesPerSecond?: number
  flowControl?: boolean
  /** Messages a day in Asia/Shanghai. */
  dailyLimit?: number
}

const words: Readonly<Record<number, string>> = {
  [-2]: 'Service in Flow Control',
  11: 'Invalid AuthToken',
  12: 'Http Action Not Allowed',
  13: 'App Call Limited',
  14: 'Invalid App Key',
  15: 'Missing App Key',
  16: 'Invalid Signature',
  17: 'Missing Signature',
  18: 'Invalid Timestamp',
  19: 'Missing Timestamp',
  29: 'Missing Auth Token',
  31: 'Data Not Exist',
  32: 'Data Duplicate',
  33: 'The number of messages exceeds the daily limit',
  40: 'Missing Required Arguments',
  41: 'Invalid Arguments',
  51: 'Invalid Picture',
  54: 'private_msg_template_id is null',
  67: 'Invalid category or notify_level',
  10000: 'Invalid Registration_id',
}

const categories: ReadonlySet<string> = new Set([
  'IM',
  'ACCOUNT',
  'DEVICE_REMINDER',
  'ORDER',
  'TODO',
  'SUBSCRIPTION',
  'NEWS',
  'CONTENT',
  'MARKETING',
  'SOCIAL',
])

type Fields = Readonly<Record<string, unknown>>
type Place = 'unicast' | 'save'

/** A notification against the field table. Fields it does not name are ignored, as OPPO does: a misspelt one is missing. */
export function checkNotification(fields: Fields, app: OppoSimApp, place: Place): Refusal | undefined {
  return (
    checkTexts(fields, app, place) ??
    checkClick(fields) ??
    checkParameters(fields.action_parameters) ??
    checkTimes(fields) ??
    checkCallback(fields) ??
    checkBadge(fields) ??
    checkClass(fields, app)
  )
}

function checkTexts(fields: Fields, app: OppoSimApp, place: Place): Refusal | undefined {
  const style = fields.style === undefined ? 1 : readNumber(fields.style)
  if (style === undefined || ![1, 2, 3, 4, 5].includes(style)) return bad('style')
  if (isMissing(fields.title)) return missing('title')
  if (isMissing(fields.content)) return missing('content')
  const most = style === 1 ? (app.contentLimit ?? 50) : style === 2 ? 128 : 50
  if (!isText(fields.title, 50)) return bad('title')
  if (!isText(fields.content, most)) return bad('content')
  if (fields.sub_title !== undefined && !isText(fields.sub_title, 10)) return bad('sub_title')
  return style === 3 ? checkPicture(fields, app, place) : undefined
}

function checkPicture(fields: Fields, app: OppoSimApp, place: Place): Refusal | undefined {
  if (typeof fields.big_picture_url === 'string')
    return app.pictureUrls && fields.big_picture_url.length <= 300 ? undefined : refusal(51)
  if (place === 'unicast' || isMissing(fields.big_picture_id)) return bad('big_picture_id')
  return app.pictures?.includes(String(fields.big_picture_id)) ? undefined : refusal(51)
}

function checkClick(fields: Fields): Refusal | undefined {
  const type = fields.click_action_type === undefined ? 0 : readNumber(fields.click_action_type)
  switch (type) {
    case 0:
      return undefined
    case 1:
    case 4:
      if (isMissing(fields.click_action_activity)) return missing('click_action_activity')
      return isText(fields.click_action_activity, 500) ? undefined : bad('click_action_activity')
    case 2:
    case 5:
      if (isMissing(fields.click_action_url)) return missing('click_action_url')
      return isText(fields.click_action_url, 2000) ? undefined : bad('click_action_url')
    default:
      return bad('click_action_type')
  }
}

/** The text of the last batch entry that was fine: a batch repeats it a thousand times. */
let lastGoodParameters: string | undefined

function checkParameters(value: unknown): Refusal | undefined {
  if (value === undefined || value === lastGoodParameters) return undefined
  if (typeof value !== 'string' || value.length > 4000 || !parseObject(value)) return bad('action_parameters')
  lastGoodParameters = value
  return undefined
}

function checkTimes(fields: Fields): Refusal | undefined {
  if (!isInRange(fields.off_line_ttl, 0, 864_000)) return bad('off_line_ttl')
  if (!isInRange(fields.show_ttl, 21_600, 172_800)) return bad('show_ttl')
  if (!isInRange(fields.notify_id, -2147483648, 2147483647)) return bad('notify_id')
  if (fields.show_time_type === undefined || readNumber(fields.show_time_type) === 0) return undefined
  if (readNumber(fields.show_time_type) !== 1) return bad('show_time_type')
  const start = readNumber(fields.show_start_time)
  const end = readNumber(fields.show_end_time)
  if (start === undefined || end === undefined) return missing('show_start_time, show_end_time')
  // Below this it is a time in seconds.
  const isMs = start >= 1e12 && end >= 1e12
  return isMs && start < end ? undefined : bad('show_start_time, show_end_time')
}

function checkCallback(fields: Fields): Refusal | undefined {
  if (!isOptionalText(fields.call_back_url, 200)) return bad('call_back_url')
  if (!isOptionalText(fields.call_back_parameter, 100)) return bad('call_back_parameter')
  return undefined
}

function checkBadge(fields: Fields): Refusal | undefined {
  const { badge_operation_type: type, badge_message_count: count } = fields
  if (!isInRange(type, 0, 1)) return bad('badge_operation_type')
  if (!isInRange(count, 0, Number.MAX_SAFE_INTEGER)) return bad('badge_message_count')
  return readNumber(type) === 0 && count === undefined ? missing('badge_message_count') : undefined
}

function checkClass(fields: Fields, app: OppoSimApp): Refusal | undefined {
  const { category, notify_level: level } = fields
  if (category !== undefined && !categories.has(String(category))) return refusal(67)
  if (level !== undefined && (category === undefined || ![1, 2, 16].includes(readNumber(level) ?? 0)))
    return refusal(67)
  if (app.templateCategories?.includes(String(category)) && isMissing(fields.private_msg_template_id))
    return refusal(54)
  for (const name of ['private_title_parameters', 'private_content_parameters'])
    if (fields[name] !== undefined && !isStringMap(fields[name])) return bad(name)
  return undefined
}

export function refusal(code: number, detail?: string): Refusal {
  const message = words[code] ?? 'forced by the simulator'
  return { code, message: detail ? `${message}: ${detail}` : message }
}

export const missing = (name: string): Refusal => refusal(40, name)
export const bad = (name: string): Refusal => refusal(41, name)

/** Numbers come as such in JSON and as text in a form. */
export function readNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined
}

function isInRange(value: unknown, least: number, most: number): boolean {
  if (value === undefined) return true
  const number = readNumber(value)
  return number !== undefined && number >= least && number <= most
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function isText(value: unknown, most: number): boolean {
  return (
    typeof value === 'string' &&
    value.trim() !== '' &&
    (value.length <= most || countCodePoints(value) <= most)
  )
}

function isOptionalText(value: unknown, most: number): boolean {
  return value === undefined || (typeof value === 'string' && value.length <= most)
}

function isStringMap(value: unknown): boolean {
  const map = typeof value === 'string' ? parseObject(value) : value
  return isObject(map) && Object.values(map).every((item) => typeof item === 'string')
}
