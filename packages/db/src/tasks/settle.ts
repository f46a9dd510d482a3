import type { Fold } from '@herald/domain'
import { batchRow, idList } from '../ledger/batch-rows.ts'
import { reasonRows } from '../ledger/failure-rows.ts'
import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'
import { type BatchKey, batchName } from './claim.ts'
import { plainSettleSql, settleSql } from './settle-sql.ts'

/** What happened to recipients of one claimed batch, as one write; `status` has one letter a recipient. */
export type Settlement = BatchKey &
  Omit<Fold, 'pending' | 'wait'> & {
    version: number
    /**
     * sending: some recipients are still under way; the lease goes on and the version rises by one.
     * again: the pending ones wait for `wait` seconds. settled: nothing is pending.
     */
    state: 'sending' | 'again' | 'settled'
    wait?: number
    /** The pending ones are in trouble (throttled, unavailable): starts or keeps the clock of patience. */
    troubled?: boolean
    /** Recipients whose copy in the inbox is no longer needed, since the vendor has accepted it. */
    unbox?: number[]
    retire: { deviceId: number; token: string /** Unix ms */; since: number }[]
    /** Answers of the vendor about tokens, for the guard against mass retirement. */
    answered: number
    gone: number
  }

export type SettleAnswer = {
  /** Batches whose version matched; all others wrote nothing at all. */
  settled: Set<string>
  /** Over half of the certificate's tokens are said to be dead: nothing was retired. */
  suspect: boolean
}

/**
 * The only writer of a batch after its claim: batch, bindings, fallback batches, inbox and counters in one statement, guarded
 * by the version. Rows are touched in a fixed order (batches, bindings by device, windows, counters sorted); each step waits
 * for the one before through the counts it reads.
 */
export async function settleBatches(db: Database, settlements: readonly Settlement[]): Promise<SettleAnswer> {
  const plain = settlements.every(isPlain)
  const rows = await run<[taskId: number, id: number, suspect: boolean]>(
    db.pool,
    plain ? 'settle-plain' : 'settle',
    plain ? plainSettleSql : settleSql,
    [JSON.stringify(settlements.map(settleRow))],
  )
  return {
    settled: new Set(rows.map(([taskId, id]) => batchName(taskId, id))),
    suspect: rows.some(([, , suspect]) => suspect),
  }
}

/** Nobody left the channel: what is to be written is the batch and its counters. */
function isPlain(s: Settlement): boolean {
  const lists = [s.fallback, s.inbox, s.unbox ?? [], s.reasons, s.retire]
  return s.gone === 0 && lists.every((list) => list.length === 0)
}

function settleRow(s: Settlement) {
  return {
    t: s.taskId,
    b: s.id,
    v: s.version,
    status: s.status,
    state: s.state,
    wait: s.wait ?? 0,
    troubled: s.troubled ?? false,
    sent: s.sent,
    failed: s.failed,
    moved: s.moved,
    expired: s.expired,
    cancelled: s.cancelled,
    fallback: s.fallback.map(batchRow),
    inbox: idList(s.inbox),
    unbox: idList(s.unbox ?? []),
    reasons: reasonRows(s.reasons),
    retire: s.retire,
    answered: s.answered,
    gone: s.gone,
  }
}

/** How a batch stands, to tell a settle that committed unheard from a lease that was lost. */
export async function batchVersion(
  db: Database,
  taskId: number,
  id: number,
): Promise<{ version: number; status: string } | undefined> {
  const [row] = await run<[number, string]>(
    db.pool,
    'batch-version',
    'SELECT version, status FROM batch WHERE task_id = $1 AND id = $2',
    [taskId, id],
  )
  return row && { version: row[0], status: row[1] }
}
