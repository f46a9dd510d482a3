import type { Settlement } from '@herald/db/tasks'
import { deviceEvents, type Fold, foldAttempt, noPlan, type SortedResults, sortResults } from '@herald/domain'
import type { Attempt } from './attempt.ts'

/**
 * Whether the vendor accepted a task of a bundle. A letter is then all there is to write: its results are not sorted and folded, unless
 * it has left its bundle.
 */
export function isAcceptedSingle({ batch, results, activities }: Attempt): boolean {
  return batch.bundle !== undefined && !activities && results[0]?.kind === 'accepted'
}

/** The settlement of such a task that has left its bundle. */
export function acceptedSettlement(attempt: Attempt, state: Settlement['state']): Settlement {
  const sorted = sortResults(attempt.results, troubleOf(attempt))
  return settlementOf(attempt, sorted, foldAttempt(attempt.batch, sorted, noPlan), state)
}

export function troubleOf({ batch }: Attempt) {
  return {
    troubledFor: batch.troubledFor,
    unknownCodes: Math.max(0, batch.troubles - 1),
    now: Date.now(),
    jitter: Math.random(),
  }
}

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

/**
 * The stored number is 0 without trouble, and otherwise 1 and the attempts with an unknown code: neither an outage before such a code nor
 * an outcome that ends by time may use up its few attempts. An attempt without a call, such as one that the governor deferred, keeps
 * the number.
 */
function troublesAfter(
  batch: Attempt['batch'],
  { troubled, unknownCode }: SortedResults,
  { pending }: Fold,
): number {
  const known = Math.max(1, batch.troubles)
  if (unknownCode) return known + 1
  return troubled || (batch.troubledFor > 0 && pending > 0) ? known : 0
}
