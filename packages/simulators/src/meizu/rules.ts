import { countCodePoints, isObject, isWhole } from '../frame/fields.ts'
import { findRefusal, type Rule } from '../frame/rules.ts'

/** Meizu does not document the code of each field: an empty one is 110004, any other mistake 1005 with a text. */
export type Refusal = { code: '1005' | '110004'; message: string }

type MessageRules = {
  vip: boolean
  /** Whether Meizu hosts the picture. */
  isHosted(url: string): boolean
  /** Whether the receipt URL is registered in the console. */
  isRegistered(url: string): boolean
  /** Counts texts in UTF-16 units, in which an emoji is two. Meizu does not say how it counts. */
  utf16?: boolean
}

type Part = Record<string, unknown>
type Input = MessageRules & { message: Part }
type MessageRule = Rule<Input, Refusal>

const bad = (field: string): Refusal => ({ code: '1005', message: `参数错误，请参考API文档: ${field}` })
const blank = (field: string): Refusal => ({ code: '110004', message: `参数不能为空: ${field}` })

const partOf = (message: Part, name: string): Part => (isObject(message[name]) ? message[name] : {})
const isBlank = (value: unknown) => value === undefined || value === null || value === ''
const isOneOf = (value: unknown, ...allowed: number[]) =>
  value === undefined || allowed.includes(value as number)
/** Meizu's own SDK writes true and false instead of the documented 1 and 0. */
const isFlag = (value: unknown) => isOneOf(value, 0, 1) || typeof value === 'boolean'
const isOn = (value: unknown) => value === 1 || value === true
const isText = (value: unknown, min: number, max: number, utf16 = false) =>
  typeof value === 'string' && isWhole(utf16 ? value.length : countCodePoints(value), min, max)
const bytesOf = (value: unknown) => Buffer.byteLength(String(value))

type Holds = (value: unknown, part: Part, input: Input) => boolean

/** Rules of one part of the message. */
const rulesOf = (part: string) => ({
  bad: (field: string, holds: Holds): MessageRule => [
    (input) => {
      const fields = partOf(input.message, part)
      return holds(fields[field], fields, input)
    },
    bad(`${part}.${field}`),
  ],
  needed: (field: string, when: (part: Part) => boolean = () => true): MessageRule => [
    ({ message }) => !when(partOf(message, part)) || !isBlank(partOf(message, part)[field]),
    blank(`${part}.${field}`),
  ],
})

const bar = rulesOf('noticeBarInfo')
const expand = rulesOf('noticeExpandInfo')
const click = rulesOf('clickTypeInfo')
const time = rulesOf('pushTimeInfo')
const advance = rulesOf('advanceInfo')
const extra = rulesOf('extra')

const opens = (type: number) => (part: Part) => part.clickType === type
const isExpanded = (type: number) => (part: Part) => part.noticeExpandType === type
const hasReceipt = (part: Part) => Object.keys(part).length > 0
const displayTime = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/
const isTime = (value: unknown): value is string => typeof value === 'string' && displayTime.test(value)

const timeRules: readonly MessageRule[] = [
  time.bad('offLine', isFlag),
  time.bad(
    'validTime',
    (hours, { offLine }) =>
      hours === undefined || !(offLine === undefined || isOn(offLine)) || isWhole(hours, 1, 72),
  ),
]

const noticeRules: readonly MessageRule[] = [
  bar.needed('title'),
  bar.bad('title', (title, _, { utf16 }) => isText(title, 1, 32, utf16)),
  bar.needed('content'),
  bar.bad('content', (content, _, { utf16 }) => isText(content, 1, 100, utf16)),
  bar.bad('noticeMsgType', (type) => isOneOf(type, 0, 1)),
  bar.bad('noticeBarType', (type) => isOneOf(type, 0, 2)),
  expand.bad('noticeExpandType', (type) => isOneOf(type, 0, 1, 2)),
  expand.needed('noticeExpandContent', isExpanded(1)),
  expand.bad('noticeExpandType', (type, _, { vip }) => type !== 2 || vip),
  expand.needed('noticeExpandImgUrl', isExpanded(2)),
  expand.bad(
    'noticeExpandImgUrl',
    (url, part, { isHosted }) => !isExpanded(2)(part) || isHosted(String(url)),
  ),
  click.bad('clickType', (type) => isOneOf(type, 0, 1, 2, 3)),
  click.bad('parameters', (parameters) => isBlank(parameters) || isObject(parameters)),
  click.needed('activity', opens(1)),
  click.bad(
    'activity',
    (activity, part) =>
      !opens(1)(part) ||
      (isText(activity, 1, 1000) && bytesOf(activity) <= 1000 && !String(activity).includes('/')),
  ),
  click.needed('url', opens(2)),
  click.bad('url', (url, part) => !opens(2)(part) || (isText(url, 1, 1000) && bytesOf(url) <= 1000)),
  click.needed('customAttribute', opens(3)),
  click.bad('customAttribute', (attribute, part) => !opens(3)(part) || bytesOf(attribute) <= 1000),
  ...timeRules,
  ...['suspend', 'clearNoticeBar', 'fixDisplay'].map((name) => advance.bad(name, isFlag)),
  ...['vibrate', 'lights', 'sound'].map(
    (name): MessageRule => [
      ({ message }) => isFlag(partOf(partOf(message, 'advanceInfo'), 'notificationType')[name]),
      bad(`advanceInfo.notificationType.${name}`),
    ],
  ),
  advance.bad('fixStartDisplayTime', (from, { fixDisplay }) => !isOn(fixDisplay) || isTime(from)),
  advance.bad(
    'fixEndDisplayTime',
    (to, { fixDisplay, fixStartDisplayTime: from }) =>
      !isOn(fixDisplay) || (isTime(to) && to > (from as string)),
  ),
  advance.bad('notifyKey', (key) => isBlank(key) || /^[0-9A-Za-z_-]{1,8}$/.test(String(key))),
  [({ message, vip }) => vip || Object.keys(partOf(message, 'vipInfo')).length === 0, bad('vipInfo')],
  extra.needed('callback', hasReceipt),
  extra.bad(
    'callback',
    (url, part, { isRegistered }) =>
      !hasReceipt(part) || (typeof url === 'string' && bytesOf(url) <= 128 && isRegistered(url)),
  ),
  extra.bad(
    'callback.param',
    (param) => param === undefined || (typeof param === 'string' && bytesOf(param) <= 64),
  ),
  extra.bad('callback.type', (type) => type === undefined || ['1', '2', '3'].includes(String(type))),
]

const passThroughRules: readonly MessageRule[] = [
  [({ message: { title } }) => title === undefined || isText(title, 0, 32), bad('title')],
  [({ message: { content } }) => !isBlank(content), blank('content')],
  [({ message: { content } }) => typeof content === 'string' && bytesOf(content) <= 2000, bad('content')],
  ...timeRules,
]

/** The refusal of the messageJson of a notice; undefined if it is valid. */
export function findNoticeFault(message: Part, rules: MessageRules): Refusal | undefined {
  return findRefusal(noticeRules, { ...rules, message })
}

export function findPassThroughFault(message: Part): Refusal | undefined {
  const anything = () => true
  return findRefusal(passThroughRules, { message, vip: true, isHosted: anything, isRegistered: anything })
}
