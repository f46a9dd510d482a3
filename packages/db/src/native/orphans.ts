import type { Channel } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { beginSearch, inDays, runWithin } from '../store/days.ts'
import { batchDays } from '../store/open-days.ts'
import { fields, inTransaction, type Runner } from '../store/statement.ts'
import { batchName } from '../tasks/claim.ts'
import { type PlannedTask, tasksById, type UnreadableTask } from '../tasks/planned-task.ts'
import { type NativeSettlement, settleNative } from './settle-native.ts'

/** A native batch whose gateway has ended; it is settled with this version. */
export type OrphanedBatch = {
  taskId: number
  id: number
  version: number
  appId: string
  recipients: number[]
  status: string
  tried: Channel[]
  /** Unix ms by the database's clock. */
  plannedAt: number
}

const orphan = fields<OrphanedBatch>({
  taskId: 'b.task_id',
  id: 'b.id',
  version: 'b.version',
  appId: 'b.app_id',
  recipients: 'b.recipients',
  status: 'b.status',
  tried: 'b.tried',
  plannedAt: '(extract(epoch FROM b.planned_at) * 1000)::float8',
})

const isOpen = `${inDays('task_id')} AND node IS NOT NULL AND state <> 'settled'`
// Jumps in the index batch_node from one gateway to the next: those that are there may have any number of batches of paused tasks.
const firstNode = (after: string) => `SELECT node FROM batch WHERE ${isOpen}${after} ORDER BY node LIMIT 1`
const orphansSql = `WITH RECURSIVE place AS (
    (${firstNode('')})
    UNION ALL SELECT b.node FROM place p CROSS JOIN LATERAL (${firstNode(' AND node > p.node')}) b
  ), gone AS MATERIALIZED (
    SELECT node FROM place p WHERE NOT EXISTS (SELECT 1 FROM gateway_node n WHERE n.id = p.node AND n.lease_until > $2::timestamptz)
  )
  SELECT ${orphan.sql} FROM gone g CROSS JOIN LATERAL (
    SELECT * FROM batch WHERE ${isOpen} AND node = g.node ORDER BY node LIMIT $1 FOR UPDATE SKIP LOCKED
  ) b LIMIT $1`

export type Orphan = { batch: OrphanedBatch; task: PlannedTask | UnreadableTask }

/**
 * Locks up to `max` open batches of gateways whose lease had expired at `time` (`fenceNodes`), and writes the settlements that `decide`
 * returns, in one transaction. Returns those that were written.
 */
export async function settleOrphans(
  db: Database,
  time: string,
  max: number,
  decide: (orphans: Orphan[], runner: Runner) => Promise<NativeSettlement[]>,
): Promise<NativeSettlement[]> {
  const days = await batchDays(db)
  return inTransaction(
    db,
    async (runner) => {
      const rows = await runWithin(runner, days, 'orphans', orphansSql, [max, time])
      if (rows.length === 0) return []
      const batches = rows.map(orphan.read)
      const unreadable: UnreadableTask[] = []
      const ids = [...new Set(batches.map(({ taskId }) => taskId))]
      const tasks = await tasksById(runner, ids, (error) => unreadable.push(error))
      const byId = new Map([...tasks, ...unreadable].map((task) => [task.taskId, task]))
      const orphans = batches.map((batch) => ({ batch, task: byId.get(batch.taskId)! }))
      const settlements = await decide(orphans, runner)
      const written = await settleNative(runner, settlements)
      return settlements.filter(({ taskId, id }) => written.has(batchName(taskId, id)))
    },
    beginSearch,
  )
}
