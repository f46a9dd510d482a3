import { waitingStateSql } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'
import type { BatchKey } from './claim.ts'

/**
 * Puts released batches back, to be released again after `seconds`, without a claim and without counting an attempt. Batches that
 * are no longer released are left alone.
 */
export async function putBackReleased(
  db: Database,
  batches: readonly BatchKey[],
  seconds: number,
): Promise<void> {
  await run(
    db.pool,
    'put-back',
    `WITH k AS MATERIALIZED (
       SELECT k.task_id, k.id, ${waitingStateSql('t')} AS state
       FROM unnest($1::bigint[], $2::bigint[]) AS k (task_id, id) JOIN task t ON t.id = k.task_id ORDER BY 1, 2
     )
     UPDATE batch b SET state = k.state, not_before = now() + make_interval(secs => $3)
     FROM k WHERE b.task_id = k.task_id AND b.id = k.id AND b.state = 'released'`,
    [batches.map((key) => key.taskId), batches.map((key) => key.id), seconds],
  )
}
