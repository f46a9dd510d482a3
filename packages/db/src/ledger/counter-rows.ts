type Counter = 'target' | 'sent' | 'received' | 'failed' | 'moved' | 'expired' | 'cancelled'

/**
 * A condition that is always true, but makes Postgres complete the named steps (CTEs) before the rows it guards. Postgres runs
 * writing CTEs in any order otherwise, and two statements that lock the same rows in different orders deadlock.
 */
export function after(...steps: string[]): string {
  return steps.map((step) => `(SELECT count(*) FROM ${step}) >= 0`).join(' AND ')
}

/**
 * Adds `deltas` (task_id, channel and the counters) to the counters, sorted, so that statements with several counters in common
 * wait for each other instead of deadlocking. Counters come last in every statement.
 */
export function addCountersSql(counters: readonly Counter[], deltas: string, condition = 'true'): string {
  return `INSERT INTO counter AS c (task_id, channel, ${counters.join(', ')})
  SELECT task_id, channel, ${counters.map((counter) => `sum(${counter})`).join(', ')} FROM (${deltas}) deltas
  WHERE ${condition} GROUP BY task_id, channel ORDER BY task_id, channel
  ON CONFLICT (task_id, channel) DO UPDATE
    SET ${counters.map((counter) => `${counter} = c.${counter} + excluded.${counter}`).join(', ')}`
}
