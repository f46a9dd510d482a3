import { accepted, type Outcome } from '@herald/domain'
import { type HttpReply, parseObject, stringsIn } from '../shared/http.ts'
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
 * Codes of the reply. Honor has not published a complete table; these are the codes of Huawei's API, which Honor's derives from,
 * and those that equal an HTTP status. None of them is certain enough to close the certificate.
 * https://developer.honor.com/cn/docs/11002/reference/downlink-message
 */
export const byCode: Readonly<Record<number, Row>> = {
  400: ['rejected', 'parameters wrong'],
  401: ['unavailable', 'access token refused'],
  403: ['rejected', 'app not allowed: compare app id and client id, enable push in the console'],
  // Some clients read it as a dead token; keeping the token is safe in both cases.
  404: ['rejected', 'wrong app id, or a token that no longer exists'],
  413: ['rejected', 'body too large'],
  429: ['throttled', 'too many requests'],
  500: ['unavailable', 'server error'],
  502: ['unavailable', 'server error'],
  503: ['throttled', 'flow control'],
  504: ['unavailable', 'server error'],
  80100001: ['rejected', 'parameter error'],
  80100003: ['rejected', 'message structure wrong'],
  80100004: ['rejected', 'ttl already past'],
  80100016: ['rejected', 'forbidden words'],
  80200001: ['unavailable', 'access token wrong'],
  80200003: ['unavailable', 'access token expired'],
  80300002: ['rejected', 'app may not push: enable push in the console, compare the app id'],
  80300007: ['gone', 'all tokens invalid'],
  80300008: ['rejected', 'body too large'],
  80300010: ['rejected', 'too many tokens'],
  81000001: ['unavailable', 'internal error'],
}

/** Sources differ on the success code, so all three are accepted. */
const successes = new Set([200, 0, 80000000])
/** Some tokens failed: those in neither list were accepted. */
const partial = 80100000
const tokenRefusals = new Set([401, 80200001, 80200003])
/** Codes about the form of the message. Honor has none for a picture, which needs an approval, so it may be the reason. */
const formRefusals = new Set([400, 80100001, 80100003])

export type SendResult = {
  outcomeOf(token: string): Outcome
  /** Retry once with a new access token. */
  tokenRefused: boolean
  /** Honor accepted the message for nobody, because of its form. */
  formRefused?: boolean
}

/** Pure. Returns the outcomes of the tokens of one request. The token lists are read whatever the code is. */
export function classifySend(reply: HttpReply, nowMs: number): SendResult {
  const body = parseObject(reply.text)
  const code = codeOf(body?.code)
  if (!body || code === undefined)
    return { outcomeOf: everyone(byHttp(reply, nowMs)), tokenRefused: reply.status === 401 }
  if (tokenRefusals.has(code) || reply.status === 401) {
    const row = tokenRefusals.has(code) ? byCode[code]! : byCode[401]!
    const outcome = failureOutcome(row[0], reason('honor', code, row[1]), reply, nowMs)
    return { outcomeOf: everyone(outcome), tokenRefused: true }
  }
  const data = isObject(body.data) ? body.data : {}
  const rest = restOf(reply, code, body, data.sendResult, nowMs)
  const listed = new Map<string, Outcome>()
  const listedIn = (list: string) => reason('honor', code, `listed in ${list}`, list)
  for (const token of stringsIn(data.failTokens))
    listed.set(token, { kind: 'rejected', reason: listedIn('failTokens') })
  for (const token of stringsIn(data.expireTokens))
    listed.set(token, { kind: 'gone', reason: listedIn('expireTokens') })
  return {
    outcomeOf: (token) => listed.get(token) ?? rest,
    tokenRefused: false,
    formRefused: formRefusals.has(code) && listed.size === 0,
  }
}

function restOf(
  reply: HttpReply,
  code: number,
  { message }: Record<string, unknown>,
  sendResult: unknown,
  nowMs: number,
): Outcome {
  const sent = reply.status >= 200 && reply.status < 300 && sendResult !== false
  const isSuccess = successes.has(code) || code === partial
  if (sent && isSuccess) return accepted
  // A success code that sendResult or the status contradicts: nothing was accepted, so a retry notifies nobody twice.
  if (isSuccess && reply.status >= 300) return byHttp(reply, nowMs)
  const row = isSuccess ? undefined : byCode[code]
  // Named as the HTTP status of the same number, after which the transport halves the request.
  const word = code === 413 ? 'http_413' : code
  if (row) return failureOutcome(row[0], reason('honor', word, row[1]), reply, nowMs)
  const text = isSuccess ? 'sendResult is false' : `unknown code ${vendorText(message)}`.trim()
  return { kind: 'unavailable', reason: reason('honor', code, text), maxTries: unknownCodeTries }
}

/** The words of the token endpoint that concern the credentials. */
const credentialRefusals = new Set(['invalid_client', 'unauthorized_client'])

/** Whether the token endpoint refused in its own words, as opposed to a gateway or a path that is not served. */
export function refusesCredentials(reply: HttpReply): boolean {
  const error = parseObject(reply.text)?.error
  return (
    reply.status >= 400 && reply.status < 500 && typeof error === 'string' && credentialRefusals.has(error)
  )
}

/** Pure. Returns the outcome of a send that got no access token. */
export function classifyAuth(reply: HttpReply, nowMs: number): Outcome {
  const { status } = reply
  const error = parseObject(reply.text)?.error
  const word = typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? error : 'no access token'
  const because = (text: string) => reason('honor', `oauth_${status}`, `oauth ${status} ${text}`)
  if (refusesCredentials(reply)) return { kind: 'misconfigured', reason: because(word) }
  if (status === 429) return failureOutcome('throttled', because('too many token requests'), reply, nowMs)
  return failureOutcome('unavailable', because(word), reply, nowMs)
}

/** Without a code of Honor's the reply may come from a gateway. */
function byHttp(reply: HttpReply, nowMs: number): Outcome {
  const { status } = reply
  if (status === 503)
    return failureOutcome('throttled', reason('honor', 'http_503', 'HTTP 503 flow control'), reply, nowMs)
  const unreadable = reason('honor', `http_${status}`, `HTTP ${status} the reply is not JSON`)
  return outcomeOfBareStatus('honor', reply, nowMs) ?? { kind: 'unavailable', reason: unreadable }
}

/** Documented as an integer; a numeric string is accepted too. */
function codeOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined
  return typeof value === 'string' && /^\d{1,12}$/.test(value) ? Number(value) : undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
