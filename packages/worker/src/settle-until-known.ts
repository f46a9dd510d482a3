import {
  batchName,
  batchVersion,
  type Database,
  isPassing,
  type SettleAnswer,
  type Settlement,
  settleBatches,
} from '@herald/db'

/** A settle that waits this long for Postgres gives up; the leases are long gone by then and the feeder has the batches. */
const PATIENCE_MS = 120_000

/**
 * Repeats a settle until it is known to be committed or refused. The send is never repeated: the outcomes stay in memory
 * meanwhile. After a lost connection the batch itself tells, by its version and letters, whether the commit happened.
 */
export async function settleUntilKnown(
  db: Database,
  settlements: readonly Settlement[],
  onRepeat?: () => void,
): Promise<SettleAnswer> {
  // A clock that is set ahead must not end the patience: what was sent would be sent again.
  const until = performance.now() + PATIENCE_MS
  const committed = new Map<string, number>()
  let open = settlements
  let suspect = false
  for (let attempt = 0; open.length > 0; attempt++) {
    try {
      if (attempt > 0) {
        const before = await Promise.all(open.map((settlement) => wasCommitted(db, settlement)))
        before.forEach((version, i) => {
          if (version !== undefined) committed.set(batchName(open[i]!.taskId, open[i]!.id), version)
        })
        open = open.filter((_, i) => before[i] === undefined)
        if (open.length === 0) break
      }
      const answer = await settleBatches(db, open)
      suspect = answer.suspect
      for (const [name, version] of answer.settled) committed.set(name, version)
      break
    } catch (error) {
      if (!isPassing(error) && open.length > 1) {
        // One batch that cannot be written must not have all the others sent again.
        const alone = await Promise.allSettled(
          open.map((settlement) => settleUntilKnown(db, [settlement], onRepeat)),
        )
        for (const result of alone) {
          if (result.status === 'rejected') continue
          for (const [name, version] of result.value.settled) committed.set(name, version)
          suspect ||= result.value.suspect
        }
        if (alone.every(({ status }) => status === 'rejected')) throw error
        break
      }
      if (!isPassing(error) || performance.now() > until) throw error
      onRepeat?.()
      await new Promise((resolve) =>
        setTimeout(resolve, Math.min(2000, 25 * 2 ** attempt) * (0.5 + Math.random())),
      )
    }
  }
  return { settled: committed, suspect }
}

/** The version after our commit, if the row shows that it happened. */
async function wasCommitted(db: Database, settlement: Settlement): Promise<number | undefined> {
  const row = await batchVersion(db, settlement.taskId, settlement.id)
  const ours = row && row.version === settlement.version + 1 && row.status === settlement.status
  return ours ? row.version : undefined
}
