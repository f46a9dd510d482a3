import { foldAttempt, sortAnswers } from '@herald/domain'
import type { CertificateBook } from '@herald/plan'
import { type Attempt, unsettledAnswers } from './attempt.ts'
import { closeMisconfigured } from './close-misconfigured.ts'
import { noPlan, planNext } from './plan-next.ts'
import { settlementOf } from './settlement.ts'
import { tallyAnswers } from './tally.ts'
import { type WriteDeps, writeSettlements } from './write-settlements.ts'

export type SettleDeps = WriteDeps & {
  certificates: CertificateBook
  log: { error(fields: object, message: string): void }
}

/**
 * Writes what became of all recipients of a job: counters, dead tokens, what goes again, what falls to the next channel.
 * `certificateVersion` is the one they were sent under.
 */
export async function settleAttempts(
  deps: SettleDeps,
  attempts: Attempt[],
  certificateVersion: number | undefined,
): Promise<void> {
  await closeMisconfigured(deps, attempts, certificateVersion)
  const sorted = attempts.map((attempt) => {
    const answers = unsettledAnswers(attempt)
    deps.metrics?.outcomes(attempt.batch.channel, tallyAnswers(answers))
    return sortAnswers(answers, troubleOf(attempt))
  })
  const plans = await planNext(deps, attempts, sorted)
  const settlements = attempts.map((attempt, i) => {
    const fold = foldAttempt(attempt.batch, sorted[i]!, plans[i]!)
    return settlementOf(attempt, sorted[i]!, fold, fold.pending > 0 ? 'again' : 'settled')
  })
  await writeSettlements(deps, attempts, settlements)
}

/** Writes down who was accepted so far while the batch goes on, so that a crash repeats little. */
export async function settlePartly(deps: SettleDeps, attempt: Attempt): Promise<void> {
  const accepted = new Map([...unsettledAnswers(attempt)].filter(([, { kind }]) => kind === 'accepted'))
  if (accepted.size === 0) return
  const sorted = sortAnswers(accepted, troubleOf(attempt))
  const fold = foldAttempt(attempt.batch, sorted, noPlan)
  await writeSettlements(deps, [attempt], [settlementOf(attempt, sorted, fold, 'sending')])
}

function troubleOf({ batch }: Attempt) {
  return { troubledFor: batch.troubledFor, now: Date.now(), jitter: Math.random() }
}
