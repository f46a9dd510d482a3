import { accepted, type Outcome, ownReasons } from '@herald/domain'
import { type HttpReply, parseObject } from '../shared/http.ts'
import { failureOutcome, outcomeOfBareStatus, unknownCodeTries, vendorText } from '../shared/outcome.ts'
import { reason } from '../shared/reason.ts'
import { nextShanghaiMidnight } from '../shared/shanghai-time.ts'

/** A readable reply of Meizu. `failed` maps refused targets to their code; all others were accepted. */
export type MeizuReply = {
  code: string
  message: string
  failed: ReadonlyMap<string, string>
  value: Readonly<Record<string, unknown>>
}

type CodeMeaning =
  | 'gone'
  | 'rejected'
  | 'misconfigured'
  | 'throttled'
  | 'unavailable'
  | 'unavailable or bad parameter'
  | 'until midnight'
type Table = Readonly<Record<string, readonly [CodeMeaning, string]>>

/** Codes of the whole call, https://github.com/MEIZUPUSH/PushAPI. */
export const callCodes: Table = {
  300: ['unavailable', 'redirect, not followed'],
  500: ['unavailable or bad parameter', 'other error'],
  1001: ['unavailable', 'system error'],
  1003: ['unavailable', 'server busy'],
  1005: ['rejected', 'bad parameter'],
  1006: ['misconfigured', 'sign refused, check app_secret'],
  110000: ['misconfigured', 'bad appId'],
  110001: ['rejected', 'bad appKey'],
  110002: ['gone', 'pushId not registered'],
  110003: ['gone', 'pushId malformed'],
  110004: ['rejected', 'empty parameter'],
  110009: ['misconfigured', 'the app is on the blacklist'],
  110010: ['throttled', 'the app sends too fast'],
  110019: ['until midnight', 'daily push quota used up'],
  110031: ['rejected', 'bad package name'],
  110032: ['rejected', 'bad taskId'],
  110033: ['misconfigured', 'bad appSecret'],
  110051: ['until midnight', 'push quota of the app used up'],
  110053: ['rejected', 'pass-through limit exceeded'],
}

/** Codes of single targets, same page. */
export const targetCodes: Table = {
  201: ['rejected', 'not allowed by the server'],
  501: ['unavailable', 'internal failure'],
  513: ['unavailable', 'internal failure'],
  518: ['throttled', 'configured rate exceeded'],
  519: ['unavailable', 'overload'],
  520: ['rejected', 'collapsed, more than 5 messages per minute to this device'],
  110002: ['gone', 'pushId not subscribed'],
  110003: ['gone', 'pushId malformed'],
  110005: ['rejected', 'alias not subscribed'],
  110010: ['rejected', 'the user disabled messages'],
  110011: ['rejected', 'daily quota of public messages of this device used up'],
}

/** The whole call was refused because of one target, which the reply does not name. */
export function isRefusedForTarget({ code }: MeizuReply): boolean {
  return code === '110002' || code === '110003'
}

/** Codes with which Meizu refuses a field of the message. It does not name the field in a documented way. */
export function mayRefuseField({ code }: MeizuReply): boolean {
  return code === '1005' || code === '110004' || code === '500'
}

/** Codes after which the same call may succeed. */
export function mayPass({ code }: MeizuReply): boolean {
  const meaning = callCodes[code]?.[0]
  return meaning === 'unavailable' || meaning === 'unavailable or bad parameter' || meaning === 'throttled'
}

/** Reads a reply; returns the outcome of all targets if it is unreadable. */
export function readReply(http: HttpReply, nowMs: number): MeizuReply | Outcome {
  const byStatus = outcomeOfBareStatus('meizu', http, nowMs)
  if (byStatus) return byStatus
  const body = parseObject(http.text)
  const code = body?.code
  if (!body || (typeof code !== 'string' && typeof code !== 'number'))
    return failureOutcome('unavailable', unreadable, http, nowMs)
  // `value` is "" for most errors.
  const value = isObject(body.value) ? body.value : {}
  return {
    code: String(code),
    message: typeof body.message === 'string' ? body.message : '',
    failed: readFailed(value),
    value,
  }
}

const unreadable = ownReasons.vendor_reply_unreadable('the reply is not JSON with a code')

export function isReply(read: MeizuReply | Outcome): read is MeizuReply {
  return 'code' in read
}

/** Returns one outcome per token, in the same order. */
export function classify(reply: MeizuReply, tokens: readonly string[], nowMs: number): Outcome[] {
  if (reply.code !== '200') {
    const outcome = outcomeOfCall(reply, nowMs)
    return tokens.map(() => outcome)
  }
  return tokens.map((token) => {
    const code = reply.failed.get(token)
    return code === undefined ? accepted : outcomeOf(targetCodes, code, '', nowMs)
  })
}

/** Returns the outcome of all targets for a code other than 200. */
export function outcomeOfCall({ code, message }: MeizuReply, nowMs: number): Outcome {
  return outcomeOf(callCodes, code, message, nowMs)
}

function outcomeOf(table: Table, code: string, message: string, nowMs: number): Outcome {
  const known = Object.hasOwn(table, code) ? table[code] : undefined
  const [meaning, text] = known ?? [
    'unavailable or bad parameter' as const,
    vendorText(message) || 'unknown code',
  ]
  // 110010 has another meaning for a single target.
  const differs = table === targetCodes && callCodes[code] && callCodes[code][0] !== meaning
  const why = reason('meizu', code, text, differs ? 'target' : undefined)
  if (meaning === 'until midnight') return { kind: 'quota', reason: why, until: nextShanghaiMidnight(nowMs) }
  if (meaning === 'unavailable or bad parameter')
    return { kind: 'unavailable', reason: why, maxTries: unknownCodeTries }
  // Meizu has answered: a failure for one target must not count as its silence.
  if (table === targetCodes && meaning === 'unavailable')
    return { kind: meaning, reason: why, minWait: 60, maxTries: unknownCodeTries }
  return { kind: meaning, reason: why }
}

/** Documented as code → targets; target → code occurs too. A code has at most 6 digits, a pushId at least 16. */
function readFailed(value: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  const failed = new Map<string, string>()
  for (const [name, item] of Object.entries(value)) {
    const items = (Array.isArray(item) ? item : [item]).filter(
      (one) => typeof one === 'string' || typeof one === 'number',
    )
    if (/^\d{1,6}$/.test(name)) for (const target of items) failed.set(String(target), name)
    else if (items.length === 1 && /^\d{1,6}$/.test(String(items[0]))) failed.set(name, String(items[0]))
  }
  return failed
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
