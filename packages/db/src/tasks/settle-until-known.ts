import type { Database } from '../store/database.ts'
import { isTransient } from '../store/errors.ts'
import { batchName } from './claim.ts'
import { batchVersion } from './settle.ts'

/** A settle that waits this long for Postgres gives up; the leases are long gone by then and the feeder has the batches. */
const PATIENCE_MS = 120_000

/** What the row shows when the settle has been committed: the next version, and these letters. */
type Mark = { taskId: number; id: number; version: number; status: string }

/**
 * Repeats `settle` until each batch is known to be written or to be somebody else's; answers the names of those that are
 * written. The send is never repeated: the outcomes stay in memory meanwhile. After a lost connection the batch itself tells,
 * by its version and letters, whether the commit happened.
 */
export async function settleUntilKnown<S extends Mark>(
  db: Database,
  settlements: readonly S[],
  settle: (open: readonly S[]) => Promise<Iterable<string>>,
  onRepeat: () => void = () => {},
): Promise<Set<string>> {
  // A clock that is set ahead must not end the patience: what was sent would be sent again.
  const until = performance.now() + PATIENCE_MS
  const written = new Set<string>()
  const isOpen = ({ taskId, id }: S) => !written.has(batchName(taskId, id))
  for (let attempt = 0; ; attempt++) {
    const open = settlements.filter(isOpen)
    try {
      if (attempt > 0) for (const name of await committed(db, open)) written.add(name)
      const left = open.filter(isOpen)
      if (left.length > 0) for (const name of await settle(left)) written.add(name)
      return written
    } catch (error) {
      if (!isTransient(error) && open.length > 1) {
        // One batch that cannot be written must not have all the others sent again.
        const alone = await Promise.allSettled(
          open.map((settlement) => settleUntilKnown(db, [settlement], settle, onRepeat)),
        )
        if (alone.every(({ status }) => status === 'rejected')) throw error
        for (const result of alone)
          if (result.status === 'fulfilled') for (const name of result.value) written.add(name)
        return written
      }
      if (!isTransient(error) || performance.now() > until) throw error
      onRepeat()
      await new Promise((resolve) =>
        setTimeout(resolve, Math.min(2000, 25 * 2 ** attempt) * (0.5 + Math.random())),
      )
    }
  }
}

/** Those of which the row shows that our commit happened. */
async function committed(db: Database, settlements: readonly Mark[]): Promise<string[]> {
  const rows = await Promise.all(settlements.map(({ taskId, id }) => batchVersion(db, taskId, id)))
  return settlements.flatMap(({ taskId, id, version, status }, i) =>
    rows[i]?.version === version + 1 && rows[i].status === status ? [batchName(taskId, id)] : [],
  )
}
