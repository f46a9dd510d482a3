import { countCodePoints, isInRange, isObject, parseObject, readNumber } from '../frame/fields.ts'
import { findRefusal, type Rule } from '../frame/rules.ts'

/** A refusal with OPPO's code and text. */
export type Refusal = { code: number; message: string }

/** An application registered in the simulated console. */
export type OppoSimApp = {
  appId: string
  appKey: string
  /** Unset: every signature is accepted. */
  masterSecret?: string
  /** Channels registered in the console; all by default. Messages to others are accepted and not delivered. */
  channels?: readonly string[]
  /** Categories whose messages need an approved template. */
  templateCategories?: readonly string[]
  /** Maximum length of a standard notice. */
  contentLimit?: 50 | 200
  /** The paid add-on: a request may contain the URL of a picture. */
  pictureUrls?: boolean
  /** Ids of uploaded pictures. */
  pictures?: readonly string[]
  switches?: OppoSimSwitches
}

/** Switches of one application; all off by default. */
export type OppoSimSwitches = {
  /** Every send gets this code. */
  forceCode?: number
  messagesPerSecond?: number
  flowControl?: boolean
  /** Maximum number of messages per day in Asia/Shanghai. */
  dailyLimit?: number
}

/**
 * Rules of some accounts, and readings of questions that the documentation leaves open: the fault `rules` switches them on.
 * `no_add_ons` refuses pictures by URL, badges and level 16, `no_strong_reminder` level 16 alone, `sdk_show_ttl` applies the
 * SDK's range of show_ttl instead of the document's. `app_disabled` refuses every send, but not the auth call.
 */
export const optionalRules = [
  'category_required',
  'no_add_ons',
  'no_strong_reminder',
  'app_disabled',
  'sdk_show_ttl',
] as const
export type OptionalRule = (typeof optionalRules)[number]

const messages: Readonly<Record<number, string>> = {
  [-2]: 'Service in Flow Control',
  11: 'Invalid AuthToken',
  12: 'Http Action Not Allowed',
  13: 'App Call Limited',
  14: 'Invalid App Key',
  15: 'Missing App Key',
  16: 'Invalid Signature',
  17: 'Missing Signature',
  18: 'Missing Timestamp',
  19: 'Invalid Timestamp',
  27: 'Access Denied',
  28: 'App Disabled',
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

const serviceCategories: ReadonlySet<string> = new Set([
  'IM',
  'ACCOUNT',
  'DEVICE_REMINDER',
  'ORDER',
  'TODO',
  'SUBSCRIPTION',
])
const marketingCategories: ReadonlySet<string> = new Set(['NEWS', 'CONTENT', 'MARKETING', 'SOCIAL'])

type Fields = Readonly<Record<string, unknown>>
type Place = 'unicast' | 'save'
type Input = {
  fields: Fields
  app: OppoSimApp
  place: Place
  style: number | undefined
  click: number | undefined
  has(rule: OptionalRule): boolean
}
type NoticeRule = Rule<Input, Refusal>

export function refusal(code: number, detail?: string): Refusal {
  const message = messages[code] ?? 'forced by the simulator'
  return { code, message: detail ? `${message}: ${detail}` : message }
}

export const missing = (name: string): Refusal => refusal(40, name)
export const bad = (name: string): Refusal => refusal(41, name)

const isMissing = (value: unknown) => value === undefined || value === null || value === ''
const isText = (value: unknown, max: number) =>
  typeof value === 'string' && value.trim() !== '' && (value.length <= max || countCodePoints(value) <= max)
const isStringMap = (value: unknown) => {
  const map = typeof value === 'string' ? parseObject(value) : value
  return isObject(map) && Object.values(map).every((item) => typeof item === 'string')
}

const needed = (name: string, when: (input: Input) => boolean = () => true): NoticeRule => [
  (input) => !when(input) || !isMissing(input.fields[name]),
  missing(name),
]
const text = (
  name: string,
  max: (input: Input) => number,
  when: (input: Input) => boolean = () => true,
): NoticeRule => [(input) => !when(input) || isText(input.fields[name], max(input)), bad(name)]
const shortText = (name: string, max: number): NoticeRule => [
  ({ fields }) =>
    fields[name] === undefined || (typeof fields[name] === 'string' && fields[name].length <= max),
  bad(name),
]
const number = (name: string, min: number, max: number): NoticeRule => [
  ({ fields }) => isInRange(fields[name], min, max),
  bad(name),
]
const stringMap = (name: string): NoticeRule => [
  ({ fields }) => fields[name] === undefined || isStringMap(fields[name]),
  bad(name),
]

const opensActivity = ({ click }: Input) => click === 1 || click === 4
const opensUrl = ({ click }: Input) => click === 2 || click === 5
const isTimed = ({ fields }: Input) =>
  fields.show_time_type !== undefined && readNumber(fields.show_time_type) !== 0
const showTimes = ({ fields }: Input) => [
  readNumber(fields.show_start_time),
  readNumber(fields.show_end_time),
]
const namesPictureUrl = ({ fields, style }: Input) =>
  style === 3 && typeof fields.big_picture_url === 'string'
const level = ({ fields }: Input) => readNumber(fields.notify_level)
/** How long a shown notice stays, in seconds. */
const showTtlRange = ({ fields, has }: Input): [min: number, max: number] => {
  if (has('sdk_show_ttl')) return [21_600, 172_800]
  return [0, marketingCategories.has(String(fields.category)) ? 43_200 : 86_400]
}
const namesPictureId = (input: Input) => input.style === 3 && !namesPictureUrl(input)

/** The field table. Fields it does not name are ignored, as OPPO does: a misspelt one is missing. */
const rules: readonly NoticeRule[] = [
  [({ style }) => [1, 2, 3, 4, 5].includes(style!), bad('style')],
  needed('title'),
  needed('content'),
  text('title', () => 50),
  text('content', ({ style, app }) => (style === 1 ? (app.contentLimit ?? 50) : style === 2 ? 128 : 50)),
  text(
    'sub_title',
    () => 10,
    ({ fields }) => fields.sub_title !== undefined,
  ),
  [
    (input) =>
      !namesPictureUrl(input) ||
      (input.app.pictureUrls === true && (input.fields.big_picture_url as string).length <= 300),
    refusal(51),
  ],
  [
    (input) => !namesPictureId(input) || (input.place === 'save' && !isMissing(input.fields.big_picture_id)),
    bad('big_picture_id'),
  ],
  [
    (input) =>
      !namesPictureId(input) || input.app.pictures?.includes(String(input.fields.big_picture_id)) === true,
    refusal(51),
  ],
  [({ click }) => [0, 1, 2, 4, 5].includes(click!), bad('click_action_type')],
  needed('click_action_activity', opensActivity),
  text('click_action_activity', () => 500, opensActivity),
  needed('click_action_url', opensUrl),
  text('click_action_url', () => 2000, opensUrl),
  [({ fields }) => isParameters(fields.action_parameters), bad('action_parameters')],
  number('off_line_ttl', 0, 864_000),
  [(input) => isInRange(input.fields.show_ttl, ...showTtlRange(input)), bad('show_ttl')],
  number('notify_id', -2147483648, 2147483647),
  [(input) => !isTimed(input) || readNumber(input.fields.show_time_type) === 1, bad('show_time_type')],
  [
    (input) => !isTimed(input) || showTimes(input).every((time) => time !== undefined),
    missing('show_start_time, show_end_time'),
  ],
  [
    (input) => {
      const [start, end] = showTimes(input) as [number, number]
      // Below this it is a time in seconds.
      return !isTimed(input) || (start >= 1e12 && end >= 1e12 && start < end)
    },
    bad('show_start_time, show_end_time'),
  ],
  shortText('call_back_url', 200),
  shortText('call_back_parameter', 100),
  number('badge_operation_type', 0, 1),
  number('badge_message_count', 0, Number.MAX_SAFE_INTEGER),
  [
    ({ fields }) => readNumber(fields.badge_operation_type) !== 0 || fields.badge_message_count !== undefined,
    missing('badge_message_count'),
  ],
  [({ fields, has }) => fields.category !== undefined || !has('category_required'), refusal(67)],
  [({ fields: { category } }) => category === undefined || isCategory(String(category)), refusal(67)],
  [
    ({ fields: { notify_level: level, category } }) =>
      level === undefined ||
      (category !== undefined &&
        !marketingCategories.has(String(category)) &&
        [1, 2, 16].includes(readNumber(level) ?? 0)),
    refusal(67),
  ],
  [
    ({ fields, app }) =>
      !app.templateCategories?.includes(String(fields.category)) ||
      !isMissing(fields.private_msg_template_id),
    refusal(54),
  ],
  [(input) => level(input) !== 16 || !input.has('no_strong_reminder'), refusal(67)],
  [
    (input) =>
      !input.has('no_add_ons') ||
      (!namesPictureUrl(input) && input.fields.badge_operation_type === undefined && level(input) !== 16),
    refusal(27),
  ],
  stringMap('private_title_parameters'),
  stringMap('private_content_parameters'),
]

/** The refusal of one notification; undefined if it meets all rules. */
export function checkNotification(
  fields: Fields,
  app: OppoSimApp,
  place: Place,
  has: (rule: OptionalRule) => boolean,
): Refusal | undefined {
  const numberOr = (value: unknown, absent: number) => (value === undefined ? absent : readNumber(value))
  const style = numberOr(fields.style, 1)
  const click = numberOr(fields.click_action_type, 0)
  return findRefusal(rules, { fields, app, place, style, click, has })
}

function isCategory(name: string): boolean {
  return serviceCategories.has(name) || marketingCategories.has(name)
}

/** The last valid text: a batch repeats it a thousand times. */
let lastGoodParameters: unknown

function isParameters(value: unknown): boolean {
  if (value === undefined || value === lastGoodParameters) return true
  if (typeof value !== 'string' || value.length > 4000 || !parseObject(value)) return false
  lastGoodParameters = value
  return true
}
