import type { Reason } from '@herald/domain'
import { inDays } from '../store/days.ts'
import { INDEXED_SIZE } from './counter-rows.ts'
import { reasonLiteral } from './failure-rows.ts'

/** Devices per record of a `wide` task, as many as a batch has. */
const FULL_SIZE = 1000

/** Why messages that were not sent left the inbox. */
export type WhyGone = { fate: 'expired' | 'cancelled' | 'moved'; reason: Reason }

/**
 * Adds records of messages that were deleted from inboxes, for the history of their devices: settled rows of `batch`, which nothing sends
 * and no counter includes. Each task is looked up once. `source` selects task_id, device_id and letter (s: it had been written; x, c, m). `why` is the reason of all but
 * those with the letter s. One row per task, unless it has more devices than a record may have. Copies are no targets and get no record; a
 * message with a receipt of the native channel needs none.
 */
export function addRecordsSql(source: string, why?: WhyGone): string {
  const reason = why && reasonLiteral(why.reason)
  const whys = why
    ? `CASE WHEN bool_or(r.letter <> 's') THEN jsonb_build_array(jsonb_build_object('f', '${why.fate}', 'c', (${reason})[1], 't', (${reason})[2],
      'p', jsonb_agg(r.n % r.most ORDER BY r.n) FILTER (WHERE r.letter <> 's'))) END`
    : 'NULL'
  return `INSERT INTO batch (task_id, app_id, channel, lane, state, size, recipients, status, deadline, settled_at, whys, is_record)
  SELECT r.task_id, r.app_id, 'native', r.lane, 'settled', count(*), array_agg(r.device_id ORDER BY r.n),
    string_agg(r.letter, '' ORDER BY r.n), r.deadline, now(), ${whys}, true
  FROM (
    SELECT s.task_id, s.device_id, s.letter, t.app_id, t.lane, coalesce(t.deadline, now()) AS deadline,
      CASE WHEN t.wide THEN ${FULL_SIZE} ELSE ${INDEXED_SIZE} END AS most, row_number() OVER (PARTITION BY s.task_id ORDER BY s.device_id) - 1 AS n
    FROM (${source}) s JOIN (
      SELECT * FROM task WHERE id = ANY (ARRAY(SELECT DISTINCT task_id FROM (${source}) k)) AND ${inDays('id')}
    ) t ON t.id = s.task_id
  ) r
  GROUP BY r.task_id, r.app_id, r.lane, r.deadline, r.most, r.n / r.most
  RETURNING 1`
}
