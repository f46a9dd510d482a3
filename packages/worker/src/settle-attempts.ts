import { foldAttempt, sortResults } from '@herald/domain'
import type { CertificateCache } from '@herald/plan'
import { type Attempt, unsettledResults } from './attempt.ts'
import { noPlan, planNext } from './plan-next.ts'
import { settlementOf } from './settlement.ts'
import { tallyResults } from './tally.ts'
import { type WriteDeps, writeSettlements } from './write-settlements.ts'

export type SettleDeps = WriteDeps & {
  certificates: CertificateCache
  log: { error(fields: object, message: string): void }
}

/** Writes the results of all recipients, also of several certificates: counters, dead tokens, retries and fallbacks to the next channel. */
export async function settleAttempts(deps: SettleDeps, attempts: Attempt[]): Promise<void> {
  const sorted = attempts.map((attempt) => {
    const results = unsettledResults(attempt)
    deps.metrics?.outcomes(attempt.batch.channel, tallyResults(results))
    return sortResults(results, { ...troubleOf(attempt), breakerOpenFor: attempt.breakerOpenFor })
  })
  const plans = await planNext(deps, attempts, sorted)
  const settlements = attempts.map((attempt, i) => {
    const fold = foldAttempt(attempt.batch, sorted[i]!, plans[i]!)
    return settlementOf(attempt, sorted[i]!, fold, fold.pending > 0 ? 'retry' : 'settled')
  })
  await writeSettlements(deps, attempts, settlements)
}

/** Writes the recipients accepted so far while the batch is still being sent: a crash then repeats few of them. */
export async function settleAccepted(deps: SettleDeps, attempt: Attempt): Promise<void> {
  const accepted = new Map([...unsettledResults(attempt)].filter(([, { kind }]) => kind === 'accepted'))
  if (accepted.size === 0) return
  const sorted = sortResults(accepted, troubleOf(attempt))
  const fold = foldAttempt(attempt.batch, sorted, noPlan)
  await writeSettlements(deps, [attempt], [settlementOf(attempt, sorted, fold, 'sending')])
}

function troubleOf({ batch }: Attempt) {
  return { troubledFor: batch.troubledFor, troubles: batch.troubles, now: Date.now(), jitter: Math.random() }
}
