import { markSuspect } from '@herald/db/devices'
import { retrying } from '@herald/db/store'
import {
  batchName,
  type ClaimedBatch,
  type Settlement,
  settleBatches,
  settleUntilKnown,
} from '@herald/db/tasks'
import type { Attempt } from './attempt.ts'
import { loseLease } from './lease.ts'
import { writeBundles } from './write-bundles.ts'
import type { WriteDeps } from './write-deps.ts'

const writing = new WeakSet<ClaimedBatch>()

/** Whether a settle of this batch is in progress: its version in the database may already be higher. */
export const isWriting = (batch: ClaimedBatch): boolean => writing.has(batch)

/**
 * Writes settlements, in the order of their attempts, and updates the batches in memory. Those that are undefined are of accepted tasks
 * of bundles; `state` is theirs if they have left. Gives up at `until`.
 */
export async function writeSettlements(
  deps: WriteDeps,
  attempts: Attempt[],
  settlements: readonly (Settlement | undefined)[],
  state: 'sending' | 'settled',
  until: number,
): Promise<void> {
  for (const { batch } of attempts) writing.add(batch)
  try {
    const left = await writeBundles(deps, attempts, settlements, state, until)
    if (left.attempts.length > 0) await writeAll(deps, left.attempts, left.settlements, until)
  } finally {
    for (const { batch } of attempts) writing.delete(batch)
  }
}

async function writeAll(
  deps: WriteDeps,
  attempts: Attempt[],
  given: Settlement[],
  until: number,
): Promise<void> {
  const { channel } = attempts[0]!.batch
  const gathered = given.map(({ gone }, i) => {
    const { certificateId } = attempts[i]!.batch
    return gone > 0 && certificateId !== null ? deps.answers.take(certificateId) : 0
  })
  const settlements = given.map((one, i) =>
    gathered[i]! > 0 ? { ...one, answered: one.answered + gathered[i]! } : one,
  )
  const suspect = new Set<string>()
  const settle = async (open: readonly Settlement[]) => {
    const result = await settleBatches(deps.db, open)
    for (const name of result.suspect) suspect.add(name)
    return result.settled
  }
  const onRepeat = () => deps.metrics?.settleRepeated(channel)
  const settled = await settleUntilKnown(deps.db, settlements, settle, onRepeat, until).catch((error) => {
    attempts.forEach(({ batch }, i) => {
      if (batch.certificateId !== null) deps.answers.add(batch.certificateId, gathered[i]!)
    })
    throw error
  })
  attempts.forEach(({ batch }, i) => {
    const settlement = settlements[i]!
    const isSettled = settled.has(batchName(batch.taskId, batch.id))
    // A settle with dead tokens has written them.
    const unwritten = !isSettled ? gathered[i]! : settlement.gone > 0 ? 0 : settlement.answered
    if (batch.certificateId !== null) deps.answers.add(batch.certificateId, unwritten)
    if (!isSettled) {
      deps.log.warn(
        { task: batch.taskId, batch: batch.id },
        'the lease was lost before the outcomes were written',
      )
      deps.metrics?.leaseLost(channel)
      // After a partial settle the rest is still being sent, and another worker sends it too.
      loseLease(batch)
      return
    }
    batch.version = settlement.version + 1
    batch.status = settlement.status
    deps.answers.settled(batch, settlement)
    deps.metrics?.settled(channel, settlement)
  })
  const marked = new Set<number>()
  for (const { batch } of attempts) {
    const { certificateId, taskId, id } = batch
    if (certificateId === null || marked.has(certificateId) || !suspect.has(batchName(taskId, id))) continue
    marked.add(certificateId)
    const restored = await retrying(() => markSuspect(deps.db, certificateId))
    deps.log.warn(
      { certificateId, task: taskId, restored },
      'more than half of the tokens were reported dead; none is retired',
    )
  }
}
