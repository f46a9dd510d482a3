import type { Database } from '@herald/db/store'
import { until } from '@herald/testkit'

/** Waits until the outbox is empty and the webhooks have nothing left to send. */
export async function untilAllTold(db: Database, seconds: number): Promise<void> {
  await until(() => isAllTold(db), { what: 'all events to be sent', seconds, everyMs: 500 }).catch(
    async (error: Error) => {
      const { rows } = await db.pool.query(
        `SELECT (SELECT count(*)::int FROM outbox) AS outbox, (SELECT json_agg(w) FROM (
           SELECT cursor, cursor_part, head, attempts, worker, next_at, last_error, rest_reason FROM webhook) w) AS webhooks`,
      )
      throw new Error(`${error.message} ${JSON.stringify(rows[0])}`)
    },
  )
}

async function isAllTold(db: Database): Promise<boolean> {
  const { rows } = await db.pool.query<{ waits: boolean }>(
    'SELECT EXISTS (SELECT 1 FROM outbox) OR EXISTS (SELECT 1 FROM webhook WHERE head >= cursor) AS waits',
  )
  return !rows[0]!.waits
}
