import { accepted, type Outcome, type Reason } from '@herald/domain'
import { type HttpReply, parseObject, retryAfterSeconds } from '../shared/http.ts'
import { type FailureKind, failureOutcome } from '../shared/outcome.ts'
import { reason } from '../shared/reason.ts'

type Row = readonly [kind: FailureKind, text: string]

/**
 * Codes of the send reply. The code decides, whatever the HTTP status.
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

/** Codes after which one retry with a new access token makes sense; the table has the outcome of a second refusal. */
const tokenRefusals = new Set(['80200001', '80200003', '80200005', '80600003'])

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

/** v3 lists refused tokens by reason; any other reason concerns the message, so the token stays valid. */
const byIllegalReason: ReadonlyMap<string, FailureKind> = new Map([
  ['tokenFormatError', 'gone'],
  ['tokenPlatformNotSupport', 'gone'],
  ['noRight', 'rejected'],
  ['noPushTypeRight', 'misconfigured'],
  ['disableSendHuaweiMsgBecauseOfPenalty', 'misconfigured'],
  ['appinfoError', 'misconfigured'],
])

export type SendResult = {
  outcomeOf(token: string): Outcome
  /** Retry once with a new access token. */
  tokenRefused: boolean
  /** HIGH urgency was refused: retry with NORMAL. */
  urgencyRefused: boolean
}

/** Pure. Returns the outcomes of the tokens of one request. */
export function classifySend(reply: HttpReply, nowMs: number): SendResult {
  const body = parseObject(reply.text)
  const code = body === undefined ? undefined : codeOf(body.code)
  if (code === undefined) return forAll(byHttp(reply, nowMs), { tokenRefused: reply.status === 401 })
  if (code === '80000000') return forAll(accepted)
  if (code === '80100000') return partial(code, body?.msg, accepted)
  const row = byCode[code] ?? unlisted(code)
  const outcome = failureOutcome(row[0], reason('huawei', code, row[1]), reply, nowMs)
  if (code === '80300007') return partial(code, body?.msg, outcome)
  return forAll(outcome, { tokenRefused: tokenRefusals.has(code), urgencyRefused: code === '80300011' })
}

/** 82000001-82000013 concern topics and groups. Any other unknown code is retried and never retires a token. */
function unlisted(code: string): Row {
  return /^820000\d\d$/.test(code) ? ['rejected', 'topic or group error'] : ['unavailable', 'unknown code']
}

/**
 * Refused tokens are in `msg`, which is JSON inside a JSON string: a flat list in v1 and v2, lists by reason in v3. If it cannot
 * be read, all tokens get `rest`: the request was accepted, and another one would notify devices twice.
 */
function partial(code: string, msg: unknown, rest: Outcome): SendResult {
  const refused = new Map<string, Outcome>()
  const detail = typeof msg === 'string' ? parseObject(msg) : undefined
  for (const token of strings(detail?.illegal_tokens))
    refused.set(token, { kind: 'gone', reason: reason('huawei', code, 'illegal token') })
  const byReason = detail?.illegalTokens
  if (typeof byReason === 'object' && byReason !== null)
    for (const [name, tokens] of Object.entries(byReason)) {
      const word = /^\w{1,64}$/.test(name) ? name : undefined
      const outcome: Outcome = {
        kind: byIllegalReason.get(name) ?? 'rejected',
        reason: reason('huawei', code, word ?? 'illegal token', word),
      }
      for (const token of strings(tokens)) refused.set(token, outcome)
    }
  return { outcomeOf: (token) => refused.get(token) ?? rest, tokenRefused: false, urgencyRefused: false }
}

/**
 * Errors of the token endpoint.
 * https://developer.huawei.com/consumer/en/doc/HMSCore-References/account-server-error-code-0000001062371380
 */
const bySubError: Readonly<Record<string, string>> = {
  12304: 'client_secret wrong',
  20002: 'client_id malformed',
  20171: 'client_secret missing',
  20172: 'client_secret malformed',
  20182: 'grant_type wrong',
}

/** Pure. Returns the outcome of a send that got no access token. */
export function classifyAuth(reply: HttpReply, nowMs: number): Outcome {
  const { status } = reply
  const sub = codeOf(parseObject(reply.text)?.sub_error)
  if (status === 429 || status === 503) {
    // Token requests are limited per five minutes; retrying within a minute only prolongs that.
    const retryAfter = Math.max(60, retryAfterSeconds(reply.headers, nowMs) ?? 0)
    return { kind: 'throttled', reason: oauthReason(status, 'too many token requests'), retryAfter }
  }
  if (status >= 400 && status < 500) {
    const text = sub === undefined ? 'token request refused' : (bySubError[sub] ?? 'token request refused')
    return { kind: 'misconfigured', reason: oauthReason(sub ?? status, text) }
  }
  return failureOutcome('unavailable', oauthReason(status, 'no access token'), reply, nowMs)
}

function oauthReason(code: string | number, text: string): Reason {
  return reason('huawei', `oauth_${code}`, `oauth ${code} ${text}`)
}

function byHttp(reply: HttpReply, nowMs: number): Outcome {
  const { status } = reply
  const row: Row =
    byStatus[status] ??
    (status >= 400 && status < 500 ? ['rejected', 'refused'] : ['unavailable', 'the reply is not JSON'])
  return failureOutcome(row[0], reason('huawei', `http_${status}`, `HTTP ${status} ${row[1]}`), reply, nowMs)
}

function forAll(
  outcome: Outcome,
  marks: Partial<Pick<SendResult, 'tokenRefused' | 'urgencyRefused'>> = {},
): SendResult {
  return { outcomeOf: () => outcome, tokenRefused: false, urgencyRefused: false, ...marks }
}

/** Documented as a string of digits; numbers occur too. */
function codeOf(value: unknown): string | undefined {
  const code = typeof value === 'number' ? String(value) : value
  return typeof code === 'string' && /^\d{1,12}$/.test(code) ? code : undefined
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}
