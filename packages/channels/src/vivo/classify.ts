import { accepted, type Outcome, ownReasons, parseVerbatim } from '@herald/domain'
import { type HttpReply, parseObject } from '../shared/http.ts'
import { failureOutcome, outcomeOfBareStatus, unknownCodeTries, vendorText } from '../shared/outcome.ts'
import { reason } from '../shared/reason.ts'
import { nextShanghaiHour, nextShanghaiMidnight } from '../shared/shanghai-time.ts'

/** A readable reply of vivo. `invalid` maps invalid tokens to their status; the key is "" if the reply has no token. */
export type VivoReply = {
  result: number
  desc: string
  taskId?: string
  authToken?: string
  invalid: ReadonlyMap<string, number>
}

type CodeMeaning =
  | 'gone'
  | 'rejected'
  | 'misconfigured'
  | 'throttled'
  | 'unavailable'
  | 'until midnight'
  | 'until opening'

/** Result codes of https://dev.vivo.com.cn/documentCenter/doc/362, with the outcome of all devices of the call. */
export const resultCodes: Readonly<Record<number, readonly [CodeMeaning, string]>> = {
  10000: ['unavailable', 'vivo refuses an authToken that it has just issued'],
  10040: ['unavailable', 'vivo is overloaded'],
  10043: ['misconfigured', 'push is disabled for the app'],
  10045: ['rejected', 'the app is in review, use push_mode 1 until it is listed'],
  10050: ['rejected', 'no target'],
  10051: ['rejected', 'classification not allowed for this message'],
  10054: ['rejected', 'bad notifyType'],
  10055: ['rejected', 'title missing'],
  10056: ['rejected', 'title too long'],
  10057: ['rejected', 'content missing'],
  10058: ['rejected', 'content too long'],
  10059: ['rejected', 'bad timeToLive'],
  10060: ['rejected', 'bad skipType'],
  10061: ['rejected', 'URL missing'],
  10062: ['rejected', 'URL too long'],
  10063: ['rejected', 'custom click content missing'],
  10064: ['rejected', 'custom click content too long'],
  10065: ['rejected', 'bad networkType'],
  10066: ['rejected', 'too many custom fields'],
  10067: ['rejected', 'custom fields too long'],
  10068: ['rejected', 'intent missing'],
  10069: ['rejected', 'intent too long'],
  10070: ['until midnight', 'daily quota of operational messages used up'],
  10071: ['until opening', 'operational messages are allowed from 07:00 to 23:00'],
  10072: ['throttled', 'too fast'],
  10073: ['until midnight', 'daily quota of system messages used up'],
  10082: ['rejected', 'no permission for system messages'],
  10085: ['rejected', 'the text breaks the rules for formal messages'],
  10093: ['throttled', 'auth called too fast'],
  10094: ['rejected', 'appId does not match the authToken'],
  10095: ['rejected', 'bad notifyId'],
  10096: ['rejected', 'bad category'],
  10097: ['rejected', 'category and classification disagree'],
  10101: ['rejected', 'content audit failed'],
  10103: ['rejected', 'content audit failed'],
  10104: ['rejected', 'the text breaks the rules for formal messages'],
  10150: ['rejected', 'no targets'],
  10151: ['rejected', 'taskId of the list missing'],
  10152: ['rejected', 'bad taskId of the list'],
  10153: ['rejected', 'a list must have 2 to 1000 regIds'],
  10154: ['rejected', 'a list must have 2 to 1000 aliases'],
  10155: ['rejected', 'the list payload no longer exists'],
  10200: ['rejected', 'appId missing'],
  10201: ['rejected', 'appKey missing'],
  10202: ['misconfigured', 'bad appKey'],
  10203: ['rejected', 'timestamp missing'],
  10204: ['rejected', 'sign missing'],
  10205: ['misconfigured', 'unknown appId'],
  10206: ['misconfigured', 'sign refused, check app_secret'],
  10207: ['unavailable', 'timestamp off by more than 10 minutes, check the clock of this server'],
  10250: ['until midnight', 'daily quota of auth calls used up'],
  10252: ['until midnight', 'daily quota of list payloads used up'],
  10254: ['until midnight', 'daily quota of broadcasts used up'],
  10301: ['rejected', 'alias too long'],
  10302: ['gone', 'regId invalid'],
  10304: ['rejected', 'unknown key in extra'],
  10305: ['rejected', 'callback URL too long'],
  10306: ['rejected', 'callback parameter too long'],
  10307: ['rejected', 'alias invalid'],
  10311: ['rejected', 'notifications are disabled, or the device is inactive'],
  10352: ['rejected', 'requestId missing'],
  10353: ['rejected', 'requestId too long'],
  11000: ['rejected', 'bad classification'],
}

/** Codes after which the transport makes a second call. */
export const tokenRefused: ReadonlySet<number> = new Set([10000, 10094])
export const clockRefused = 10207
export const listQuotaUsedUp = 10252
export const listPayloadGone: ReadonlySet<number> = new Set([10151, 10152, 10155])
export const receiptsRefused: ReadonlySet<number> = new Set([10304, 10305, 10306])

/** Push is disabled for the application, although its credentials are valid. */
export const pushDisabled = 10043

/** Reads a reply; returns the outcome of all devices if it is unreadable. HTTP 500 has plain text. */
export function readReply(http: HttpReply, nowMs: number): VivoReply | Outcome {
  const byStatus = outcomeOfBareStatus('vivo', http, nowMs)
  if (byStatus) return byStatus
  const body = readBody(http.text)
  const result = readInteger(body?.result)
  if (!body || result === undefined) return failureOutcome('unavailable', unreadable, http, nowMs)
  return {
    result,
    desc: typeof body.desc === 'string' ? body.desc : '',
    taskId: readId(body.taskId),
    authToken: typeof body.authToken === 'string' && body.authToken ? body.authToken : undefined,
    invalid: readInvalid([body.invalidUser, body.invalidUsers].flat()),
  }
}

const unreadable = ownReasons.vendor_reply_unreadable('the reply is not JSON with a result')

export function isReply(read: VivoReply | Outcome): read is VivoReply {
  return 'result' in read
}

/** Returns the outcome of all devices for a result other than 0. */
export function outcomeOfResult({ result, desc }: VivoReply, nowMs: number): Outcome {
  const known = resultCodes[result]
  if (!known) return unknownResult(result, desc)
  const [meaning, text] = known
  const why = reason('vivo', result, text)
  if (meaning === 'until midnight') return { kind: 'quota', reason: why, until: nextShanghaiMidnight(nowMs) }
  if (meaning === 'until opening') return { kind: 'quota', reason: why, until: nextShanghaiHour(nowMs, 7) }
  if (result === 10093) return { kind: 'throttled', reason: why, retryAfter: 2 }
  return { kind: meaning, reason: why }
}

function unknownResult(result: number, desc: string): Outcome {
  const why = reason('vivo', result, vendorText(desc) || 'unknown code')
  return { kind: 'unavailable', reason: why, maxTries: unknownCodeTries }
}

/** The outcome of a device that the reply lists as invalid. Only 1 and 2 mean that the token is dead. */
export function outcomeOfInvalid(status: number): Outcome {
  const text = `status ${status} ${statusTexts[status] ?? ''}`.trim()
  return {
    kind: status === 1 || status === 2 ? 'gone' : 'rejected',
    reason: reason('vivo', `status_${status}`, text),
  }
}

const statusTexts: Readonly<Record<number, string>> = {
  1: 'unknown in this app',
  2: 'uninstalled or unsubscribed',
  3: 'inactive for 14 days',
  4: 'not among the test devices of the vivo console',
}

/** The only code of a single send that comes with the status of the token. */
const invalidToken = 10302

export function classifySingle(reply: VivoReply, nowMs: number): Outcome {
  if (reply.result === 0) return accepted
  const [status] = reply.result === invalidToken ? reply.invalid.values() : []
  return status === undefined ? outcomeOfResult(reply, nowMs) : outcomeOfInvalid(status)
}

/**
 * Returns one outcome per token, in the same order. A reply with dead tokens still has result 0 and lists them; a code for the
 * whole list never retires tokens that are not listed.
 */
export function classifyList(reply: VivoReply, tokens: readonly string[], nowMs: number): Outcome[] {
  const whole = reply.result === 0 ? accepted : outcomeOfResult(reply, nowMs)
  const forAll: Outcome = whole.kind === 'gone' ? { kind: 'rejected', reason: whole.reason } : whole
  return tokens.map((token) => {
    const status = reply.invalid.get(token)
    return status === undefined ? forAll : outcomeOfInvalid(status)
  })
}

/** A regId of 23 digits may be a JSON number; a JavaScript number would lose digits. */
function readBody(text: string): Record<string, unknown> | undefined {
  const body = parseObject(text)
  return body && /"userid"\s*:\s*\d/.test(text) ? (parseVerbatim(text) as typeof body) : body
}

/** A token that is listed without a readable status has status 0: it was not accepted, and is not said to be dead. */
function readInvalid(items: readonly unknown[]): ReadonlyMap<string, number> {
  const invalid = new Map<string, number>()
  for (const item of items) {
    if (typeof item !== 'object' || item === null) continue
    const { userid, status } = item as { userid?: unknown; status?: unknown }
    const token = readId(userid)
    const read = readInteger(status)
    if (token !== undefined || read !== undefined) invalid.set(token ?? '', read ?? 0)
  }
  return invalid
}

function readId(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? undefined : JSON.stringify(value)
}

function readInteger(value: unknown): number | undefined {
  const text = readId(value)
  return text !== undefined && /^-?\d{1,9}$/.test(text) ? Number(text) : undefined
}
