import { accepted, type Outcome, ownReasons } from '@herald/domain'
import { type HttpReply, parseObject, readInteger } from '../shared/http.ts'
import { outcomeOfStatus } from '../shared/outcome.ts'
import { reason } from '../shared/reason.ts'
import { nextShanghaiMidnight } from '../shared/shanghai-time.ts'
import type { OppoPayload } from './payload.ts'

/** The result of one code for one recipient; with a `cause`, the transport retries in another way before it reports it. */
export type CodeResult = { outcome: Outcome; cause?: 'expired' | 'picture' | 'target' }

/** The result of a call: one for all recipients, or per registration id. */
export type SendResult = { whole: CodeResult } | { resultOf(token: string): CodeResult }

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
 * Return codes of https://open.oppomobile.com/new/developmentDoc/info?id=11235. A code that is not listed fails this message only:
 * treating it as an error of the certificate would disable the channel for all messages.
 */
const meanings: readonly [Meaning, string, readonly number[]][] = [
  ['accepted', 'accepted', [0]],
  // OPPO accepted the same app_message_id before.
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
  ['bad-certificate', 'no permission for secondary action link', [59]],
  ['bad-certificate', 'method or version refused', [12, 20, 21, 22, 23, 24]],
  ['bad-certificate', 'app key refused', [14, 15]],
  ['bad-certificate', 'signature refused', [16, 17]],
  ['bad-certificate', 'timestamp refused, check the clock of this server', [18, 19]],
  ['bad-certificate', 'application has no permission to push', [26, 27, 28, 30]],
]

const byCode = new Map(
  meanings.flatMap(([meaning, text, codes]) => codes.map((code) => [code, { meaning, text }] as const)),
)

type ClassifyContext = { classFrom: OppoPayload['classFrom']; nowMs: number }

export function classifySend(reply: HttpReply, context: ClassifyContext): SendResult {
  const byStatus = outcomeOfStatus('oppo', reply, () => 'misconfigured', context.nowMs)
  if (byStatus) return { whole: { outcome: byStatus } }
  const body = parseObject(reply.text)
  const code = readInteger(body?.code)
  if (!body || code === undefined) return { whole: { outcome: unreadable } }
  const whole = readCode(code, body.message, context)
  if (whole.outcome.kind !== 'accepted' || !Array.isArray(body.data)) return { whole }
  const failed = new Map<string, CodeResult>()
  for (const entry of body.data as Record<string, unknown>[]) {
    const errorCode = readInteger(entry?.errorCode)
    if (typeof entry?.registrationId === 'string' && errorCode !== undefined)
      failed.set(entry.registrationId, readCode(errorCode, entry.errorMessage, context))
  }
  return { resultOf: (token) => failed.get(token) ?? success }
}

/** Returns the outcome of a send that got no auth token. */
export function classifyAuth(reply: HttpReply, nowMs: number): Outcome {
  const byStatus = outcomeOfStatus('oppo', reply, () => 'misconfigured', nowMs)
  if (byStatus) return byStatus
  const body = parseObject(reply.text)
  const code = readInteger(body?.code)
  if (code === undefined || code === 0) return unreadable
  const { outcome, cause } = readCode(code, undefined, { classFrom: 'certificate', nowMs })
  // The call contained no message, so a permanent refusal concerns the credentials.
  if (['throttled', 'unavailable', 'quota', 'misconfigured'].includes(outcome.kind) && !cause) return outcome
  return { kind: 'misconfigured', reason: reason('oppo', code, 'auth refused', 'auth') }
}

function readCode(code: number, message: unknown, { classFrom, nowMs }: ClassifyContext): CodeResult {
  const { meaning, text } = byCode.get(code) ?? { meaning: 'bad-message', text: 'unknown code' }
  const why = reason('oppo', code, text)
  switch (meaning) {
    case 'accepted':
      return success
    case 'bad-target':
      return { outcome: { kind: 'gone', reason: why }, cause: 'target' }
    case 'expired':
      // Reported only if a new token is refused too.
      return { outcome: { kind: 'unavailable', reason: why }, cause: 'expired' }
    case 'busy':
      return { outcome: { kind: 'unavailable', reason: why } }
    case 'slow-down':
      return { outcome: { kind: 'throttled', reason: why } }
    case 'quota':
      return { outcome: { kind: 'quota', reason: why, until: nextShanghaiMidnight(nowMs) } }
    case 'picture':
      return { outcome: { kind: 'rejected', reason: why }, cause: 'picture' }
    case 'bad-class':
      return { outcome: { kind: classFrom === 'message' ? 'rejected' : 'misconfigured', reason: why } }
    case 'bad-certificate':
      return { outcome: { kind: 'misconfigured', reason: why } }
    case 'bad-message':
      // Occurs instead of 10000.
      return code === 41 && isAboutTarget(message)
        ? {
            outcome: {
              kind: 'gone',
              reason: reason('oppo', code, 'registration id refused', 'registration_id'),
            },
            cause: 'target',
          }
        : { outcome: { kind: 'rejected', reason: why } }
  }
}

const success: CodeResult = { outcome: accepted }
const unreadable: Outcome = {
  kind: 'unavailable',
  reason: ownReasons.vendor_reply_unreadable('the reply is not JSON with a code'),
}

function isAboutTarget(message: unknown): boolean {
  return typeof message === 'string' && /registration[_ ]?id|target[_ ]?value/i.test(message)
}
