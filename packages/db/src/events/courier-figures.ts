import type { Database } from '../store/database.ts'
import { daysFrom, daysOf, inDays, runWithin } from '../store/days.ts'
import { run } from '../store/statement.ts'

export type CourierFigures = {
  active: number
  failing: number
  rested: number
  /** Seconds that the oldest row waits in the outbox, and the oldest event that a webhook which does not rest has not got. */
  outboxAge: number
  backlogAge: number
}

/** Webhooks with a backlog that are looked at. */
const LOOKED_AT = 200
/** Rows of the stream that are read for each of them. */
const SCANNED = 1000

const withBacklog = 'rested_at IS NULL AND head >= cursor'

/** Opens the days from that of the oldest event that a webhook has not got. */
export async function courierFigures(db: Database): Promise<CourierFigures> {
  const [oldest] = await run<[cursor: number]>(
    db.pool,
    'oldest-cursor',
    `SELECT cursor FROM webhook WHERE ${withBacklog} ORDER BY cursor LIMIT 1`,
    [],
  )
  const [row] = await runWithin<[number, number, number, number, number]>(
    db.pool,
    oldest ? daysFrom(oldest[0]) : daysOf([]),
    'courier-figures',
    `SELECT count(*) FILTER (WHERE rested_at IS NULL AND attempts = 0), count(*) FILTER (WHERE rested_at IS NULL AND attempts > 0),
       count(*) FILTER (WHERE rested_at IS NOT NULL),
       coalesce((SELECT extract(epoch FROM now() - at)::float8 FROM outbox ORDER BY id LIMIT 1), 0),
       coalesce((
         SELECT max(extract(epoch FROM now() - e.at))::float8 FROM (
           SELECT app_id, cursor, events, campaign FROM webhook WHERE ${withBacklog} ORDER BY cursor LIMIT ${LOOKED_AT}
         ) w CROSS JOIN LATERAL (
           SELECT min(at) AS at FROM (
             SELECT at, kind, campaign FROM event WHERE app_id = w.app_id AND id >= w.cursor AND ${inDays('id')} ORDER BY id LIMIT ${SCANNED}
           ) s WHERE kind = ANY (w.events) AND (w.campaign IS NULL OR campaign = w.campaign)) e), 0)
     FROM webhook`,
    [],
  )
  const [active, failing, rested, outboxAge, backlogAge] = row!
  return { active, failing, rested, outboxAge, backlogAge }
}
