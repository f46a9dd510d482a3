import { retryWithBackoff } from '@herald/async'
import type { Database } from '../store/database.ts'
import { isDataError } from '../store/errors.ts'
import { batchName } from './claim.ts'
import { batchVersion } from './settle.ts'
import { type BundleSettlement, settleBundles } from './settle-bundle.ts'

/** Longest time that a settle waits for Postgres. By then the leases have expired and the batches were released again. */
const PATIENCE_MS = 120_000

/** When a settle that begins now gives up, by `performance.now()`. */
export const settleDeadline = (): number => performance.now() + PATIENCE_MS

/**
 * Repeats `work`, without which outcomes would be lost. Errors of every kind are repeated, because a server in trouble has many; only
 * a data error is not.
 */
export function retryingUntil<T>(
  until: number,
  work: (attempt: number) => Promise<T>,
  onRetry: () => void = () => {},
): Promise<T> {
  return retryWithBackoff(work, {
    isTransient: (error) => !isDataError(error),
    forMs: until - performance.now(),
    firstMs: 25,
    maxMs: 2000,
    onRetry,
  })
}

/** A committed settle is recognised by the next version and this status. */
type Mark = { taskId: number; id: number; version: number; status: string }

/**
 * Repeats `settle` until each batch is known to be written or to belong to another worker. Returns the names of those that were
 * written. The outcomes stay in memory and nothing is sent again. After a lost connection, the batch's version and status tell
 * whether the commit happened. A data error is not repeated, and blames a batch.
 */
export function settleUntilKnown<S extends Mark>(
  db: Database,
  settlements: readonly S[],
  settle: (open: readonly S[]) => Promise<Iterable<string>>,
  onRepeat: () => void = () => {},
  until = settleDeadline(),
): Promise<Set<string>> {
  return settleGroup(settlements)

  async function settleGroup(group: readonly S[]): Promise<Set<string>> {
    const written = new Set<string>()
    const add = (names: Iterable<string>) => {
      for (const name of names) written.add(name)
    }
    const isOpen = ({ taskId, id }: S) => !written.has(batchName(taskId, id))
    const settleOpen = async (attempt: number) => {
      if (attempt > 0) add(await committed(db, group.filter(isOpen)))
      const left = group.filter(isOpen)
      if (left.length > 0) add(await settle(left))
      // The attempt before may still have been running: it then made this one wait, and find the next version.
      const still = group.filter(isOpen)
      if (attempt > 0 && still.length > 0) add(await committed(db, still))
    }
    try {
      await retryingUntil(until, settleOpen, onRepeat)
    } catch (error) {
      const open = group.filter(isOpen)
      if (!isDataError(error) || open.length < 2) throw error
      // One batch that cannot be written must not cause all the others to be sent again. By halves, one after the other: all at
      // once would be as many statements as there are batches.
      const middle = open.length >> 1
      const halves = [open.slice(0, middle), open.slice(middle)]
      let rejected = 0
      for (const half of halves) {
        try {
          add(await settleGroup(half))
        } catch {
          rejected++
        }
      }
      if (rejected === halves.length) throw error
    }
    return written
  }
}

/** The same for bundles: a repeated settle changes nothing, and returns what the first one wrote. */
export function settleBundlesUntilKnown(
  db: Database,
  settlements: readonly BundleSettlement[],
  onRepeat: () => void = () => {},
  until = settleDeadline(),
): Promise<Map<number, string>> {
  return retryingUntil(until, () => settleBundles(db, settlements), onRepeat)
}

/** Names of the batches whose rows show that our commit happened. */
async function committed(db: Database, settlements: readonly Mark[]): Promise<string[]> {
  const rows = await Promise.all(settlements.map(({ taskId, id }) => batchVersion(db, taskId, id)))
  return settlements.flatMap(({ taskId, id, version, status }, i) =>
    rows[i]?.version === version + 1 && rows[i].status === status ? [batchName(taskId, id)] : [],
  )
}
