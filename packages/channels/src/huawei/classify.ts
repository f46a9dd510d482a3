import { accepted, type Outcome } from '@herald/domain'
import { type FailingKind, failing } from '../shared/failing.ts'
import { type HttpReply, parseObject, retryAfterSeconds } from '../shared/http.ts'

type Row = readonly [kind: FailingKind, words: string]

/**
 * Codes of the send answer. The code decides at any HTTP status.
 * https://developer.huawei.com/consumer/en/doc/HMSCore-References/https-send-api-0000001050986197 (v1, v2)
 * https://developer.huawei.com/consumer/cn/doc/harmonyos-references/push-scenariozed-api-resp-code (v3)
 */
const byCode: Readonly<Record<string, Row>> = {
  80100001: ['rejected', 'parameter check failed'],
  80100002: ['rejected', 'system message must have one token'],
  80100003: ['rejected', 'message structure wrong'],
  80100004: ['rejected', 'ttl already past'],
  80100013: ['rejected', 'collapse_key invalid'],
  80100016: ['rejected', 'sensitive words'],
  80100017: ['throttled', 'too many topic sends at once'],
  80100018: ['rejected', 'content review signature mismatch'],
  80100022: ['rejected', 'image not verified'],
  80200001: ['misconfigured', 'access token missing, wrong or of another app'],
  80200003: ['misconfigured', 'access token expired'],
  80200005: ['misconfigured', 'JWT expired'],
  80300002: ['misconfigured', 'app may not push'],
  80300007: ['gone', 'all tokens invalid'],
  80300008: ['rejected', 'body too large'],
  80300010: ['rejected', 'wrong number of tokens'],
  80300011: ['misconfigured', 'no right to send HIGH urgency'],
  80300013: ['misconfigured', 'receipt address wrong or its certificate expired'],
  80300029: ['throttled', 'test message flow limit'],
  80300030: ['rejected', 'too many test tokens'],
  80300036: ['misconfigured', 'JWT lives longer than a day'],
  80300037: ['misconfigured', 'app is under penalty'],
  80600003: ['unavailable', 'push server could not check the access token'],
  81000001: ['unavailable', 'internal error'],
}

/** Codes after which a new pass is worth one try; the table says what a second refusal means. */
const refreshing = new Set(['80200001', '80200003', '80200005', '80600003'])

const byStatus: Readonly<Record<number, Row>> = {
  400: ['rejected', 'bad request'],
  401: ['misconfigured', 'auth failed'],
  403: ['misconfigured', 'forbidden'],
  404: ['misconfigured', 'wrong URI'],
  405: ['misconfigured', 'wrong method'],
  413: ['rejected', 'body too large'],
  429: ['throttled', 'too many requests'],
  503: ['throttled', 'flow control'],
}

/** v3 lists refused tokens by reason; a reason that is not here is about the message and leaves the token alive. */
const byIllegalReason: ReadonlyMap<string, FailingKind> = new Map([
  ['tokenFormatError', 'gone'],
  ['tokenPlatformNotSupport', 'gone'],
  ['noRight', 'rejected'],
  ['noPushTypeRight', 'misconfigured'],
  ['disableSendHuaweiMsgBecauseOfPenalty', 'misconfigured'],
  ['appinfoError', 'misconfigured'],
])

export type SendVerdict = {
  outcomeOf(token: string): Outcome
  /** The pass was refused: worth one new pass. */
  refresh: boolean
  /** HIGH urgency was refused: the same message may go at NORMAL. */
  urgencyRefused: boolean
}

/** Pure. What one answer means for the tokens of its request. */
export function classifySend(reply: HttpReply, nowMs: number): SendVerdict {
  const body = parseObject(reply.text)
  const code = body === undefined ? undefined : codeOf(body.code)
  if (code === undefined) return forAll(byHttp(reply, nowMs), { refresh: reply.status === 401 })
  if (code === '80000000') return forAll(accepted)
  if (code === '80100000') return partly(code, body?.msg, accepted)
  const row = byCode[code] ?? unlisted(code)
  const outcome = failing(row[0], `${code} ${row[1]}`, reply, nowMs)
  if (code === '80300007') return partly(code, body?.msg, outcome)
  return forAll(outcome, { refresh: refreshing.has(code), urgencyRefused: code === '80300011' })
}

/** 82000001-82000013 are about topics and groups. Anything else unknown may pass: it is tried again, never pruned. */
function unlisted(code: string): Row {
  return /^820000\d\d$/.test(code) ? ['rejected', 'topic or group error'] : ['unavailable', 'unknown code']
}

/**
 * Refused tokens stand in `msg`, which is JSON inside a JSON string: a flat list in v1 and v2, lists by reason in v3. When
 * it cannot be read, all tokens share `rest`: the batch was taken, and sending it again would show it twice.
 */
function partly(code: string, msg: unknown, rest: Outcome): SendVerdict {
  const refused = new Map<string, Outcome>()
  const detail = typeof msg === 'string' ? parseObject(msg) : undefined
  for (const token of strings(detail?.illegal_tokens))
    refused.set(token, { kind: 'gone', reason: `${code} illegal token` })
  const byReason = detail?.illegalTokens
  if (typeof byReason === 'object' && byReason !== null)
    for (const [reason, tokens] of Object.entries(byReason)) {
      const word = /^\w{1,64}$/.test(reason) ? reason : 'illegal token'
      const outcome: Outcome = { kind: byIllegalReason.get(reason) ?? 'rejected', reason: `${code} ${word}` }
      for (const token of strings(tokens)) refused.set(token, outcome)
    }
  return { outcomeOf: (token) => refused.get(token) ?? rest, refresh: false, urgencyRefused: false }
}

/**
 * The token endpoint's refusals.
 * https://developer.huawei.com/consumer/en/doc/HMSCore-References/account-server-error-code-0000001062371380
 */
const bySubError: Readonly<Record<string, string>> = {
  12304: 'client_secret wrong',
  20002: 'client_id malformed',
  20171: 'client_secret missing',
  20172: 'client_secret malformed',
  20182: 'grant_type wrong',
}

/** Pure. What it means for a send that no access token was handed out. */
export function classifyAuth(reply: HttpReply, nowMs: number): Outcome {
  const { status } = reply
  const sub = codeOf(parseObject(reply.text)?.sub_error)
  if (status === 429 || status === 503) {
    // Token requests are bounded per five minutes; coming back sooner than a minute only prolongs it.
    const retryAfter = Math.max(60, retryAfterSeconds(reply.headers, nowMs) ?? 0)
    return { kind: 'throttled', reason: `oauth ${status} too many token requests`, retryAfter }
  }
  if (status >= 400 && status < 500) {
    const words = sub === undefined ? 'token request refused' : (bySubError[sub] ?? 'token request refused')
    return { kind: 'misconfigured', reason: `oauth ${sub ?? status} ${words}` }
  }
  return failing('unavailable', `oauth ${status} no access token`, reply, nowMs)
}

function byHttp(reply: HttpReply, nowMs: number): Outcome {
  const { status } = reply
  const row: Row =
    byStatus[status] ??
    (status >= 400 && status < 500 ? ['rejected', 'refused'] : ['unavailable', 'no answer in JSON'])
  return failing(row[0], `HTTP ${status} ${row[1]}`, reply, nowMs)
}

function forAll(
  outcome: Outcome,
  marks: Partial<Pick<SendVerdict, 'refresh' | 'urgencyRefused'>> = {},
): SendVerdict {
  return { outcomeOf: () => outcome, refresh: false, urgencyRefused: false, ...marks }
}

/** Codes are strings of digits by the book, numbers now and then. */
function codeOf(value: unknown): string | undefined {
  const code = typeof value === 'number' ? String(value) : value
  return typeof code === 'string' && /^\d{1,12}$/.test(code) ? code : undefined
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}
