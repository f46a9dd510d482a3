import type { Outcome } from '@herald/domain'
import type { SendContext } from '../channel.ts'
import { outagePause } from './classify.ts'

/** A changed role takes about a minute to act, and Google also denies valid accounts for a while. */
const believeAfterMs = 120_000

type Denials = {
  /** Reports a denial as unavailable until it has been repeated for two minutes without an accepted message in between. */
  watch(context: SendContext): SendContext
}

/** Follows the replies 403 PERMISSION_DENIED of one credential. Refusals by the token endpoint are believed at once. */
export function followDenials(now: () => number): Denials {
  let deniedSince: number | undefined
  const judge = (outcome: Outcome): Outcome => {
    if (outcome.kind === 'accepted') deniedSince = undefined
    if (outcome.kind !== 'misconfigured' || !outcome.reason.code.startsWith('fcm.PERMISSION_DENIED'))
      return outcome
    deniedSince ??= now()
    return now() - deniedSince >= believeAfterMs
      ? outcome
      : { kind: 'unavailable', reason: outcome.reason, minWait: outagePause }
  }
  return {
    watch: ({ signal, report }) => ({ signal, report: (index, outcome) => report(index, judge(outcome)) }),
  }
}
