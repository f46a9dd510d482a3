import { accepted, type Outcome, ownReasons } from '@herald/domain'
import { type HttpReply, parseObject, readInteger } from '../shared/http.ts'
import { outcomeOfBareStatus, unknownCodeTries, vendorText } from '../shared/outcome.ts'
import { reason } from '../shared/reason.ts'
import { nextShanghaiMidnight } from '../shared/shanghai-time.ts'
import { wasTooLarge } from '../shared/too-large.ts'
import type { AddOn } from './payload.ts'

/** The result of one code for one recipient; with a `cause`, the transport sends in another way before it reports the outcome. */
export type CodeResult = { outcome: Outcome; cause?: 'expired' | 'target' | 'too-large' | AddOn }

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
  | 'level'
  | 'add-ons'
  | 'bad-message'
  | 'bad-certificate'

/**
 * Return codes of https://open.oppomobile.com/new/developmentDoc/info?id=11235. `bad-certificate` closes the certificate for all
 * messages, so it contains only codes by which OPPO refuses the key or the application.
 */
export const meanings: readonly [Meaning, string, readonly number[]][] = [
  ['accepted', 'accepted', [0]],
  // OPPO accepted the same app_message_id before.
  ['accepted', 'duplicate data', [32]],
  ['bad-target', 'registration id refused', [10000]],
  ['expired', 'auth token refused', [11, 29]],
  ['busy', 'service unavailable', [-1]],
  ['busy', 'this server’s address is on the black list', [26]],
  ['slow-down', 'flow control', [-2]],
  ['slow-down', 'call limit', [13, 55]],
  ['quota', 'daily message limit', [33]],
  ['picture', 'daily picture limit', [34]],
  ['picture', 'bad picture', [51]],
  ['level', 'category or notify level refused', [67]],
  ['add-ons', 'no permission', [27]],
  ['add-ons', 'no permission for a secondary link', [59]],
  ['bad-message', 'private message template missing', [54]],
  ['bad-message', 'data does not exist', [31]],
  ['bad-message', 'bad argument', [41]],
  ['bad-message', 'argument missing or not UTF-8', [40, 25]],
  ['bad-message', 'method or version refused', [12, 20, 21, 22, 23, 24]],
  ['bad-message', 'app key, signature or timestamp missing', [15, 17, 18]],
  ['busy', 'timestamp refused, check the clock of this server', [19]],
  ['bad-certificate', 'App Key refused', [14]],
  ['bad-certificate', 'signature refused: the Master Secret is wrong', [16]],
  ['bad-certificate', 'application disabled', [28]],
  ['bad-certificate', 'application has no permission to push', [30]],
]

const byCode = new Map(
  meanings.flatMap(([meaning, text, codes]) => codes.map((code) => [code, { meaning, text }] as const)),
)

/** Codes about the category, level, template or link of one class. */
export const classCodes: ReadonlySet<string> = new Set(['oppo.54', 'oppo.59', 'oppo.67'])
const clockCode = 19
/** They concern the auth call. In another reply they mean that the auth token is not accepted, and a new one shows the cause. */
const authCodes: ReadonlySet<number> = new Set([14, 16])

export function classifySend(reply: HttpReply, nowMs: number): SendResult {
  const byStatus = outcomeOfBareStatus('oppo', reply, nowMs)
  if (byStatus) return { whole: { outcome: byStatus, cause: causeOfStatus(reply.status, byStatus) } }
  const body = parseObject(reply.text)
  const code = readInteger(body?.code)
  if (!body || code === undefined) return { whole: { outcome: unreadable } }
  const whole = readCode(code, body.message, nowMs)
  if (whole.outcome.kind !== 'accepted' || !Array.isArray(body.data)) return { whole }
  const failed = new Map<string, CodeResult>()
  for (const entry of body.data as Record<string, unknown>[]) {
    const errorCode = readInteger(entry?.errorCode)
    if (typeof entry?.registrationId === 'string' && errorCode !== undefined)
      failed.set(entry.registrationId, ofOneDevice(readCode(errorCode, entry.errorMessage, nowMs)))
  }
  return { resultOf: (token) => failed.get(token) ?? success }
}

/** Returns the outcome of a send that got no auth token. */
export function classifyAuth(reply: HttpReply, nowMs: number): Outcome {
  const byStatus = outcomeOfBareStatus('oppo', reply, nowMs)
  if (byStatus) return byStatus
  const body = parseObject(reply.text)
  const code = readInteger(body?.code)
  if (!body || code === undefined || code === 0) return unreadable
  const known = byCode.get(code)
  const why = reason('oppo', code, known?.text ?? unknownText(body.message))
  if (known?.meaning === 'bad-certificate') return { kind: 'misconfigured', reason: why }
  const { outcome, cause } = readCode(code, body.message, nowMs)
  if (['throttled', 'unavailable', 'quota'].includes(outcome.kind) && !cause) return outcome
  // The call contained no message that could be at fault.
  return { kind: 'unavailable', reason: why, maxTries: unknownCodeTries }
}

export function isAddOn(cause: CodeResult['cause']): cause is AddOn {
  return cause === 'picture' || cause === 'level' || cause === 'add-ons'
}

/** Whether OPPO refused the auth call because of its timestamp. */
export function isClockRefused(reply: HttpReply): boolean {
  return reply.status === 200 && readInteger(parseObject(reply.text)?.code) === clockCode
}

function readCode(code: number, message: unknown, nowMs: number): CodeResult {
  const known = byCode.get(code)
  if (!known) return unknown(code, message)
  const why = reason('oppo', code, known.text)
  switch (known.meaning) {
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
    case 'level':
    case 'add-ons':
      return { outcome: { kind: 'rejected', reason: why }, cause: known.meaning }
    case 'bad-certificate':
      return authCodes.has(code)
        ? { outcome: { kind: 'unavailable', reason: why, maxTries: unknownCodeTries }, cause: 'expired' }
        : { outcome: { kind: 'misconfigured', reason: why } }
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

function unknown(code: number, message: unknown): CodeResult {
  // Codes from 500 to 599 are errors of OPPO's servers, as their HTTP statuses would be.
  if (code >= 500 && code <= 599)
    return { outcome: { kind: 'unavailable', reason: reason('oppo', code, 'server error') } }
  const why = reason('oppo', code, unknownText(message))
  return { outcome: { kind: 'unavailable', reason: why, maxTries: unknownCodeTries } }
}

function unknownText(message: unknown): string {
  const text = vendorText(message)
  return text ? `unknown code: ${text}` : 'unknown code'
}

function causeOfStatus(status: number, outcome: Outcome): CodeResult['cause'] {
  return status === 401 ? 'expired' : wasTooLarge(outcome) ? 'too-large' : undefined
}

/** A code at one entry of a batch concerns that device, whatever it means for a whole call. */
function ofOneDevice(result: CodeResult): CodeResult {
  const { outcome } = result
  return outcome.kind === 'misconfigured' ? { outcome: { kind: 'rejected', reason: outcome.reason } } : result
}

const success: CodeResult = { outcome: accepted }
const unreadable: Outcome = {
  kind: 'unavailable',
  reason: ownReasons.vendor_reply_unreadable('the reply is not JSON with a code'),
}

function isAboutTarget(message: unknown): boolean {
  return typeof message === 'string' && /registration[_ ]?id|target[_ ]?value/i.test(message)
}
