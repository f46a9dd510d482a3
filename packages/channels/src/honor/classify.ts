import { accepted, type Outcome } from '@herald/domain'
import { type FailingKind, failing } from '../shared/failing.ts'
import { type HttpReply, parseObject } from '../shared/http.ts'

type Row = readonly [kind: FailingKind, words: string]

/**
 * Business codes. Honor's own table is not public in full; these are the codes of the family its interface comes from.
 * https://developer.honor.com/cn/docs/11002/reference/downlink-message
 */
const byCode: Readonly<Record<number, Row>> = {
  80100001: ['rejected', 'parameter error'],
  80100003: ['rejected', 'message structure wrong'],
  80100004: ['rejected', 'ttl already past'],
  80100016: ['rejected', 'forbidden words'],
  80200001: ['misconfigured', 'access token wrong'],
  80200003: ['misconfigured', 'access token expired'],
  80300002: ['misconfigured', 'app may not push'],
  80300007: ['gone', 'all tokens invalid'],
  80300008: ['rejected', 'body too large'],
  80300010: ['rejected', 'too many tokens'],
  81000001: ['unavailable', 'internal error'],
}

/** By HTTP status, or by a code that is one. */
const byStatus: Readonly<Record<number, Row>> = {
  400: ['rejected', 'parameters wrong'],
  401: ['misconfigured', 'access token refused'],
  403: ['misconfigured', 'app not allowed'],
  404: ['misconfigured', 'wrong path or app id'],
  413: ['rejected', 'body too large'],
  429: ['throttled', 'too many requests'],
  500: ['unavailable', 'server error'],
  502: ['unavailable', 'server error'],
  503: ['throttled', 'flow control'],
  504: ['unavailable', 'server error'],
}

/** Three numbers are reported for success; which one comes is not settled, so all are taken. */
const successes = new Set([200, 0, 80000000])
/** Some tokens failed: those in neither list were taken. */
const partial = 80100000
const refreshing = new Set([401, 80200001, 80200003])

export type SendVerdict = {
  outcomeOf(token: string): Outcome
  /** The pass was refused: worth one new pass. */
  refresh: boolean
}

/** Pure. What one answer means for the tokens of its request; the lists are read whatever the code says. */
export function classifySend(reply: HttpReply, nowMs: number): SendVerdict {
  const body = parseObject(reply.text)
  const code = codeOf(body?.code)
  if (!body || code === undefined)
    return { outcomeOf: everyone(byHttp(reply, nowMs)), refresh: reply.status === 401 }
  if (refreshing.has(code) || reply.status === 401) {
    const row = byCode[code] ?? byStatus[401]!
    return { outcomeOf: everyone({ kind: row[0], reason: `${code} ${row[1]}` }), refresh: true }
  }
  const data = isObject(body.data) ? body.data : {}
  const rest = restOf(reply, code, data.sendResult, nowMs)
  const listed = new Map<string, Outcome>()
  for (const token of strings(data.failTokens))
    listed.set(token, { kind: 'rejected', reason: `${code} listed in failTokens` })
  for (const token of strings(data.expireTokens))
    listed.set(token, { kind: 'gone', reason: `${code} listed in expireTokens` })
  return { outcomeOf: (token) => listed.get(token) ?? rest, refresh: false }
}

function restOf(reply: HttpReply, code: number, sendResult: unknown, nowMs: number): Outcome {
  const taken = reply.status >= 200 && reply.status < 300 && sendResult !== false
  if (taken && (successes.has(code) || code === partial)) return accepted
  // A success code that does not hold: the vendor says it took nothing, so trying again shows nothing twice.
  if (successes.has(code) || code === partial)
    return reply.status < 300
      ? failing('unavailable', `${code} without sendResult`, reply, nowMs)
      : byHttp(reply, nowMs)
  const row: Row = byCode[code] ?? byStatus[code] ?? ['unavailable', 'unknown code']
  return failing(row[0], `${code} ${row[1]}`, reply, nowMs)
}

/** Pure. What it means for a send that no access token was handed out. */
export function classifyAuth(reply: HttpReply, nowMs: number): Outcome {
  const { status } = reply
  const error = parseObject(reply.text)?.error
  const word = typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? error : 'no access token'
  if (status === 429) return failing('throttled', 'oauth 429 too many token requests', reply, nowMs)
  if (status >= 400 && status < 500) return { kind: 'misconfigured', reason: `oauth ${status} ${word}` }
  return failing('unavailable', `oauth ${status} ${word}`, reply, nowMs)
}

function byHttp(reply: HttpReply, nowMs: number): Outcome {
  const { status } = reply
  const other: Row =
    status >= 400 && status < 500 ? ['rejected', 'refused'] : ['unavailable', 'no answer in JSON']
  const row = byStatus[status] ?? other
  return failing(row[0], `HTTP ${status} ${row[1]}`, reply, nowMs)
}

function everyone(outcome: Outcome): () => Outcome {
  return () => outcome
}

/** An integer by the book; a numeric string is taken too. */
function codeOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined
  return typeof value === 'string' && /^\d{1,12}$/.test(value) ? Number(value) : undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}
