import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/** Which kinds of rounds would find something to do. */
export type Pulse = { plan: boolean; send: boolean; tend: boolean }

/**
 * One look for all rounds, so that an idle planner costs Postgres one cheap statement a turn instead of twenty. It may say
 * yes for nothing; what it overlooks is found by the rounds that run now and then without asking.
 */
export async function feelPulse(db: Database): Promise<Pulse> {
  const [row] = await run<[boolean, boolean, boolean]>(
    db.pool,
    'pulse',
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
  const [plan, send, tend] = row!
  return { plan, send, tend: tend ?? false }
}
