import { type BundleSettlement, type Settlement, settleBundlesUntilKnown } from '@herald/db/tasks'
import { letters } from '@herald/domain'
import type { Attempt } from './attempt.ts'
import { loseLease } from './lease.ts'
import { acceptedSettlement } from './settlement.ts'
import type { WriteDeps } from './write-deps.ts'

type Written = { attempts: Attempt[]; settlements: Settlement[] }

/**
 * Writes what can be written into the bundles of attempts, and lets the other tasks leave them. Returns what is left for the settle of
 * batches: those tasks, and the attempts that are not of a bundle. If the process dies in between, the leases of the new batches end.
 */
export async function writeBundles(
  deps: WriteDeps,
  attempts: readonly Attempt[],
  settlements: readonly (Settlement | undefined)[],
  state: 'sending' | 'settled',
  until: number,
): Promise<Written> {
  const settlementOf = (attempt: Attempt, i: number) => settlements[i] ?? acceptedSettlement(attempt, state)
  const wanted = new Map<number, BundleSettlement & { letters: string[] }>()
  attempts.forEach(({ batch: { bundle } }, i) => {
    if (!bundle) return
    const status = settlements[i]?.status ?? letters.sent
    let settlement = wanted.get(bundle.id)
    if (!settlement) {
      const { id, worker, size } = bundle
      settlement = { id, worker, wanted: '', letters: new Array(size).fill(letters.pending) }
      wanted.set(id, settlement)
    }
    settlement.letters[bundle.n - 1] = status === letters.sent ? letters.sent : letters.moved
  })
  if (wanted.size === 0) return { attempts: [...attempts], settlements: attempts.map(settlementOf) }
  const { channel } = attempts[0]!.batch
  const written = await settleBundlesUntilKnown(
    deps.db,
    [...wanted.values()].map(({ letters, ...one }) => ({ ...one, wanted: letters.join('') })),
    () => deps.metrics?.settleRepeated(channel),
    until,
  )
  const left: Written = { attempts: [], settlements: [] }
  // Summed by certificate, because most bundles are of few.
  const accepted = new Map<number | null, { batch: Attempt['batch']; sent: number; answered: number }>()
  attempts.forEach((attempt, i) => {
    const { batch } = attempt
    const { bundle } = batch
    const letter = bundle && written.get(bundle.id)?.[bundle.n - 1]
    if (letter === letters.sent) {
      batch.status = letters.sent
      const place = accepted.get(batch.certificateId)
      const answered = settlements[i]?.answered ?? 1
      if (place) {
        place.sent++
        place.answered += answered
      } else accepted.set(batch.certificateId, { batch, sent: 1, answered })
    } else if (bundle && letter === undefined) {
      deps.log.warn(
        { task: batch.taskId, bundle: bundle.id },
        'the lease was lost before the outcomes were written',
      )
      deps.metrics?.leaseLost(channel)
      loseLease(batch)
    } else {
      // It left the bundle, here or because somebody changed its task: its batch belongs to this claim.
      batch.bundle = undefined
      left.attempts.push(attempt)
      left.settlements.push(settlementOf(attempt, i))
    }
  })
  for (const [certificateId, { batch, sent, answered }] of accepted) {
    if (certificateId !== null) deps.answers.add(certificateId, answered)
    deps.answers.settled(batch, { sent, failed: 0 })
    deps.metrics?.settled(channel, { sent, failed: 0, moved: 0, expired: 0, cancelled: 0 })
  }
  return left
}

/** Gives tasks of bundles batches of their own, for what is stored with a batch. Returns when these are known to exist. */
export async function leaveBundles(deps: Pick<WriteDeps, 'db'>, attempts: readonly Attempt[]): Promise<void> {
  const inBundles = attempts.filter(({ batch }) => batch.bundle)
  const byBundle = Map.groupBy(inBundles, ({ batch }) => batch.bundle!.id)
  if (byBundle.size === 0) return
  const wanted = [...byBundle].map(([id, some]): BundleSettlement => {
    const { worker, size } = some[0]!.batch.bundle!
    const places: string[] = new Array(size).fill(letters.pending)
    for (const { batch } of some) places[batch.bundle!.n - 1] = letters.moved
    return { id, worker, wanted: places.join('') }
  })
  const written = await settleBundlesUntilKnown(deps.db, wanted)
  for (const { batch } of inBundles) {
    if (written.has(batch.bundle!.id)) batch.bundle = undefined
    else loseLease(batch)
  }
}
