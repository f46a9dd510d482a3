import type { Database } from '../store/database.ts'
import { inDays, openDays, searchWithin } from '../store/days.ts'

/** Which rounds of the planner have something to do. */
export type DueWork = { plan: boolean; send: boolean; native: boolean }

/**
 * Asks for all rounds at once, so that an idle planner costs one cheap statement instead of twenty. It may return true although
 * there is nothing to do. Work that it does not see is found by the rounds that run at intervals in any case.
 */
export async function findDueWork(db: Database): Promise<DueWork> {
  const [row] = await searchWithin<[boolean, boolean, boolean | null]>(
    db,
    await openDays(db),
    'due-work',
    `SELECT
       EXISTS (SELECT 1 FROM task WHERE ${inDays('id')} AND state = 'accepted' AND begin_at <= now()) OR EXISTS (SELECT 1 FROM slice),
       (SELECT task_id FROM batch WHERE ${inDays('task_id')} AND state <> 'settled' ORDER BY task_id LIMIT 1) IS NOT NULL
         OR (SELECT task_id FROM bundle WHERE ${inDays('task_id')} AND state <> 'settled' ORDER BY task_id LIMIT 1) IS NOT NULL
         OR (SELECT id FROM task_check ORDER BY id LIMIT 1) IS NOT NULL
         OR EXISTS (SELECT 1 FROM pause_change WHERE align_at <= now())
         OR EXISTS (SELECT 1 FROM task WHERE ${inDays('id')} AND cancelling AND state IN ('accepted', 'planning', 'sending')),
       (SELECT expires_at FROM inbox WHERE ${inDays('task_id')} ORDER BY expires_at LIMIT 1) <= now()
         OR (SELECT fallback_at FROM inbox WHERE ${inDays('task_id')} AND fallback_at IS NOT NULL ORDER BY fallback_at LIMIT 1) <= now()
         OR EXISTS (SELECT 1 FROM gateway_node WHERE lease_until <= now())`,
    [],
  )
  const [plan, send, native] = row!
  return { plan, send, native: native ?? false }
}
