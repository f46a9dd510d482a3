import type { Database } from '../store/database.ts'
import { retrying } from '../store/errors.ts'
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
  for (let last = firstTaskOf(since); ; ) {
    const [row] = await retrying(() =>
      run<[last: number | null]>(db.pool, 'erase-events', eraseEventsSql, [...values, Math.floor(last)]),
    )
    if (row![0] === null) return
    last = row![0]
  }
}

const quotes = (text: string) =>
  `EXISTS (SELECT 1 FROM unnest($2::text[]) AS k (token) WHERE position(k.token IN ${text}) > 0)`

const eraseOutboxSql = `UPDATE outbox o SET text = '${ERASED}' WHERE o.app_id = $1 AND ${quotes('o.text')}`

const eraseEventsSql = `
WITH page AS MATERIALIZED (
  SELECT id, text FROM event WHERE app_id = $1 AND id > $3 ORDER BY id LIMIT ${PAGE}
), changed AS (
  UPDATE event e SET text = '${ERASED}' FROM page p WHERE e.id = p.id AND ${quotes('p.text')}
)
SELECT max(id) FROM page`
