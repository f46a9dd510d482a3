import type { Outcome, Reason } from '@herald/domain'
import type { SendContext } from '../channel.ts'

/** A denial that is older than this has no connection with the next one: nothing is known of the time in between. */
const forgetAfterMs = 600_000

type Options = {
  /** Whether valid credentials are also refused with this reason for a while. */
  mayPass(reason: Reason): boolean
  /** How long it must have been repeated to be believed. */
  believeAfterMs: number
  /** Seconds before the next attempt, until it is believed. */
  minWait: number
  now(): number
}

type Denials = {
  /**
   * Reports a denial as unavailable until it has been repeated for long enough. An accepted message or a dead token in between proves
   * that the credential works.
   */
  watch(context: SendContext): SendContext
}

/** Follows the refusals of one credential that may pass. All others are believed at once. */
export function followDenials({ mayPass, believeAfterMs, minWait, now }: Options): Denials {
  let denied: { since: number; last: number } | undefined
  const judge = (outcome: Outcome): Outcome => {
    if (outcome.kind === 'accepted' || outcome.kind === 'gone') denied = undefined
    if (outcome.kind !== 'misconfigured' || !mayPass(outcome.reason)) return outcome
    const at = now()
    const since = denied && at - denied.last <= forgetAfterMs ? denied.since : at
    denied = { since, last: at }
    return at - since >= believeAfterMs ? outcome : { kind: 'unavailable', reason: outcome.reason, minWait }
  }
  return {
    watch: ({ signal, report }) => ({ signal, report: (index, outcome) => report(index, judge(outcome)) }),
  }
}
