import type { Settlement } from '@herald/db/tasks'
import type { Fold, Sorted } from '@herald/domain'
import type { Attempt } from './attempt.ts'

/** What one attempt brings to its batch, its tokens and its counters. */
export function settlementOf(
  { batch, recipients }: Attempt,
  sorted: Sorted,
  fold: Fold,
  state: Settlement['state'],
): Settlement {
  return {
    ...fold,
    taskId: batch.taskId,
    id: batch.id,
    version: batch.version,
    state,
    troubled: sorted.troubled || (batch.troubledFor > 0 && fold.pending > 0),
    unbox: batch.tried.includes('native') ? sorted.sent.map((index) => batch.recipients[index]!) : [],
    // Without the vendor's own time, the token must not have been registered again since the claim.
    retire: sorted.gone.flatMap(({ index, since }) => {
      const token = recipients.find((one) => one.index === index)?.recipient.token
      return token === undefined
        ? []
        : [{ deviceId: batch.recipients[index]!, token, since: since ?? batch.claimedAt }]
    }),
    answered: sorted.answered,
    gone: sorted.gone.length,
  }
}
