import { accepted, type Outcome, type Reason } from '@herald/domain'
import { type HttpReply, parseObject, retryAfterSeconds, stringsIn } from '../shared/http.ts'
import {
  everyone,
  type FailureKind,
  failureOutcome,
  outcomeOfBareStatus,
  unknownCodeTries,
  vendorText,
} from '../shared/outcome.ts'
import { reason } from '../shared/reason.ts'

type Row = readonly [kind: FailureKind, text: string]

/**
 * Codes of the send reply. The code decides, whatever the HTTP status. Only codes that concern every device and every message of
 * the app are `misconfigured`.
 * https://developer.huawei.com/consumer/en/doc/HMSCore-References/https-send-api-0000001050986197 (v1, v2)
 * https://developer.huawei.com/consumer/cn/doc/harmonyos-references/push-scenariozed-api-resp-code (v3)
 */
export const byCode: Readonly<Record<string, Row>> = {
  80100001: ['rejected', 'parameter check failed'],
  80100002: ['rejected', 'system message must have one token'],
  80100003: ['rejected', 'message structure wrong'],
  80100004: ['rejected', 'ttl already past'],
  80100013: ['rejected', 'collapse_key invalid'],
  80100016: ['rejected', 'sensitive words'],
  80100017: ['throttled', 'too many topic sends at once'],
  80100018: ['rejected', 'content review signature mismatch'],
  80100022: ['rejected', 'image not verified'],
  // Good tokens get it in passing too, so it does not close the certificate.
  80200001: ['unavailable', 'access token refused: wrong key, or an app or project of another account'],
  80200003: ['unavailable', 'access token expired'],
  80200005: ['unavailable', 'JWT expired'],
  80300002: ['misconfigured', 'app may not push: enable Push Kit, compare project and region'],
  80300007: ['gone', 'all tokens invalid'],
  80300008: ['rejected', 'body too large'],
  80300010: ['rejected', 'wrong number of tokens'],
  80300011: ['rejected', 'no permission for urgency HIGH'],
  80300013: [
    'rejected',
    'receipt address wrong or its TLS certificate expired: correct it in AppGallery Connect',
  ],
  80300029: ['rejected', 'daily limit of test messages used up'],
  80300030: ['rejected', 'too many test tokens'],
  80300036: ['unavailable', 'JWT valid for more than a day'],
  80300037: ['misconfigured', 'app is under penalty'],
  80600003: ['unavailable', 'push server could not check the access token'],
  81000001: ['unavailable', 'internal error'],
  82000012: ['rejected', 'data storage location not selected: select it in AppGallery Connect'],
  82000013: ['rejected', 'data storage location does not match the data: correct it in AppGallery Connect'],
}

/** Codes after which one retry with a new access token makes sense; the table has the outcome of a second refusal. */
const tokenRefusals = new Set(['80200001', '80200003', '80200005', '80300036', '80600003'])

/**
 * A part of the message that Huawei refused, without which the message can be sent. `test` is its mark as a test message, `push type` a
 * kind of message for which the app has no permission.
 */
export type RefusedPart = 'high' | 'receipts' | 'picture' | 'test' | 'push type'

const refusedParts: ReadonlyMap<string, RefusedPart> = new Map([
  ['80100022', 'picture'],
  ['80300011', 'high'],
  ['80300013', 'receipts'],
  ['80300029', 'test'],
])

/** Reasons of v3 for tokens whose app may not show the picture, or not send this kind of message. */
const pictureReason = 'differentImgVerifyPolicy'
const partsByReason: ReadonlyMap<string, RefusedPart> = new Map([
  [pictureReason, 'picture'],
  ['noPushTypeRight', 'push type'],
  ['notSupportPlayVoice', 'push type'],
])

/**
 * v3 lists refused tokens by reason. Each concerns these tokens only: a project has several apps with their own permissions and
 * penalties. Any other reason is `rejected` too, and the token stays valid.
 */
export const byIllegalReason: ReadonlyMap<string, Row> = new Map([
  ['tokenFormatError', ['gone', 'not a token']],
  ['tokenPlatformNotSupport', ['gone', 'token of another platform']],
  [
    'noRight',
    ['rejected', 'token of another project, or not registered again since HarmonyOS 5 was installed'],
  ],
  ['noPushTypeRight', ['rejected', 'no permission for this kind of message']],
  ['notSupportPlayVoice', ['rejected', 'no permission for voice messages, or the device cannot play them']],
  ['noRightToSendThisLiveNotificationEvent', ['rejected', 'no permission for this live view event']],
  ['disableSendHuaweiMsgBecauseOfPenalty', ['rejected', 'app is under penalty']],
  ['appinfoError', ['unavailable', 'app not found, may be found later']],
  ['countryNotSupport', ['rejected', 'country of the device not supported']],
  [pictureReason, ['rejected', 'picture not verified for this app']],
  ['atomicUnableSendUnsubscribedMsg', ['rejected', 'user has not subscribed to the atomic service']],
])

export type SendResult = {
  outcomeOf(token: string): Outcome
  /** Retry once with a new access token. */
  tokenRefused: boolean
  /** Huawei refused a part of the message for these tokens; it accepted nothing for them. */
  refused?: { part: RefusedPart; concerns(token: string): boolean }
}

/** Pure. Returns the outcomes of the tokens of one request. */
export function classifySend(reply: HttpReply, nowMs: number): SendResult {
  const body = parseObject(reply.text)
  const code = body === undefined ? undefined : codeOf(body.code)
  if (code === undefined)
    return { outcomeOf: everyone(byHttp(reply, nowMs)), tokenRefused: reply.status === 401 }
  if (code === '80000000') return { outcomeOf: everyone(accepted), tokenRefused: false }
  if (code === '80100000') return partial(code, body?.msg, accepted)
  const outcome = byCodeOf(code, body?.msg, reply, nowMs)
  if (code === '80300007') return partial(code, body?.msg, outcome)
  const part = refusedParts.get(code)
  return {
    outcomeOf: everyone(outcome),
    tokenRefused: tokenRefusals.has(code),
    refused: part && { part, concerns: () => true },
  }
}

/** 82000001-82000011 concern topics and groups. Any other unknown code is tried a few times and never retires a token. */
function byCodeOf(code: string, msg: unknown, reply: HttpReply, nowMs: number): Outcome {
  const row = byCode[code] ?? (/^820000\d\d$/.test(code) ? topicError : undefined)
  if (row) return failureOutcome(row[0], reason('huawei', code, row[1]), reply, nowMs)
  const text = `unknown code ${vendorText(msg)}`.trim()
  return { kind: 'unavailable', reason: reason('huawei', code, text), maxTries: unknownCodeTries }
}

const topicError: Row = ['rejected', 'topic or group error']

/**
 * Refused tokens are in `msg`, which is JSON inside a JSON string: a flat list in v1 and v2, lists by reason in v3. If it cannot
 * be read, all tokens get `rest`: the request was accepted, and another one would notify devices twice.
 */
function partial(code: string, msg: unknown, rest: Outcome): SendResult {
  const refused = new Map<string, Outcome>()
  const concerned = new Set<string>()
  let part: RefusedPart | undefined
  const detail = typeof msg === 'string' ? parseObject(msg) : undefined
  for (const token of stringsIn(detail?.illegal_tokens))
    refused.set(token, { kind: 'gone', reason: reason('huawei', code, 'illegal token') })
  const byReason = detail?.illegalTokens
  if (typeof byReason === 'object' && byReason !== null)
    for (const [name, tokens] of Object.entries(byReason)) {
      const outcome = outcomeOfIllegal(code, name)
      // Tokens of a second part, which only a project of several apps can have, keep their refusal.
      part ??= partsByReason.get(name)
      for (const token of stringsIn(tokens)) {
        refused.set(token, outcome)
        if (part !== undefined && partsByReason.get(name) === part) concerned.add(token)
      }
    }
  return {
    outcomeOf: (token) => refused.get(token) ?? rest,
    tokenRefused: false,
    refused: part && { part, concerns: (token) => concerned.has(token) },
  }
}

function outcomeOfIllegal(code: string, name: string): Outcome {
  const known = byIllegalReason.get(name)
  const word = /^\w{1,64}$/.test(name) ? name : undefined
  const because = reason('huawei', code, known?.[1] ?? word ?? 'illegal token', word)
  const kind = known?.[0] ?? 'rejected'
  // The app may have been created a moment ago, or not at all.
  if (kind === 'unavailable') return { kind, reason: because, minWait: 60, maxTries: unknownCodeTries }
  return { kind, reason: because }
}

/**
 * Errors of the token endpoint.
 * https://developer.huawei.com/consumer/en/doc/HMSCore-References/account-server-error-code-0000001062371380
 */
export const bySubError: Readonly<Record<string, Row>> = {
  12304: ['misconfigured', 'client_secret wrong'],
  20002: ['misconfigured', 'client_id malformed'],
  20171: ['misconfigured', 'client_secret missing'],
  20172: ['misconfigured', 'client_secret malformed'],
  20182: ['unavailable', 'grant_type wrong'],
}

/** Token requests are limited per five minutes; retrying within a minute only prolongs that. */
export const tokenPauseS = 60
/** Whatever the reply asks for: an access token lasts an hour. */
const maxTokenPauseS = 3600

/**
 * Pure. Returns the outcome of a send that got no access token. Only an error of Huawei's that names the client id or the secret
 * concerns the credentials: any other refusal may come from a proxy or a firewall.
 */
export function classifyAuth(reply: HttpReply, nowMs: number): Outcome {
  const { status } = reply
  const body = parseObject(reply.text)
  const sub = codeOf(body?.sub_error)
  if (codeOf(body?.error) === '1101' && sub !== undefined) {
    const [kind, text] = bySubError[sub] ?? ['unavailable', 'unknown code']
    const because = oauthReason(sub, text)
    return kind === 'misconfigured'
      ? { kind, reason: because }
      : { kind: 'unavailable', reason: because, maxTries: unknownCodeTries }
  }
  if (status === 429 || status === 503) {
    const throttled = oauthReason(status, 'too many token requests')
    const asked = retryAfterSeconds(reply.headers, nowMs)
    const retryAfter = asked === undefined ? undefined : Math.min(asked, maxTokenPauseS)
    return { kind: 'throttled', reason: throttled, retryAfter, minWait: tokenPauseS }
  }
  return failureOutcome('unavailable', oauthReason(status, 'no access token'), reply, nowMs)
}

function oauthReason(code: string | number, text: string): Reason {
  return reason('huawei', `oauth_${code}`, `oauth ${code} ${text}`)
}

/** Without a code of Huawei's the reply may come from a gateway. */
function byHttp(reply: HttpReply, nowMs: number): Outcome {
  const { status } = reply
  if (status === 503)
    return failureOutcome('throttled', reason('huawei', 'http_503', 'HTTP 503 flow control'), reply, nowMs)
  const unreadable = reason('huawei', `http_${status}`, `HTTP ${status} the reply is not JSON`)
  return outcomeOfBareStatus('huawei', reply, nowMs) ?? { kind: 'unavailable', reason: unreadable }
}

/** Documented as a string of digits; numbers occur too. */
function codeOf(value: unknown): string | undefined {
  const code = typeof value === 'number' ? String(value) : value
  return typeof code === 'string' && /^\d{1,12}$/.test(code) ? code : undefined
}
