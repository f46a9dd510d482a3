import { countCodePoints, isObject, isWhole } from '../frame/fields.ts'
import { findRefusal, type Rule } from '../frame/rules.ts'

/** Optional rules, from one community source or an older SDK. */
export type VivoStrictness = {
  /** Refuses texts of only digits, Latin letters or symbols, and texts with 测试, braces or square brackets (10085). */
  formalTexts?: boolean
  /** The limits of the SDK of 2019 to 2021: texts measured in width, ten custom fields, alias of 40. */
  oldLimits?: boolean
}

/** Categories and the classification of each (https://dev.vivo.com.cn/documentCenter/doc/359). */
export const categories: Readonly<Record<string, 0 | 1>> = {
  IM: 1,
  ACCOUNT: 1,
  TODO: 1,
  DEVICE_REMINDER: 1,
  ORDER: 1,
  SUBSCRIPTION: 1,
  NEWS: 0,
  CONTENT: 0,
  MARKETING: 0,
  SOCIAL: 0,
}

type Body = Record<string, unknown>
type Kind = 'single' | 'list'
type Input = VivoStrictness & { kind: Kind; body: Body }
type Refusal = { result: number }
type NoticeRule = Rule<Input, Refusal>

const rule = (result: number, holds: (body: Body, input: Input) => boolean): NoticeRule => [
  (input) => holds(input.body, input),
  { result },
]
const optional = (value: unknown, holds: (value: unknown) => boolean) => value === undefined || holds(value)
const measure = ({ oldLimits }: Input, text: unknown) =>
  oldLimits ? widthOf(text as string) : countCodePoints(text as string)

/** The content of a click, with one code per type for empty and for too long. */
const skipRules = ([2, 3, 4] as const).flatMap((type) => {
  const [empty, long] = { 2: [10061, 10062], 3: [10063, 10064], 4: [10068, 10069] }[type] as [number, number]
  return [
    rule(empty, ({ skipType, skipContent }) => skipType !== type || isText(skipContent)),
    rule(
      long,
      ({ skipType, skipContent }, { oldLimits }) =>
        skipType !== type || (skipContent as string).length <= (oldLimits && type === 2 ? 1000 : 1024),
    ),
  ]
})

const rules: readonly NoticeRule[] = [
  rule(10050, ({ regId, alias }, { kind }) => kind === 'list' || !isBlank(regId) || !isBlank(alias)),
  rule(
    10301,
    ({ regId, alias }, { kind, oldLimits }) =>
      kind === 'list' ||
      !isBlank(regId) ||
      (typeof alias === 'string' && alias.length <= (oldLimits ? 40 : 70)),
  ),
  rule(10055, ({ title }) => isText(title)),
  rule(10056, ({ title }, input) => measure(input, (title as string).trim()) <= 40),
  rule(10057, ({ content }) => isText(content)),
  rule(10058, ({ content }, input) => measure(input, content) <= 100),
  rule(
    10085,
    ({ title, content, pushMode }, { formalTexts }) =>
      !formalTexts || pushMode === 1 || !(isInformal(title as string) || isInformal(content as string)),
  ),
  rule(10054, ({ notifyType }) => isWhole(notifyType, 1, 4)),
  rule(10059, ({ timeToLive }, { kind, oldLimits }) =>
    optional(timeToLive, (ttl) => isWhole(ttl, kind === 'single' ? 60 : 900, oldLimits ? 604_800 : 86_400)),
  ),
  rule(10065, ({ networkType }) => optional(networkType, (type) => type === -1 || type === 1)),
  rule(10095, ({ notifyId }) => optional(notifyId, (id) => isWhole(id, 1, 2_147_483_647))),
  rule(10060, ({ skipType }) => isWhole(skipType, 1, 4)),
  ...skipRules,
  rule(
    10061,
    ({ skipType, skipContent }) => skipType !== 2 || /^[a-z][a-z0-9+.-]*:./i.test(String(skipContent)),
  ),
  // vivo documents no code for it.
  rule(10999, ({ foregroundShow }) => optional(foregroundShow, (show) => typeof show === 'boolean')),
  rule(10067, ({ clientCustomMap: map }) => optional(map, isObject)),
  rule(
    10066,
    ({ clientCustomMap: map }, { oldLimits }) =>
      !oldLimits || Object.keys((map as object) ?? {}).length <= 10,
  ),
  rule(10067, ({ clientCustomMap: map }) => {
    const pairs = Object.entries((map as Body) ?? {})
    if (pairs.some(([, value]) => typeof value !== 'string')) return false
    return pairs.reduce((sum, [key, value]) => sum + countCodePoints(key + value), 0) <= 1024
  }),
  rule(10304, ({ extra }) =>
    optional(
      extra,
      (given) =>
        isObject(given) &&
        Object.entries(given).every(
          ([key, value]) =>
            ['callback', 'callback.param', 'callback.id'].includes(key) && typeof value === 'string',
        ),
    ),
  ),
  rule(10305, ({ extra }) => extraLength(extra, 'callback') <= 128),
  rule(10306, ({ extra }) => extraLength(extra, 'callback.param') <= 192),
  rule(10352, ({ requestId }) => isText(requestId)),
  rule(10353, ({ requestId }) => (requestId as string).length <= 64),
  rule(11000, ({ classification }) => optional(classification, (value) => value === 0 || value === 1)),
  rule(10096, ({ category }) => isBlank(category) || categories[String(category)] !== undefined),
  rule(
    10097,
    ({ category, classification }) =>
      isBlank(category) || classification === undefined || classification === categories[String(category)],
  ),
]

/** vivo's code for the body of a send or of a saved list payload; undefined if it is valid. */
export function findFault(given: Body, options: VivoStrictness & { kind: Kind }): number | undefined {
  // Clients that serialise every field of a class send null for fields that are not set.
  const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
  return findRefusal(rules, { ...options, body })?.result
}

type ListInput = { body: Body; targets: number; kind: 'regIds' | 'aliases' }

const listRules: readonly Rule<ListInput, Refusal>[] = [
  [({ body }) => isText(body.requestId), { result: 10352 }],
  [({ body }) => (body.requestId as string).length <= 64, { result: 10353 }],
  [({ body }) => !isBlank(body.taskId), { result: 10151 }],
  [({ body }) => /^\d{1,20}$/.test(String(body.taskId)), { result: 10152 }],
  [({ targets }) => targets > 0, { result: 10150 }],
  [({ targets, kind }) => kind === 'aliases' || isWhole(targets, 2, 1000), { result: 10153 }],
  [({ targets }) => isWhole(targets, 2, 1000), { result: 10154 }],
]

/** vivo's code for a push to a list with this number of targets; undefined if it is valid. */
export function findListFault(input: ListInput): number | undefined {
  return findRefusal(listRules, input)?.result
}

const extraLength = (extra: unknown, key: string) => String((extra as Body | undefined)?.[key] ?? '').length

/** A CJK or full-width character counts two. */
function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += /[⺀-￯]/u.test(character) ? 2 : 1
  return width
}

function isInformal(text: string): boolean {
  if (/测试|[{}[\]]/.test(text)) return true
  const dense = text.replace(/\s+/g, '')
  return /^[A-Za-z]+$/.test(dense) || /^[\p{N}\p{P}\p{S}]+$/u.test(dense)
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== ''
}

export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '')
}
