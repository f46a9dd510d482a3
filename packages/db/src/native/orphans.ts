import type { Channel } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { batchDays, inDays, runWithin } from '../store/days.ts'
import { fields, inTransaction, type Runner } from '../store/statement.ts'
import { batchName } from '../tasks/claim.ts'
import { type PlannedTask, tasksById } from '../tasks/planned-task.ts'
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

/**
 * Locks up to `max` open batches of gateways whose lease has expired, and writes the settlements that `decide` returns, in one
 * transaction. Returns those that were written.
 */
export async function settleOrphans(
  db: Database,
  max: number,
  decide: (
    orphans: { batch: OrphanedBatch; task: PlannedTask }[],
    runner: Runner,
  ) => Promise<NativeSettlement[]>,
): Promise<NativeSettlement[]> {
  const days = await batchDays(db)
  return inTransaction(db, async (runner) => {
    const rows = await runWithin(
      runner,
      days,
      'orphans',
      `SELECT ${orphan.sql} FROM batch b WHERE ${inDays('b.task_id')} AND b.node IS NOT NULL AND b.state <> 'settled'
         AND NOT EXISTS (SELECT 1 FROM gateway_node n WHERE n.id = b.node AND n.lease_until > now())
       LIMIT $1 FOR UPDATE OF b SKIP LOCKED`,
      [max],
    )
    if (rows.length === 0) return []
    const batches = rows.map(orphan.read)
    const tasks = await tasksById(runner, [...new Set(batches.map(({ taskId }) => taskId))])
    const byId = new Map(tasks.map((task) => [task.taskId, task]))
    const orphans = batches.map((batch) => ({ batch, task: byId.get(batch.taskId)! }))
    const settlements = await decide(orphans, runner)
    const written = await settleNative(runner, settlements)
    return settlements.filter(({ taskId, id }) => written.has(batchName(taskId, id)))
  })
}
