import { accepted, type Outcome } from '@herald/domain'
import { nextShanghaiMidnight } from '../shared/day.ts'
import { type FailingKind, failing } from '../shared/failing.ts'
import { type HttpReply, parseObject } from '../shared/http.ts'
import type { OppoPayload } from './payload.ts'

/** What one code means for one recipient, and what the transport may try before it reports that. */
export type Reading = { outcome: Outcome; cause?: 'expired' | 'picture' | 'target' }

/** A whole reply: one reading for all, or by registration id. */
export type SendVerdict = { whole: Reading } | { readingOf(token: string): Reading }

type Meaning =
  | 'accepted'
  | 'bad-target'
  | 'expired'
  | 'busy'
  | 'slow-down'
  | 'quota'
  | 'picture'
  | 'bad-message'
  | 'bad-class'
  | 'bad-certificate'

/**
 * Return codes of https://open.oppomobile.com/new/developmentDoc/info?id=11235. A code that is not listed is the message's
 * fault: it fails for that message alone, while a guess at “certificate” would close the channel for everyone.
 */
const meanings: readonly [Meaning, string, readonly number[]][] = [
  ['accepted', 'accepted', [0]],
  // The same app_message_id was taken before: a repeat of what OPPO already has.
  ['accepted', 'duplicate data', [32]],
  ['bad-target', 'registration id refused', [10000]],
  ['expired', 'auth token refused', [11, 29]],
  ['busy', 'service unavailable', [-1]],
  ['slow-down', 'flow control', [-2]],
  ['slow-down', 'call limit', [13, 55]],
  ['quota', 'daily message limit', [33]],
  ['picture', 'daily picture limit', [34]],
  ['picture', 'bad picture', [51]],
  ['bad-message', 'data does not exist', [31]],
  ['bad-message', 'bad argument', [41]],
  ['bad-message', 'argument missing or not UTF-8', [40, 25]],
  ['bad-class', 'private message template missing', [54]],
  ['bad-class', 'category or notify level refused', [67]],
  ['bad-certificate', 'no right to secondary action link', [59]],
  ['bad-certificate', 'method or version refused', [12, 20, 21, 22, 23, 24]],
  ['bad-certificate', 'app key refused', [14, 15]],
  ['bad-certificate', 'signature refused', [16, 17]],
  ['bad-certificate', 'timestamp refused, check this server’s clock', [18, 19]],
  ['bad-certificate', 'application has no right to push', [26, 27, 28, 30]],
]

const byCode = new Map(
  meanings.flatMap(([meaning, words, codes]) => codes.map((code) => [code, { meaning, words }] as const)),
)

type ClassifyContext = { classFrom: OppoPayload['classFrom']; nowMs: number }

export function classifySend(reply: HttpReply, context: ClassifyContext): SendVerdict {
  const byStatus = outcomeOfStatus(reply, context.nowMs)
  if (byStatus) return { whole: { outcome: byStatus } }
  const body = parseObject(reply.text)
  const code = readInteger(body?.code)
  if (!body || code === undefined) return { whole: { outcome: unreadable } }
  const whole = readCode(code, body.message, context)
  if (whole.outcome.kind !== 'accepted' || !Array.isArray(body.data)) return { whole }
  const failed = new Map<string, Reading>()
  for (const entry of body.data as Record<string, unknown>[]) {
    const errorCode = readInteger(entry?.errorCode)
    if (typeof entry?.registrationId === 'string' && errorCode !== undefined)
      failed.set(entry.registrationId, readCode(errorCode, entry.errorMessage, context))
  }
  return { readingOf: (token) => failed.get(token) ?? taken }
}

/** What a refused or unreadable answer of the auth call means for whoever wanted to send. */
export function classifyAuth(reply: HttpReply, nowMs: number): Outcome {
  const byStatus = outcomeOfStatus(reply, nowMs)
  if (byStatus) return byStatus
  const body = parseObject(reply.text)
  const code = readInteger(body?.code)
  if (code === undefined || code === 0) return unreadable
  const { outcome, cause } = readCode(code, undefined, { classFrom: 'certificate', nowMs })
  // No message was in question, so a refusal that is not temporary is about the credential.
  if (['throttled', 'unavailable', 'quota', 'misconfigured'].includes(outcome.kind) && !cause) return outcome
  return { kind: 'misconfigured', reason: `${code} auth refused` }
}

export function readInteger(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) ? number : undefined
}

function readCode(code: number, message: unknown, { classFrom, nowMs }: ClassifyContext): Reading {
  const { meaning, words } = byCode.get(code) ?? { meaning: 'bad-message', words: 'unknown code' }
  const reason = `${code} ${words}`
  switch (meaning) {
    case 'accepted':
      return taken
    case 'bad-target':
      return { outcome: { kind: 'gone', reason }, cause: 'target' }
    case 'expired':
      // Only seen outside when a fresh token fared no better.
      return { outcome: { kind: 'unavailable', reason }, cause: 'expired' }
    case 'busy':
      return { outcome: { kind: 'unavailable', reason } }
    case 'slow-down':
      return { outcome: { kind: 'throttled', reason } }
    case 'quota':
      return { outcome: { kind: 'quota', reason, until: nextShanghaiMidnight(nowMs) } }
    case 'picture':
      return { outcome: { kind: 'rejected', reason }, cause: 'picture' }
    case 'bad-class':
      return { outcome: { kind: classFrom === 'message' ? 'rejected' : 'misconfigured', reason } }
    case 'bad-certificate':
      return { outcome: { kind: 'misconfigured', reason } }
    case 'bad-message':
      // Seen in practice instead of 10000.
      return code === 41 && isAboutTarget(message)
        ? { outcome: { kind: 'gone', reason: `${code} registration id refused` }, cause: 'target' }
        : { outcome: { kind: 'rejected', reason } }
  }
}

const taken: Reading = { outcome: accepted }
const unreadable: Outcome = { kind: 'unavailable', reason: 'answer is not JSON with a code' }

function outcomeOfStatus(reply: HttpReply, nowMs: number): Outcome | undefined {
  const { status } = reply
  if (status >= 200 && status <= 299) return undefined
  return failing(kindOfStatus(status), `HTTP ${status}`, reply, nowMs)
}

function kindOfStatus(status: number): FailingKind {
  if (status === 429) return 'throttled'
  return status >= 400 && status <= 499 ? 'misconfigured' : 'unavailable'
}

function isAboutTarget(message: unknown): boolean {
  return typeof message === 'string' && /registration[_ ]?id|target[_ ]?value/i.test(message)
}
