import { taskStatesSql } from '@herald/db/readings'
import type { Database } from '@herald/db/store'
import { until } from '@herald/testkit'

const REPORT_MS = 15_000

/** Waits until all tasks have ended and the inbox is empty. From time to time, and in the error of a timeout, says what has not ended. */
export async function untilAllEnded(
  db: Database,
  seconds: number,
  log: (sentence: string) => void,
): Promise<void> {
  const reporting = setInterval(() => void describeOpen(db).then(log, () => {}), REPORT_MS)
  await until(() => hasAllEnded(db), { what: 'all tasks to end', seconds, everyMs: 500 })
    .catch(async (error: Error) => {
      throw new Error(`${error.message} ${await describeOpen(db)}`)
    })
    .finally(() => clearInterval(reporting))
}

const openSql = `SELECT count(*)::int AS tasks, min(id) AS first FROM ${taskStatesSql} t WHERE state NOT IN ('finished', 'cancelled')`

async function hasAllEnded(db: Database): Promise<boolean> {
  const { rows } = await db.pool.query<{ tasks: number; inbox: boolean }>(
    `SELECT o.tasks, EXISTS (SELECT 1 FROM inbox) AS inbox FROM (${openSql}) o`,
  )
  return rows[0]!.tasks === 0 && !rows[0]!.inbox
}

async function describeOpen(db: Database): Promise<string> {
  const { rows } = await db.pool.query(
    `SELECT o.*, t.state, t.paused, t.cancelling,
       (SELECT json_agg(DISTINCT jsonb_build_object('channel', channel, 'state', state, 'attempts', attempts,
          'wait', round(extract(epoch FROM nullif(not_before, 'infinity') - now())), 'troubled', now() - trouble_since)) FROM batch
        WHERE task_id = o.first AND state <> 'settled') AS batches,
       (SELECT count(*)::int FROM inbox) AS inbox,
       (SELECT json_agg(DISTINCT state || ' ' || coalesce(last_error, '')) FROM certificate) AS certificates
     FROM (${openSql}) o LEFT JOIN task t ON t.id = o.first`,
  )
  return JSON.stringify(rows[0])
}
