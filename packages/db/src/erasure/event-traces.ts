import type { Database } from '../store/database.ts'
import { dayOfId, daysFrom, daysWithin, inDays, runWithin, WINDOW_DAYS } from '../store/days.ts'
import { retrying } from '../store/errors.ts'
import { firstTaskIdAt, IDS_PER_DAY, readExtent } from '../store/partitions.ts'
import { run } from '../store/statement.ts'
import { ERASED, firstTaskOf, type PersonTraces } from './task-traces.ts'

/** Events per statement. */
const PAGE = 5000

/**
 * Removes texts that quote a token of the person from the events of an application. The ids of its devices stay in the lists, as they do in batches: an
 * entry is shown without a device when there is none with its id. The outbox comes first, because the courier moves its rows to the stream.
 */
export async function eraseFromEvents(
  db: Database,
  { appId, vendorTokens, since }: Pick<PersonTraces, 'appId' | 'vendorTokens' | 'since'>,
): Promise<void> {
  if (vendorTokens.length === 0) return
  const values = [appId, vendorTokens]
  await retrying(() => run(db.pool, 'erase-outbox', eraseOutboxSql, values))
  const { now, first } = await readExtent(db.pool)
  for (let from = Math.max(first, Math.floor(firstTaskOf(since))); ; ) {
    const day = dayOfId(from)
    const isLast = day + WINDOW_DAYS > dayOfId(firstTaskIdAt(now))
    const days = isLast ? daysFrom(from) : daysWithin(day, day + WINDOW_DAYS)
    const [row] = await retrying(() =>
      runWithin<[last: number | null]>(db.pool, days, 'erase-events', eraseEventsSql, [...values, from]),
    )
    const last = row![0]
    if (last === null && isLast) return
    from = last === null ? (day + WINDOW_DAYS) * IDS_PER_DAY : last + 1
  }
}

const quotes = (text: string) =>
  `EXISTS (SELECT 1 FROM unnest($2::text[]) AS k (token) WHERE position(k.token IN ${text}) > 0)`

const eraseOutboxSql = `UPDATE outbox o SET text = '${ERASED}' WHERE o.app_id = $1 AND ${quotes('o.text')}`

const eraseEventsSql = `
WITH page AS MATERIALIZED (
  SELECT id, text FROM event WHERE app_id = $1 AND id >= $3 AND ${inDays('id')} ORDER BY id LIMIT ${PAGE}
), changed AS (
  UPDATE event e SET text = '${ERASED}' FROM page p WHERE e.id = p.id AND ${inDays('e.id')} AND ${quotes('p.text')}
)
SELECT max(id) FROM page`
