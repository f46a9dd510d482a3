import type { Reason } from '@herald/domain'
import { idList } from './batch-rows.ts'

/** Reasons as they travel inside a JSON parameter. */
export function reasonRows(reasons: readonly Reason[]) {
  return reasons.map((reason) => ({ ...reason, samples: idList(reason.samples) }))
}

/** How groups of failures grow; `f` is the table. A few samples of the first are enough to look at. */
export const addUpFailuresSql = `ON CONFLICT (task_id, channel, fate, reason) DO UPDATE SET count = f.count + excluded.count,
    samples = CASE WHEN cardinality(f.samples) >= 10 THEN f.samples ELSE (f.samples || excluded.samples)[1:10] END`

/** Failures by reason, from `done` with task_id, channel, id and `reasons`. */
export const reasonsSql = `INSERT INTO failure AS f (task_id, channel, fate, reason, count, samples)
  SELECT d.task_id, d.channel, r.fate, r.reason, sum(r.count), (array_agg(r.samples ORDER BY d.id))[1]::bigint[]
  FROM done d CROSS JOIN LATERAL jsonb_to_recordset(d.reasons) AS r (fate text, reason text, count bigint, samples text)
  GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
  ${addUpFailuresSql}
  RETURNING 1`
