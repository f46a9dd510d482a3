import type { Reason, ReasonCount } from '@herald/domain'
import { idList } from './batch-rows.ts'

/** Reasons inside a JSON parameter. */
export function reasonRows(reasons: readonly ReasonCount[]) {
  return reasons.map((reason) => ({ ...reason, samples: idList(reason.samples) }))
}

/** One of Herald's own reasons as an SQL array of code and text. */
export function reasonLiteral({ code, text }: Reason): string {
  return `ARRAY['${code}', '${text.replaceAll("'", "''")}']`
}

/**
 * Adds sorted groups of failures (task_id, channel, fate, reason, text, count, samples); `reason` is the code. A group keeps its
 * first text and its first ten samples.
 */
export function addFailuresSql(groups: string): string {
  return `INSERT INTO failure AS f (task_id, channel, fate, reason, text, count, samples)
  ${groups}
  ON CONFLICT (task_id, channel, fate, reason) DO UPDATE SET count = f.count + excluded.count,
    samples = CASE WHEN cardinality(f.samples) >= 10 THEN f.samples ELSE (f.samples || excluded.samples)[1:10] END
  RETURNING 1`
}

/** Adds the `reasons` of `done`, a step with task_id, channel, id and reasons. */
export const reasonsSql = addFailuresSql(`
  SELECT d.task_id, d.channel, r.fate, r.code, (array_agg(r.text ORDER BY d.id))[1], sum(r.count),
    (array_agg(r.samples ORDER BY d.id))[1]::bigint[]
  FROM done d CROSS JOIN LATERAL jsonb_to_recordset(d.reasons)
    AS r (fate text, code text, text text, count bigint, samples text)
  GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`)
