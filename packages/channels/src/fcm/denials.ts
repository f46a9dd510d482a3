import type { Outcome } from '@herald/domain'
import type { SendContext } from '../channel.ts'
import { outagePause } from './classify.ts'

/** A changed role takes about a minute to act, and Google also denies valid accounts for a while. */
const believeAfterMs = 120_000
/** A denial that is older than this has no connection with the next one: nothing is known of the time in between. */
const forgetAfterMs = 600_000

type Denials = {
  /**
   * Reports a denial as unavailable until it has been repeated for two minutes. An accepted message or a dead token in between proves
   * that the credential works.
   */
  watch(context: SendContext): SendContext
}

/** Follows the replies 403 PERMISSION_DENIED of one credential. Refusals by the token endpoint are believed at once. */
export function followDenials(now: () => number): Denials {
  let denied: { since: number; last: number } | undefined
  const judge = (outcome: Outcome): Outcome => {
    if (outcome.kind === 'accepted' || outcome.kind === 'gone') denied = undefined
    if (outcome.kind !== 'misconfigured' || !outcome.reason.code.startsWith('fcm.PERMISSION_DENIED'))
      return outcome
    const at = now()
    const since = denied && at - denied.last <= forgetAfterMs ? denied.since : at
    denied = { since, last: at }
    return at - since >= believeAfterMs
      ? outcome
      : { kind: 'unavailable', reason: outcome.reason, minWait: outagePause }
  }
  return {
    watch: ({ signal, report }) => ({ signal, report: (index, outcome) => report(index, judge(outcome)) }),
  }
}
