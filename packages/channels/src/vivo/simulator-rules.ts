import { isWhole } from '../shared/sim-checks.ts'
import { countCodePoints } from '../shared/truncate.ts'
import { categories } from './classification.ts'

/** Rules that come from one community source or from an older SDK; a simulator enforces them when told to. */
export type VivoStrictness = {
  /** Texts of digits, Latin letters or symbols alone, or with 测试, braces or square brackets, are refused (10085). */
  formalTexts?: boolean
  /** The limits of the SDK of 2019 to 2021: width units in texts, ten custom fields, alias of 40. */
  oldLimits?: boolean
}

type NoticeRules = VivoStrictness & { kind: 'single' | 'list' }

type Body = Record<string, unknown>

/** The code with which vivo refuses the body of a send or of a saved list payload; undefined when it is in order. */
export function findFault(given: Body, rules: NoticeRules): number | undefined {
  // Clients that write every field of a class send null for what is not set.
  const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
  return (
    (rules.kind === 'single' ? targetFault(body, rules) : undefined) ??
    textFault(body, rules) ??
    numberFault(body, rules) ??
    skipFault(body, rules) ??
    customMapFault(body.clientCustomMap, rules) ??
    extraFault(body.extra) ??
    requestIdFault(body.requestId) ??
    classFault(body)
  )
}

function targetFault({ regId, alias }: Body, { oldLimits }: NoticeRules): number | undefined {
  if (isBlank(regId) && isBlank(alias)) return 10050
  if (!isBlank(regId)) return undefined
  return typeof alias === 'string' && alias.length <= (oldLimits ? 40 : 70) ? undefined : 10301
}

function textFault({ title, content, pushMode }: Body, rules: NoticeRules): number | undefined {
  const measure = rules.oldLimits ? widthOf : countCodePoints
  if (typeof title !== 'string' || isBlank(title)) return 10055
  if (measure(title.trim()) > 40) return 10056
  if (typeof content !== 'string' || isBlank(content)) return 10057
  if (measure(content) > 100) return 10058
  if (rules.formalTexts && pushMode !== 1 && (isInformal(title) || isInformal(content))) return 10085
  return undefined
}

function numberFault(body: Body, { kind, oldLimits }: NoticeRules): number | undefined {
  const { notifyType, timeToLive, networkType, notifyId } = body
  if (!isWhole(notifyType, 1, 4)) return 10054
  const least = kind === 'single' ? 60 : 900
  const most = oldLimits ? 604_800 : 86_400
  if (timeToLive !== undefined && !isWhole(timeToLive, least, most)) return 10059
  if (networkType !== undefined && networkType !== -1 && networkType !== 1) return 10065
  if (notifyId !== undefined && !isWhole(notifyId, 1, 2_147_483_647)) return 10095
  return undefined
}

const skipCodes: Readonly<Record<number, readonly [empty: number, long: number]>> = {
  2: [10061, 10062],
  3: [10063, 10064],
  4: [10068, 10069],
}

function skipFault({ skipType, skipContent }: Body, { oldLimits }: NoticeRules): number | undefined {
  if (!isWhole(skipType, 1, 4)) return 10060
  const codes = skipCodes[skipType as number]
  if (!codes) return undefined
  if (typeof skipContent !== 'string' || isBlank(skipContent)) return codes[0]
  return skipContent.length > (oldLimits && skipType === 2 ? 1000 : 1024) ? codes[1] : undefined
}

function customMapFault(map: unknown, { oldLimits }: NoticeRules): number | undefined {
  if (map === undefined || map === null) return undefined
  if (typeof map !== 'object' || Array.isArray(map)) return 10067
  const pairs = Object.entries(map)
  if (oldLimits && pairs.length > 10) return 10066
  let size = 0
  for (const [key, value] of pairs) {
    if (typeof value !== 'string') return 10067
    size += countCodePoints(key) + countCodePoints(value)
  }
  return size > 1024 ? 10067 : undefined
}

function extraFault(extra: unknown): number | undefined {
  if (extra === undefined || extra === null) return undefined
  if (typeof extra !== 'object' || Array.isArray(extra)) return 10304
  for (const [key, value] of Object.entries(extra)) {
    if (!['callback', 'callback.param', 'callback.id'].includes(key) || typeof value !== 'string')
      return 10304
    if (key === 'callback' && value.length > 128) return 10305
    if (key === 'callback.param' && value.length > 192) return 10306
  }
  return undefined
}

export function requestIdFault(requestId: unknown): number | undefined {
  if (typeof requestId !== 'string' || isBlank(requestId)) return 10352
  return requestId.length > 64 ? 10353 : undefined
}

function classFault({ classification, category }: Body): number | undefined {
  if (classification !== undefined && classification !== 0 && classification !== 1) return 11000
  if (category === undefined || category === '') return undefined
  const belongsTo = typeof category === 'string' ? categories[category] : undefined
  if (belongsTo === undefined) return 10096
  return classification === undefined || classification === belongsTo ? undefined : 10097
}

/** A CJK character or a full-width sign counts two. */
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

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '')
}
