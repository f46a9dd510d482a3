import { type Settlement, settleDeadline } from '@herald/db/tasks'
import { foldAttempt, letters, noPlan, sortResults } from '@herald/domain'
import type { CertificateCache } from '@herald/plan'
import { type Attempt, unsettledResults } from './attempt.ts'
import { planNext } from './plan-next.ts'
import { isAcceptedSingle, settlementOf, troubleOf } from './settlement.ts'
import { tallyResults } from './tally.ts'
import type { WriteDeps } from './write-deps.ts'
import { writeSettlements } from './write-settlements.ts'

export type SettleDeps = WriteDeps & { certificates: CertificateCache }

/** Writes the results of all recipients, also of several certificates: counters, dead tokens, retries and fallbacks to the next channel. */
export async function settleAttempts(deps: SettleDeps, given: Attempt[]): Promise<void> {
  // A task of a bundle has one recipient: if a partial settle wrote it, nothing is left.
  const attempts = given.filter(({ batch }) => !batch.bundle || batch.status === letters.pending)
  if (attempts.length === 0) return
  const until = settleDeadline()
  const others = attempts.filter((attempt) => !isAcceptedSingle(attempt))
  const settlements = others.length > 0 ? await settlementsOf(deps, others, until) : []
  const byAttempt = new Map(others.map((attempt, i) => [attempt, settlements[i]!]))
  const inOrder = attempts.map((attempt) => byAttempt.get(attempt))
  await writeSettlements(deps, attempts, inOrder, 'settled', until)
}

async function settlementsOf(deps: SettleDeps, attempts: Attempt[], until: number): Promise<Settlement[]> {
  const sorted = attempts.map((attempt) => {
    const results = unsettledResults(attempt)
    const tally = tallyResults(results)
    deps.metrics?.outcomes(attempt.batch.channel, tally)
    deps.answers.refused(attempt.batch, tally)
    return sortResults(results, { ...troubleOf(attempt), breakerOpenFor: attempt.breakerOpenFor })
  })
  const plans = await planNext(deps, attempts, sorted, until)
  return attempts.map((attempt, i) => {
    const fold = foldAttempt(attempt.batch, sorted[i]!, plans[i]!)
    return settlementOf(attempt, sorted[i]!, fold, fold.pending > 0 ? 'retry' : 'settled')
  })
}

/** Writes the recipients accepted so far while batches are still being sent: a crash then repeats few of them. */
export async function settleAccepted(deps: SettleDeps, attempts: readonly Attempt[]): Promise<void> {
  const settled: Attempt[] = []
  const settlements: (Settlement | undefined)[] = []
  for (const attempt of attempts) {
    const isSingle = isAcceptedSingle(attempt)
    if (isSingle && attempt.batch.status !== letters.pending) continue
    const settlement = isSingle ? undefined : acceptedOf(attempt)
    if (!isSingle && !settlement) continue
    settled.push(attempt)
    settlements.push(settlement)
  }
  if (settled.length > 0) await writeSettlements(deps, settled, settlements, 'sending', settleDeadline())
}

function acceptedOf(attempt: Attempt): Settlement | undefined {
  const accepted = unsettledResults(attempt).map((result) =>
    result?.kind === 'accepted' ? result : undefined,
  )
  const sorted = sortResults(accepted, troubleOf(attempt))
  if (sorted.sent.length === 0) return undefined
  const fold = foldAttempt(attempt.batch, sorted, noPlan)
  return settlementOf(attempt, sorted, fold, 'sending')
}
