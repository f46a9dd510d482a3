import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/** Which rounds of the planner have something to do. */
export type DueWork = { plan: boolean; send: boolean; native: boolean }

/**
 * Asks for all rounds at once, so that an idle planner costs one cheap statement instead of twenty. It may return true although
 * there is nothing to do. Work that it does not see is found by the rounds that run at intervals in any case.
 */
export async function findDueWork(db: Database): Promise<DueWork> {
  const [row] = await run<[boolean, boolean, boolean | null]>(
    db.pool,
    'due-work',
    `SELECT
       EXISTS (SELECT 1 FROM task WHERE state = 'accepted' AND begin_at <= now()) OR EXISTS (SELECT 1 FROM slice),
       (SELECT task_id FROM batch WHERE state <> 'settled' ORDER BY task_id LIMIT 1) IS NOT NULL
         OR EXISTS (SELECT 1 FROM task WHERE state IN ('planning', 'sending') AND check_at <= now())
         OR EXISTS (SELECT 1 FROM task WHERE (paused OR cancelling) AND state IN ('accepted', 'planning', 'sending')),
       (SELECT expires_at FROM inbox ORDER BY expires_at LIMIT 1) <= now()
         OR (SELECT fallback_at FROM inbox WHERE fallback_at IS NOT NULL ORDER BY fallback_at LIMIT 1) <= now()
         OR EXISTS (SELECT 1 FROM gateway_node WHERE lease_until <= now())`,
    [],
  )
  const [plan, send, native] = row!
  return { plan, send, native: native ?? false }
}
