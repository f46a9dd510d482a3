import type { Database } from '@herald/db/store'
import { until } from '@herald/testkit'

/** Waits until nothing is open any more; says what is when it does not come to that. */
export async function untilQuiet(db: Database, seconds: number): Promise<void> {
  await until(() => isQuiet(db), { what: 'the end of what is open', seconds, everyMs: 500 }).catch(
    async (error: Error) => {
      throw new Error(`${error.message} ${await describeOpen(db)}`)
    },
  )
}

const openSql = `SELECT count(*)::int AS tasks, min(id) AS first FROM task WHERE state NOT IN ('finished', 'cancelled')`

async function isQuiet(db: Database): Promise<boolean> {
  const { rows } = await db.pool.query<{ tasks: number; inbox: boolean }>(
    `SELECT o.tasks, EXISTS (SELECT 1 FROM inbox) AS inbox FROM (${openSql}) o`,
  )
  return rows[0]!.tasks === 0 && !rows[0]!.inbox
}

async function describeOpen(db: Database): Promise<string> {
  const { rows } = await db.pool.query(
    `SELECT o.*, t.state, t.paused, t.cancelling,
       (SELECT json_agg(DISTINCT jsonb_build_object('channel', channel, 'state', state, 'attempts', attempts,
          'wait', round(extract(epoch FROM not_before - now())), 'troubled', now() - trouble_since)) FROM batch
        WHERE task_id = o.first AND state <> 'settled') AS batches,
       (SELECT count(*)::int FROM inbox) AS inbox,
       (SELECT json_agg(DISTINCT state || ' ' || coalesce(last_error, '')) FROM certificate) AS certificates
     FROM (${openSql}) o LEFT JOIN task t ON t.id = o.first`,
  )
  return JSON.stringify(rows[0])
}
