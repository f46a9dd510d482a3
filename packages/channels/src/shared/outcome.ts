import { describeReason, type Outcome, ownReasons, type Reason, type VendorChannel } from '@herald/domain'
import type { CheckResult } from '../channel.ts'
import { type HttpReply, retryAfterSeconds, TransportFailure } from './http.ts'
import { reason } from './reason.ts'
import { cutCodePoints } from './texts.ts'

export type FailureKind = Exclude<Outcome['kind'], 'accepted' | 'quota'>

/** Returns a failed outcome; if it is temporary, with the reply's Retry-After. */
export function failureOutcome(
  kind: FailureKind,
  reason: Reason,
  { headers }: Pick<HttpReply, 'headers'>,
  nowMs: number,
): Outcome {
  if (kind !== 'throttled' && kind !== 'unavailable') return { kind, reason }
  const retryAfter = retryAfterSeconds(headers, nowMs)
  return retryAfter === undefined ? { kind, reason } : { kind, reason, retryAfter }
}

/** For vendors whose reply has its code in the body: the outcome of an HTTP status other than 2xx. */
export function outcomeOfStatus(
  channel: VendorChannel,
  reply: HttpReply,
  kindOf4xx: (status: number) => FailureKind,
  nowMs: number,
): Outcome | undefined {
  const { status } = reply
  if (status >= 200 && status <= 299) return undefined
  const kind =
    status === 429 ? 'throttled' : status >= 400 && status <= 499 ? kindOf4xx(status) : 'unavailable'
  return failureOutcome(kind, reason(channel, `http_${status}`, `HTTP ${status}`), reply, nowMs)
}

/** A call that the send depends on (access token, stored payload) was refused; `outcome` is that of the recipients. */
export class CallRefused extends Error {
  readonly outcome: Outcome
  constructor(outcome: Outcome) {
    super(textOf(outcome))
    this.outcome = outcome
  }
}

/** Returns the outcome of recipients whose call threw. An abort is thrown again, so that they stay unreported. */
export function outcomeOfError(error: unknown): Outcome {
  if (error instanceof CallRefused) return error.outcome
  if (error instanceof TransportFailure && error.kind !== 'aborted')
    return { kind: 'unavailable', reason: failures[error.kind](`${error.kind}: ${error.message}`) }
  throw error
}

const failures = {
  timeout: ownReasons.vendor_timeout,
  network: ownReasons.vendor_unreachable,
  oversized: ownReasons.vendor_reply_unreadable,
}

export function failedCheck(
  vendor: string,
  outcome: Outcome,
  temporary = outcome.kind !== 'misconfigured',
): CheckResult {
  const text = textOf(outcome)
  const problem = temporary
    ? `${vendor} could not check the credentials now, try again later: ${text}`
    : `${vendor} refused the credentials: ${text}`
  return { ok: false, problem, temporary }
}

/**
 * A vendor's text for a code that no table contains, made safe for failure lists: one short line, with anything that looks like a
 * token or a key replaced.
 */
export function vendorText(text: unknown): string {
  if (typeof text !== 'string') return ''
  const line = text
    .slice(0, 1000)
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .replace(/[\w=+/-]{12,}/g, '…')
  return cutCodePoints(line.trim(), 60).toWellFormed()
}

function textOf(outcome: Outcome): string {
  return 'reason' in outcome ? describeReason(outcome.reason) : outcome.kind
}
