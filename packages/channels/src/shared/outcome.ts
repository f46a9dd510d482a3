import {
  describeReason,
  isSilence,
  type Outcome,
  ownReasons,
  type Reason,
  type VendorChannel,
  vendorCodeOf,
} from '@herald/domain'
import type { CheckResult } from '../channel.ts'
import { type HttpReply, retryAfterSeconds, TransportFailure } from './http.ts'
import { reason } from './reason.ts'
import { cutCodePoints } from './texts.ts'
import { isTooLarge } from './too-large.ts'

export type FailureKind = Exclude<Outcome['kind'], 'accepted' | 'quota'>

/** Attempts for a code that no table contains. It may be permanent, and a message that is retried until its ttl looks like abuse. */
export const unknownCodeTries = 3

/** The same outcome for every token of a request. */
export function everyone(outcome: Outcome): () => Outcome {
  return () => outcome
}

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

/**
 * The outcome of an HTTP status other than 2xx whose reply has no code of the vendor. Such a reply may come from a gateway, so it
 * never closes a certificate. Statuses that say that the request itself is wrong are tried a few times only.
 */
export function outcomeOfBareStatus(
  channel: VendorChannel,
  reply: HttpReply,
  nowMs: number,
): Outcome | undefined {
  const outcome = outcomeOfStatus(
    channel,
    reply,
    (status) => (isTooLarge(status) ? 'rejected' : 'unavailable'),
    nowMs,
  )
  const refusesRequest = reply.status >= 400 && reply.status <= 499 && !gatewayStatuses.has(reply.status)
  return outcome?.kind === 'unavailable' && refusesRequest
    ? { ...outcome, maxTries: unknownCodeTries }
    : outcome
}

/** What gateways, proxies and firewalls reply to good requests too. */
const gatewayStatuses: ReadonlySet<number> = new Set([401, 403, 404, 407, 408, 421, 425, 451])

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

/**
 * Whether every other request would get the same outcome. A code that no table contains may concern one request: if the rest of a batch
 * got it without a call, the rest would be rejected after three attempts without ever having been sent.
 */
export function concernsAll(outcome: Outcome): boolean {
  if (outcome.kind === 'unavailable') return isSilence(outcome)
  return outcome.kind === 'misconfigured' || outcome.kind === 'throttled' || outcome.kind === 'quota'
}

/**
 * What a vendor says to the withdrawal of a message neither retires a token nor closes the certificate: it may be about the message that is
 * to be withdrawn.
 */
export function outcomeOfWithdrawal(outcome: Outcome): Outcome {
  return outcome.kind === 'gone' || outcome.kind === 'misconfigured'
    ? { kind: 'rejected', reason: outcome.reason }
    : outcome
}

/**
 * For checks that make a call which must fail for another reason: whether the vendor refused the credentials, or the reply has no
 * code of the vendor. Any other code shows that it accepted them.
 */
export function isRefusedOrUnanswered(outcome: Outcome): boolean {
  if (!('reason' in outcome)) return false
  return outcome.kind === 'misconfigured' || !/^-?\d+$/.test(vendorCodeOf(outcome.reason) ?? '')
}

export function failedCheck(
  vendor: string,
  outcome: Outcome,
  temporary = outcome.kind !== 'misconfigured',
): Extract<CheckResult, { ok: false }> {
  const text = textOf(outcome)
  const problem = temporary
    ? `${vendor} could not check the credentials now, try again later: ${text}`
    : `${vendor} refused the credentials: ${text}`
  return { ok: false, problem, temporary, ...('reason' in outcome && { code: outcome.reason.code }) }
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
