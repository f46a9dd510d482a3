import { retryWithBackoff } from '@herald/async'
import type { Database } from '../store/database.ts'
import { isTransient } from '../store/errors.ts'
import { batchName } from './claim.ts'
import { batchVersion } from './settle.ts'

/** Longest time that a settle waits for Postgres. By then the leases have expired and the batches were released again. */
const PATIENCE_MS = 120_000

/** A committed settle is recognised by the next version and this status. */
type Mark = { taskId: number; id: number; version: number; status: string }

/**
 * Repeats `settle` until each batch is known to be written or to belong to another worker. Returns the names of those that were
 * written. The outcomes stay in memory and nothing is sent again. After a lost connection, the batch's version and status tell
 * whether the commit happened.
 */
export async function settleUntilKnown<S extends Mark>(
  db: Database,
  settlements: readonly S[],
  settle: (open: readonly S[]) => Promise<Iterable<string>>,
  onRepeat: () => void = () => {},
): Promise<Set<string>> {
  const written = new Set<string>()
  const add = (names: Iterable<string>) => {
    for (const name of names) written.add(name)
  }
  const isOpen = ({ taskId, id }: S) => !written.has(batchName(taskId, id))
  let open = settlements
  const settleOpen = async (attempt: number) => {
    open = settlements.filter(isOpen)
    if (attempt > 0) add(await committed(db, open))
    const left = open.filter(isOpen)
    if (left.length > 0) add(await settle(left))
  }
  try {
    await retryWithBackoff(settleOpen, {
      isTransient,
      forMs: PATIENCE_MS,
      firstMs: 25,
      maxMs: 2000,
      onRetry: onRepeat,
    })
  } catch (error) {
    if (isTransient(error) || open.length < 2) throw error
    // One batch that cannot be written must not cause all the others to be sent again.
    const alone = await Promise.allSettled(
      open.map((settlement) => settleUntilKnown(db, [settlement], settle, onRepeat)),
    )
    if (alone.every(({ status }) => status === 'rejected')) throw error
    for (const result of alone) if (result.status === 'fulfilled') add(result.value)
  }
  return written
}

/** Names of the batches whose rows show that our commit happened. */
async function committed(db: Database, settlements: readonly Mark[]): Promise<string[]> {
  const rows = await Promise.all(settlements.map(({ taskId, id }) => batchVersion(db, taskId, id)))
  return settlements.flatMap(({ taskId, id, version, status }, i) =>
    rows[i]?.version === version + 1 && rows[i].status === status ? [batchName(taskId, id)] : [],
  )
}
