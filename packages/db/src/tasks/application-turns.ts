import { inDays } from '../store/days.ts'

/**
 * A step of a recursive query: up to `max` applications after the one in $2 that have a task `t` with `condition`, in order of their id.
 * Each is one descent of the index task_turn, however many tasks it has.
 */
export function applicationsInTurnSql(step: string, condition: string, max: number): string {
  return `${step} AS (
  (SELECT t.app_id, 1 AS nth FROM task t WHERE ${inDays('t.id')} AND ${condition} AND t.app_id > $2 ORDER BY t.app_id LIMIT 1)
  UNION ALL
  SELECT n.app_id, a.nth + 1 FROM ${step} a CROSS JOIN LATERAL (
    SELECT t.app_id FROM task t WHERE ${inDays('t.id')} AND ${condition} AND t.app_id > a.app_id ORDER BY t.app_id LIMIT 1
  ) n WHERE a.nth < ${max}
)`
}
