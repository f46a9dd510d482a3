import type { Database } from '../store/database.ts'
import { inDays, openDays, searchWithin } from '../store/days.ts'

/** Which rounds of the planner have something to do. */
export type DueWork = {
  plan: boolean
  send: boolean
  native: boolean
  /** Milliseconds until the first of what becomes due by itself; undefined if nothing does. Without the leases of gateways. */
  nextMs?: number
}

/**
 * Asks for all rounds at once, so that an idle planner costs one cheap statement instead of twenty. It may return true although
 * there is nothing to do. Work that it does not see is found by the rounds that run at intervals in any case.
 */
export async function findDueWork(db: Database): Promise<DueWork> {
  const [row] = await searchWithin<[boolean | null, boolean, boolean | null, number | null]>(
    db,
    await openDays(db),
    'due-work',
    `WITH first AS MATERIALIZED (
       SELECT (SELECT begin_at FROM task WHERE ${inDays('id')} AND state = 'accepted' ORDER BY begin_at LIMIT 1) AS begin_at,
         (SELECT align_at FROM pause_change ORDER BY align_at LIMIT 1) AS align_at,
         (SELECT expires_at FROM inbox WHERE ${inDays('task_id')} ORDER BY expires_at LIMIT 1) AS expires_at,
         (SELECT fallback_at FROM inbox WHERE ${inDays('task_id')} AND fallback_at IS NOT NULL ORDER BY fallback_at LIMIT 1) AS fallback_at
     )
     SELECT
       begin_at <= now() OR EXISTS (SELECT 1 FROM slice),
       (SELECT task_id FROM batch WHERE ${inDays('task_id')} AND state <> 'settled' ORDER BY task_id LIMIT 1) IS NOT NULL
         OR (SELECT task_id FROM bundle WHERE ${inDays('task_id')} AND state <> 'settled' ORDER BY task_id LIMIT 1) IS NOT NULL
         OR (SELECT id FROM task_check ORDER BY id LIMIT 1) IS NOT NULL
         OR coalesce(align_at <= now(), false)
         OR EXISTS (SELECT 1 FROM task WHERE ${inDays('id')} AND cancelling AND state IN ('accepted', 'planning', 'sending')),
       least(expires_at, fallback_at) <= now() OR EXISTS (SELECT 1 FROM gateway_node WHERE lease_until <= now()),
       extract(epoch FROM least(begin_at, align_at, expires_at, fallback_at) - now())::float8 * 1000
     FROM first`,
    [],
  )
  const [plan, send, native, nextMs] = row!
  return { plan: plan ?? false, send, native: native ?? false, nextMs: nextMs ?? undefined }
}
