import { waitingStateSql } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import type { BatchesToClaim } from './claim.ts'

/**
 * Puts released batches of these certificates back, to be released again after `seconds`, without a claim and without counting an
 * attempt. Batches that are no longer released are left alone.
 */
export async function putBackReleased(
  db: Database,
  { batches, certificateIds }: Pick<BatchesToClaim, 'batches' | 'certificateIds'>,
  seconds: number,
): Promise<void> {
  await runWithin(
    db.pool,
    daysOf(batches.map((key) => key.taskId)),
    'put-back',
    `WITH k AS MATERIALIZED (
       SELECT k.task_id, k.id, ${waitingStateSql('t')} AS state
       FROM unnest($1::bigint[], $2::bigint[]) AS k (task_id, id) JOIN task t ON t.id = k.task_id AND ${inDays('t.id')}
       ORDER BY 1, 2
     )
     UPDATE batch b SET state = k.state, not_before = now() + make_interval(secs => $3)
     FROM k WHERE b.task_id = k.task_id AND b.id = k.id AND ${inDays('b.task_id')} AND b.state = 'released' AND b.certificate_id = ANY($4::bigint[])`,
    [batches.map((key) => key.taskId), batches.map((key) => key.id), seconds, certificateIds],
  )
}
