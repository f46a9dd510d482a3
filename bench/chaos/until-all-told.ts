import type { Database } from '@herald/db/store'
import { until } from '@herald/testkit'

/**
 * Waits until the outbox is empty and the webhooks have nothing left to send. Throws if nothing was sent for `seconds`: how long a long
 * backlog takes depends on the machine and on the server of the webhook, which fails half of the time,
 * but not more than four requests in a row.
 */
export async function untilAllTold(db: Database, seconds: number): Promise<void> {
  for (let left = await leftToTell(db); left.waits; ) {
    const before = left
    left = await until(
      async () => {
        const now = await leftToTell(db)
        return (!now.waits || now.sent !== before.sent || now.outbox !== before.outbox) && now
      },
      { what: 'events to be sent', seconds, everyMs: 500 },
    ).catch(async (error: Error) => {
      throw new Error(`${error.message} ${JSON.stringify({ before, now: await leftToTell(db) })}`)
    })
  }
}

type Left = { waits: boolean; sent: string | null; outbox: number; webhooks: unknown }

async function leftToTell(db: Database): Promise<Left> {
  const { rows } = await db.pool.query<Left>(
    `SELECT EXISTS (SELECT 1 FROM outbox) OR EXISTS (SELECT 1 FROM webhook WHERE head >= cursor) AS waits,
       (SELECT sum(sent)::text FROM webhook) AS sent, (SELECT count(*)::int FROM outbox) AS outbox, (SELECT json_agg(w) FROM (
         SELECT cursor, cursor_part, head, attempts, worker, next_at, last_error, rest_reason FROM webhook) w) AS webhooks`,
  )
  return rows[0]!
}
