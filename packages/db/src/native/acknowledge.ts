import { after, countAndCheckSql } from '../ledger/counter-rows.ts'
import { isErasedSql } from '../ledger/erased-devices.ts'
import { addRecordsSql } from '../ledger/inbox-records.ts'
import { addEventsSql } from '../ledger/outbox-rows.ts'
import { isTold, tellingTasksSql } from '../ledger/task-events.ts'
import type { Database } from '../store/database.ts'
import { daysOf, groupByKeptDays, inDays, runWithin } from '../store/days.ts'
import { retrying } from '../store/errors.ts'
import { recordReceipts } from '../tasks/receipts.ts'

export type Acknowledgement = { appId: string; taskId: number; deviceId: number }

/**
 * Records acknowledgements of devices, once per device and task: inserts the receipt, raises `received` and deletes the copy in the
 * inbox. A message that was not counted as sent (its gateway crashed after writing it) is counted now. Nearly all are found in the
 * inbox by their key; `recordReceipts` searches the batches for the few that have neither a copy nor a receipt. Those of erased devices
 * are not recorded. Returns the number of new ones.
 */
export async function acknowledge(
  db: Database,
  acknowledgements: readonly Acknowledgement[],
): Promise<number> {
  let count = 0
  // A device may name any task.
  const lists = await retrying(() => groupByKeptDays(db.pool, acknowledgements, ({ taskId }) => taskId))
  for (const some of lists) count += await acknowledgeSome(db, some)
  return count
}

async function acknowledgeSome(db: Database, acknowledgements: readonly Acknowledgement[]): Promise<number> {
  const days = daysOf(acknowledgements.map((a) => a.taskId))
  const rows = await retrying(() =>
    runWithin<[ord: number, counted: number, isCopy: boolean]>(db.pool, days, 'acknowledge', acknowledgeSql, [
      acknowledgements.map((a) => a.taskId),
      acknowledgements.map((a) => a.deviceId),
    ]),
  )
  const unknown = new Map(rows.map(([ord, , isCopy]) => [ord - 1, isCopy]))
  const counted = rows.reduce((sum, row) => sum + row[1], 0)
  const searched = await recordReceipts(
    db,
    acknowledgements.flatMap((acknowledgement, i) => {
      const isCopy = unknown.get(i)
      // A copy is no target of the native channel: the receipt is one of the vendor that sent the message.
      const channel = isCopy ? undefined : ('native' as const)
      return isCopy === undefined ? [] : { ...acknowledgement, channel, event: 'received' as const }
    }),
  )
  return counted + searched
}

// NOT IN is one look-up in a hash per row; NOT EXISTS may become a nested loop of both lists, because Postgres does not know their length.
// copies: without those of messages that a vendor took (is_copy). The statement that records the vendor's receipt deletes them: if they went
//   first and its reply was lost, a repetition would not know which channel the receipt is of.
// records: of a message whose receipt is one of a vendor, nothing else would say that it was written.
// checks: a message that no longer falls back to another channel may have been the last one that did.
const acknowledgeSql = `
WITH input AS MATERIALIZED (
  SELECT task_id, device_id, min(ord) AS ord
  FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS a (task_id, device_id, ord) GROUP BY 1, 2
), copies AS MATERIALIZED (
  SELECT i.task_id, i.device_id FROM input JOIN inbox i USING (task_id, device_id)
  WHERE ${inDays('i.task_id')} AND NOT i.is_copy ORDER BY 1, 2 FOR UPDATE OF i
), gone AS (
  DELETE FROM inbox i USING copies c WHERE i.task_id = c.task_id AND i.device_id = c.device_id AND ${inDays('i.task_id')}
  RETURNING i.task_id, i.device_id, i.sent_at, i.fallback_at
), received AS (
  INSERT INTO receipt (task_id, device_id, channel) SELECT task_id, device_id, 'native' FROM gone g
  WHERE NOT ${isErasedSql('g.device_id')} ORDER BY 1, 2
  ON CONFLICT (task_id, device_id) DO NOTHING
  RETURNING task_id, device_id
), records AS (
  ${addRecordsSql(`SELECT task_id, device_id, 's' AS letter FROM gone
    WHERE (task_id, device_id) NOT IN (SELECT task_id, device_id FROM received)`)}
), ${countAndCheckSql(
  ['sent', 'received'],
  `SELECT task_id, 'native' AS channel, (sent_at IS NULL)::int AS sent, 0 AS received FROM gone
    UNION ALL SELECT task_id, 'native', 0, 1 FROM received`,
  after('records'),
  'SELECT task_id FROM gone WHERE fallback_at IS NOT NULL',
)}, telling AS MATERIALIZED (
  ${tellingTasksSql('gone')}
), told AS (
  ${addEventsSql(
    `SELECT task_id, 'native' AS channel, 'device.sent' AS kind, NULL::text AS code, NULL::text AS text, device_id
    FROM gone WHERE sent_at IS NULL AND ${isTold}
    UNION ALL SELECT task_id, 'native', 'device.received', NULL, NULL, device_id FROM received WHERE ${isTold}`,
    after('counted'),
  )}
)
SELECT i.ord::int, 0, i.is_copy
FROM (
  SELECT i.*, EXISTS (SELECT 1 FROM inbox n WHERE n.task_id = i.task_id AND n.device_id = i.device_id AND ${inDays('n.task_id')} AND n.is_copy) AS is_copy
  FROM input i WHERE (i.task_id, i.device_id) NOT IN (SELECT g.task_id, g.device_id FROM gone g)
) i
WHERE i.is_copy
  OR NOT EXISTS (SELECT 1 FROM receipt r WHERE r.task_id = i.task_id AND r.device_id = i.device_id AND ${inDays('r.task_id')})
UNION ALL SELECT 0, count(*)::int, false FROM received`
