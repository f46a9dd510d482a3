import { accepted, type Outcome, parseVerbatim } from '@herald/domain'
import { nextShanghaiHour, nextShanghaiMidnight } from '../shared/day.ts'
import { failing } from '../shared/failing.ts'
import { type HttpReply, parseObject } from '../shared/http.ts'
import { wording } from '../shared/wording.ts'

/** An answer of vivo that could be read. `invalid` maps the tokens it names to their status; "" when it names none. */
export type VivoReply = {
  result: number
  desc: string
  taskId?: string
  authToken?: string
  invalid: ReadonlyMap<string, number>
}

type Verdict =
  | 'gone'
  | 'rejected'
  | 'misconfigured'
  | 'throttled'
  | 'unavailable'
  | 'until midnight'
  | 'until opening'

/** Result codes of https://dev.vivo.com.cn/documentCenter/doc/362, with what each means for the devices of the call. */
export const resultCodes: Readonly<Record<number, readonly [Verdict, string]>> = {
  10000: ['misconfigured', 'authToken refused'],
  10040: ['unavailable', 'vivo is short of resources'],
  10043: ['misconfigured', 'push is turned off for the app'],
  10045: ['misconfigured', 'the app is in review, use push_mode 1 until it is listed'],
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
  10070: ['until midnight', 'operational volume of the day spent'],
  10071: ['until opening', 'operational messages pass from 07:00 to 23:00'],
  10072: ['throttled', 'too fast'],
  10073: ['until midnight', 'system volume of the day spent'],
  10082: ['misconfigured', 'no permission for system messages'],
  10085: ['rejected', 'the text breaks the rules for formal messages'],
  10093: ['throttled', 'auth called too fast'],
  10094: ['misconfigured', 'appId is not the one of the authToken'],
  10095: ['rejected', 'bad notifyId'],
  10096: ['rejected', 'bad category'],
  10097: ['rejected', 'category and classification disagree'],
  10101: ['rejected', 'content audit failed'],
  10103: ['rejected', 'content audit failed'],
  10104: ['rejected', 'the text breaks the rules for formal messages'],
  10150: ['rejected', 'no targets'],
  10151: ['rejected', 'taskId of the list missing'],
  10152: ['rejected', 'bad taskId of the list'],
  10153: ['rejected', 'fewer than 2 targets'],
  10154: ['rejected', 'more than 1000 targets'],
  10155: ['rejected', 'the list payload is gone'],
  10200: ['misconfigured', 'appId missing'],
  10201: ['misconfigured', 'appKey missing'],
  10202: ['misconfigured', 'bad appKey'],
  10203: ['misconfigured', 'timestamp missing'],
  10204: ['misconfigured', 'sign missing'],
  10205: ['misconfigured', 'unknown appId'],
  10206: ['misconfigured', 'sign refused, check app_secret'],
  10207: ['misconfigured', 'timestamp off by more than 10 minutes, check the clock of this server'],
  10250: ['until midnight', 'auth calls of the day spent'],
  10252: ['until midnight', 'list payloads of the day spent'],
  10254: ['until midnight', 'broadcasts of the day spent'],
  10301: ['rejected', 'alias too long'],
  10302: ['gone', 'regId invalid'],
  10304: ['misconfigured', 'unknown key in extra'],
  10305: ['misconfigured', 'callback address too long'],
  10306: ['rejected', 'callback parameter too long'],
  10307: ['rejected', 'alias invalid'],
  10311: ['rejected', 'notifications are off, or the device is inactive'],
  10352: ['rejected', 'requestId missing'],
  10353: ['rejected', 'requestId too long'],
  11000: ['rejected', 'bad classification'],
}

/** Codes that the transport answers by a second call before they reach anybody. */
export const authExpired = 10000
export const clockRefused = 10207
export const listPayloadsSpent = 10252
export const listPayloadGone: ReadonlySet<number> = new Set([10151, 10152, 10155])

/** Reads an answer, or says what an unreadable one means. HTTP 500 carries plain text. */
export function readReply(http: HttpReply, nowMs: number): VivoReply | Outcome {
  if (http.status < 200 || http.status > 299)
    return failing(http.status === 429 ? 'throttled' : 'unavailable', `HTTP ${http.status}`, http, nowMs)
  const body = readBody(http.text)
  const result = readInteger(body?.result)
  if (!body || result === undefined)
    return failing('unavailable', 'the answer is not vivo’s JSON', http, nowMs)
  return {
    result,
    desc: typeof body.desc === 'string' ? body.desc : '',
    taskId: readId(body.taskId),
    authToken: typeof body.authToken === 'string' && body.authToken ? body.authToken : undefined,
    invalid: readInvalid(body.invalidUser ?? body.invalidUsers),
  }
}

export function isReply(reading: VivoReply | Outcome): reading is VivoReply {
  return 'result' in reading
}

/** What a result other than 0 means for every device of the call. */
export function outcomeOfResult({ result, desc }: VivoReply, nowMs: number): Outcome {
  const known = resultCodes[result]
  if (!known) return { kind: 'rejected', reason: `${result} ${wording(desc)}`.trim() }
  const [verdict, words] = known
  const reason = `${result} ${words}`
  if (verdict === 'until midnight') return { kind: 'quota', reason, until: nextShanghaiMidnight(nowMs) }
  if (verdict === 'until opening') return { kind: 'quota', reason, until: nextShanghaiHour(nowMs, 7) }
  if (result === 10093) return { kind: 'throttled', reason, retryAfter: 2 }
  return { kind: verdict, reason }
}

/** A device that vivo names as invalid. Only 1 and 2 say that the token itself is dead. */
export function outcomeOfStatus(status: number): Outcome {
  switch (status) {
    case 1:
      return { kind: 'gone', reason: 'status 1 unknown in this app' }
    case 2:
      return { kind: 'gone', reason: 'status 2 uninstalled or unsubscribed' }
    case 3:
      return { kind: 'rejected', reason: 'status 3 inactive for 14 days' }
    case 4:
      return { kind: 'rejected', reason: 'status 4 not among the test devices of the vivo console' }
    default:
      return { kind: 'rejected', reason: `status ${status}` }
  }
}

export function classifySingle(reply: VivoReply, nowMs: number): Outcome {
  if (reply.result === 0) return accepted
  const [status] = reply.invalid.values()
  return status === undefined ? outcomeOfResult(reply, nowMs) : outcomeOfStatus(status)
}

/**
 * One outcome a token, in their order: a list with dead tokens still answers 0 and names them. A word about the list as a
 * whole never retires tokens that it does not name.
 */
export function classifyList(reply: VivoReply, tokens: readonly string[], nowMs: number): Outcome[] {
  const whole = reply.result === 0 ? accepted : outcomeOfResult(reply, nowMs)
  const forAll: Outcome = whole.kind === 'gone' ? { kind: 'rejected', reason: whole.reason } : whole
  return tokens.map((token) => {
    const status = reply.invalid.get(token)
    return status === undefined ? forAll : outcomeOfStatus(status)
  })
}

/** A regId of 23 digits may come as a number, and would lose digits as one. */
function readBody(text: string): Record<string, unknown> | undefined {
  const body = parseObject(text)
  return body && /"userid"\s*:\s*\d/.test(text) ? (parseVerbatim(text) as typeof body) : body
}

function readInvalid(value: unknown): ReadonlyMap<string, number> {
  const invalid = new Map<string, number>()
  for (const item of Array.isArray(value) ? value : [value]) {
    if (typeof item !== 'object' || item === null) continue
    const { userid, status } = item as { userid?: unknown; status?: unknown }
    invalid.set(readId(userid) ?? '', readInteger(status) ?? 0)
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
