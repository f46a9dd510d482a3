import type { Settlement } from '@herald/db/tasks'
import { deviceEvents, type Fold, type SortedResults } from '@herald/domain'
import type { Attempt } from './attempt.ts'

/** Returns the changes that one attempt makes to its batch, its tokens and its counters. */
export function settlementOf(
  { batch, task, targets, activities }: Attempt,
  sorted: SortedResults,
  fold: Fold,
  state: Settlement['state'],
): Settlement {
  // Tokens of activities die every day without a fault of the certificate; they are deleted after the settle.
  const gone = activities ? [] : sorted.gone
  const tokens = gone.length > 0 ? new Map(targets.map(({ index, token }) => [index, token])) : undefined
  return {
    ...fold,
    taskId: batch.taskId,
    id: batch.id,
    version: batch.version,
    state,
    troubles: troublesAfter(batch, sorted, fold),
    clearInbox: batch.tried.includes('native') ? sorted.sent.map((index) => batch.recipients[index]!) : [],
    // If the vendor gives no time, a token registered again since the claim is kept.
    retire: gone.flatMap(({ index, since }) => {
      const token = tokens?.get(index)
      return token === undefined
        ? []
        : [{ deviceId: batch.recipients[index]!, token, since: since ?? batch.claimedAt }]
    }),
    answered: activities ? 0 : sorted.answered,
    gone: gone.length,
    events: task.events === 2 ? deviceEvents(batch.recipients, sorted.sent, fold.whys) : undefined,
  }
}

/** An attempt without a call, such as one that the governor deferred, keeps the number. */
function troublesAfter(batch: Attempt['batch'], { troubled }: SortedResults, { pending }: Fold): number {
  if (troubled) return batch.troubles + 1
  return batch.troubledFor > 0 && pending > 0 ? Math.max(1, batch.troubles) : 0
}
