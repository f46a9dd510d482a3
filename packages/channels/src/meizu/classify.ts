import { accepted, type Outcome } from '@herald/domain'
import { nextShanghaiMidnight } from '../shared/day.ts'
import { type FailingKind, failing } from '../shared/failing.ts'
import { type HttpReply, parseObject } from '../shared/http.ts'
import { wording } from '../shared/wording.ts'

/** An answer of Meizu that could be read. `failed` maps the targets it names to their code; others were accepted. */
export type MeizuReply = {
  code: string
  message: string
  failed: ReadonlyMap<string, string>
  value: Readonly<Record<string, unknown>>
}

type Verdict = 'gone' | 'rejected' | 'misconfigured' | 'throttled' | 'unavailable' | 'until midnight'
type Table = Readonly<Record<string, readonly [Verdict, string]>>

/** Codes about the whole call, https://github.com/MEIZUPUSH/PushAPI. 110010 means something else for one target. */
export const callCodes: Table = {
  300: ['unavailable', 'redirect, not followed'],
  500: ['unavailable', 'other error'],
  1001: ['unavailable', 'system error'],
  1003: ['unavailable', 'server busy'],
  1005: ['rejected', 'bad parameter'],
  1006: ['misconfigured', 'sign refused, check app_secret'],
  110000: ['misconfigured', 'bad appId'],
  110001: ['misconfigured', 'bad appKey'],
  110002: ['gone', 'pushId not registered'],
  110003: ['gone', 'pushId malformed'],
  110004: ['rejected', 'empty parameter'],
  110009: ['misconfigured', 'the app is on the blacklist'],
  110010: ['throttled', 'the app sends too fast'],
  110019: ['until midnight', 'pushes of the day spent'],
  110031: ['misconfigured', 'bad package name'],
  110032: ['rejected', 'bad taskId'],
  110033: ['misconfigured', 'bad appSecret'],
  110051: ['until midnight', 'the app’s count is spent'],
  110053: ['rejected', 'pass-through over its limit'],
}

/** Codes about single targets, same page. */
export const targetCodes: Table = {
  201: ['rejected', 'not allowed by the server'],
  501: ['unavailable', 'internal failure'],
  513: ['unavailable', 'internal failure'],
  518: ['throttled', 'over the configured speed'],
  519: ['unavailable', 'overload'],
  520: ['rejected', 'folded, over 5 messages a minute to this device'],
  110002: ['gone', 'pushId not subscribed'],
  110003: ['gone', 'pushId malformed'],
  110005: ['rejected', 'alias not subscribed'],
  110010: ['rejected', 'the user turned messages off'],
  110011: ['rejected', 'public messages of the day spent for this device'],
}

/** The whole call is refused for a target it does not name. */
export function blamesATarget({ code }: MeizuReply): boolean {
  return code === '110002' || code === '110003'
}

/** Reads an answer, or says what an unreadable one means. */
export function readReply(http: HttpReply, nowMs: number): MeizuReply | Outcome {
  if (http.status < 200 || http.status > 299)
    return failing(kindOfStatus(http.status), `HTTP ${http.status}`, http, nowMs)
  const body = parseObject(http.text)
  const code = body?.code
  if (!body || (typeof code !== 'string' && typeof code !== 'number'))
    return failing('unavailable', 'the answer is not Meizu’s JSON', http, nowMs)
  // `value` is "" on most failures.
  const value = isObject(body.value) ? body.value : {}
  return {
    code: String(code),
    message: typeof body.message === 'string' ? body.message : '',
    failed: readFailed(value),
    value,
  }
}

function kindOfStatus(status: number): FailingKind {
  if (status === 429) return 'throttled'
  return status >= 400 && status <= 499 && status !== 408 ? 'rejected' : 'unavailable'
}

export function isReply(reading: MeizuReply | Outcome): reading is MeizuReply {
  return 'code' in reading
}

/** One outcome a token, in their order. */
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

/** What a code other than 200 means for everybody in the call. */
export function outcomeOfCall({ code, message }: MeizuReply, nowMs: number): Outcome {
  return outcomeOf(callCodes, code, message, nowMs)
}

function outcomeOf(table: Table, code: string, message: string, nowMs: number): Outcome {
  const known = Object.hasOwn(table, code) ? table[code] : undefined
  if (!known) return { kind: 'rejected', reason: `${wording(code)} ${wording(message)}`.trim() }
  const [verdict, words] = known
  const reason = `${code} ${words}`
  return verdict === 'until midnight'
    ? { kind: 'quota', reason, until: nextShanghaiMidnight(nowMs) }
    : { kind: verdict, reason }
}

/** Code to targets by Meizu's text; target to code was seen too. A code has at most 6 digits, a pushId at least 16. */
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
