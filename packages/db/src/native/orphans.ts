import type { Channel } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { inTransaction, type Runner, run } from '../store/statement.ts'
import { batchName } from '../tasks/claim.ts'
import { type PlannedTask, tasksById } from '../tasks/planning.ts'
import { type NativeSettlement, settleNative } from './settle-native.ts'

/** A native batch whose gateway is gone; the version is the one to settle it with. */
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

/**
 * Takes up to `most` open batches of gateways that live no more and settles them as `decide` says, in one commit. Answers
 * what was written.
 */
export async function settleOrphans(
  db: Database,
  most: number,
  decide: (
    orphans: { batch: OrphanedBatch; task: PlannedTask }[],
    runner: Runner,
  ) => Promise<NativeSettlement[]>,
): Promise<NativeSettlement[]> {
  return inTransaction(db, async (runner) => {
    const rows = await run<[number, number, number, string, number[], string, Channel[], plannedAt: number]>(
      runner,
      'orphans',
      `SELECT b.task_id, b.id, b.version, b.app_id, b.recipients, b.status, b.tried,
         (extract(epoch FROM b.planned_at) * 1000)::float8
       FROM batch b WHERE b.node IS NOT NULL AND b.state <> 'settled'
         AND NOT EXISTS (SELECT 1 FROM gateway_node n WHERE n.id = b.node AND n.lease_until > now())
       LIMIT $1 FOR UPDATE OF b SKIP LOCKED`,
      [most],
    )
    if (rows.length === 0) return []
    const tasks = new Map(
      (await tasksById(runner, [...new Set(rows.map(([taskId]) => taskId))])).map((task) => [
        task.taskId,
        task,
      ]),
    )
    const orphans = rows.map(([taskId, id, version, appId, recipients, status, tried, plannedAt]) => ({
      batch: { taskId, id, version, appId, recipients, status, tried, plannedAt },
      task: tasks.get(taskId)!,
    }))
    const settlements = await decide(orphans, runner)
    const written = await settleNative(runner, settlements)
    return settlements.filter(({ taskId, id }) => written.has(batchName(taskId, id)))
  })
}
