import type { DeviceEvents, Fold } from '@herald/domain'
import { batchRow, idList } from '../ledger/batch-rows.ts'
import { reasonRows } from '../ledger/failure-rows.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { type BatchKey, batchName } from './claim.ts'
import { plainEventsSql, plainSettleSql, settleAllSql, settleSql } from './settle-sql.ts'

/** The results of a claimed batch as one write; `status` has one letter per recipient. */
export type Settlement = BatchKey &
  Omit<Fold, 'pending' | 'wait'> & {
    version: number
    /**
     * sending: some recipients are still being sent to; the lease continues and the version rises by one.
     * retry: the pending ones are retried after `wait` seconds, or with Infinity when their certificate can be used again.
     * settled: nothing is pending.
     */
    state: 'sending' | 'retry' | 'settled'
    wait?: number
    /** 0 without trouble; otherwise 1 and the number of attempts with an unknown code. Above 0 it starts `trouble_since`, or keeps it. */
    troubles?: number
    /** Recipients whose copy in the inbox is no longer needed because the vendor accepted the message. */
    clearInbox?: number[]
    retire: { deviceId: number; token: string /** Unix ms */; since: number }[]
    /**
     * Tokens that the vendor called good or dead, and those called dead, for the guard against mass retirement. `answered` is written only
     * together with `gone`; otherwise the worker gathers it.
     */
    answered: number
    gone: number
    /** Of tasks with events of their devices. */
    events?: readonly DeviceEvents[]
  }

export type SettleResult = {
  /** Batches whose version matched; nothing was written for the others. */
  settled: Set<string>
  /** Those for whose certificate more than half of the tokens were called dead, so that none was retired. */
  suspect: Set<string>
}

/**
 * Writes the results of claimed batches in one statement: batch, bindings, batches of the next channel, inbox and counters. A batch
 * whose version has changed is not written. Rows are locked in a fixed order (batches, bindings by device, windows, failures,
 * counters, outbox), so that concurrent settles do not deadlock.
 */
export async function settleBatches(db: Database, settlements: readonly Settlement[]): Promise<SettleResult> {
  const [name, sql] = statementFor(settlements)
  const rows = await runWithin<[taskId: number, id: number, suspect: boolean]>(
    db.pool,
    daysOf(settlements.map(({ taskId }) => taskId)),
    name,
    sql,
    [JSON.stringify([...settlements].sort(byKey).map(settleRow))],
  )
  return {
    settled: new Set(rows.map(([taskId, id]) => batchName(taskId, id))),
    suspect: new Set(rows.flatMap(([taskId, id, suspect]) => (suspect ? [batchName(taskId, id)] : []))),
  }
}

function statementFor(settlements: readonly Settlement[]): [name: string, sql: string] {
  const told = settlements.some(({ events }) => events?.length)
  if (settlements.every(isPlain))
    return told ? ['settle-plain-events', plainEventsSql] : ['settle-plain', plainSettleSql]
  const all = told || settlements.some(({ clearInbox }) => clearInbox?.length)
  return all ? ['settle-all', settleAllSql] : ['settle', settleSql]
}

const byKey = (a: BatchKey, b: BatchKey) => a.taskId - b.taskId || a.id - b.id

/** No recipient left the channel: only the batch and its counters are written. */
function isPlain(s: Settlement): boolean {
  const lists = [s.fallback, s.inbox, s.clearInbox ?? [], s.reasons, s.retire]
  return s.gone === 0 && lists.every((list) => list.length === 0)
}

function settleRow(s: Settlement) {
  return {
    t: s.taskId,
    b: s.id,
    v: s.version,
    status: s.status,
    state: s.state,
    wait: s.wait === Infinity ? null : (s.wait ?? 0),
    troubles: s.troubles ?? 0,
    sent: s.sent,
    failed: s.failed,
    moved: s.moved,
    expired: s.expired,
    cancelled: s.cancelled,
    fallback: s.fallback.map(batchRow),
    inbox: idList(s.inbox),
    clear_inbox: idList(s.clearInbox ?? []),
    reasons: reasonRows(s.reasons),
    retire: s.retire,
    answered: s.gone > 0 ? s.answered : 0,
    gone: s.gone,
    // Absent, hence NULL, where it is empty: most batches have neither.
    whys: s.whys.length > 0 ? s.whys : undefined,
    events: s.events?.map(({ devices, ...event }) => ({ ...event, devices: devices && idList(devices) })),
  }
}

/** Tells whether a settle whose reply was lost was committed, or the lease was lost. */
export async function batchVersion(
  db: Database,
  taskId: number,
  id: number,
): Promise<{ version: number; status: string } | undefined> {
  const [row] = await runWithin<[number, string]>(
    db.pool,
    daysOf([taskId]),
    'batch-version',
    `SELECT version, status FROM batch WHERE task_id = $1 AND id = $2 AND ${inDays('task_id')}`,
    [taskId, id],
  )
  return row && { version: row[0], status: row[1] }
}
