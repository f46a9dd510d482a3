import type { Channel } from '@herald/domain'
import { memberSql } from '../ledger/bundled-tasks.ts'
import { addChecksSql, addCountersSql, after } from '../ledger/counter-rows.ts'
import { isErasedSql } from '../ledger/erased-devices.ts'
import { addRecordsSql } from '../ledger/inbox-records.ts'
import { addEventsSql } from '../ledger/outbox-rows.ts'
import { isTold } from '../ledger/task-events.ts'
import type { Database } from '../store/database.ts'
import { daysOf, groupByDays, groupByKeptDays, inDays, runWithin } from '../store/days.ts'
import { retrying, retryingStatement } from '../store/errors.ts'
import type { Runner } from '../store/statement.ts'

export type ReceiptToRecord = {
  appId: string
  taskId: number
  deviceId: number
  /** The channel that reports. Undefined for a report by the client: the channel that last sent to the device. */
  channel?: Channel
  event: 'received' | 'clicked'
}

/**
 * Records receipts, once per device and task, and raises `received` by the number of new ones, and `clicked` by the number of devices that
 * clicked for the first time; a click without an earlier receipt counts as both. A receipt may arrive before its batch is settled.
 * Receipts of devices that are not recipients of the task on that channel, or were erased, are ignored. Returns the number of new ones;
 * `onCounted` gets it per channel.
 */
export async function recordReceipts(
  db: Database,
  receipts: readonly ReceiptToRecord[],
  onCounted?: (channel: Channel, count: number) => void,
): Promise<number> {
  let count = 0
  // Each list has all reports about a device and a task. If a later one fails, a repetition finds the receipts of those before it.
  for (const some of await retrying(() => groupByKeptDays(db.pool, receipts, taskOf))) {
    const rows = await retryingStatement(() =>
      runWithin<[Channel, number]>(db.pool, daysIn(some), 'record-receipts', recordSql, [
        some.map((r) => r.appId),
        some.map((r) => r.taskId),
        some.map((r) => r.deviceId),
        some.map((r) => r.channel ?? null),
        some.map((r) => r.event === 'clicked'),
      ]),
    )
    for (const [channel, added] of rows) {
      onCounted?.(channel, added)
      count += added
    }
  }
  return count
}

const taskOf = ({ taskId }: { taskId: number }) => taskId
const daysIn = (keys: readonly { taskId: number }[]) => daysOf(keys.map(taskOf))

/** The smallest `lo` that a batch with this device can have, from the counter `c` of its task and channel. */
export function firstLoSql(device: string): string {
  return `CASE WHEN c.ranged = c.target THEN ${device} - c.spread ELSE 0 END`
}

/** A task in a bundle has one recipient. Without a condition on the device this is one look-up in a hash per receipt, not a nested loop. */
const isBundled = 'i.task_id IN (SELECT k.task_id FROM known k WHERE k.bundled_on IS NOT NULL)'

/** Whether the message has left the inbox for another channel. Evaluated for the few that were in the inbox and are no longer. */
function hasMovedSql(of: string): string {
  return `(${of}.task_id, ${of}.device_id) NOT IN (SELECT task_id, device_id FROM cleared) AND EXISTS (
    SELECT 1 FROM batch b WHERE b.task_id = ${of}.task_id AND ${inDays('b.task_id')} AND b.channel = 'native' AND b.is_record
      AND b.lo <= ${of}.device_id AND b.hi >= ${of}.device_id AND substr(b.status, array_position(b.recipients, ${of}.device_id), 1) = 'm')`
}

// All steps are sorted, because concurrent calls that lock the same rows in different orders deadlock.
// matched: finds the device and its status letter among the task's recipients: in the batches of the channel whose range of ids
//   (lo to hi) includes it, and in the inbox. Without a lower bound for `lo` every batch before the device would be read.
// chosen: of several matches one that was sent, otherwise one that was not moved, otherwise that of the latest batch. It is a click if one
//   of the device's reports is.
// written: inserts receipts, and notes the first click of those that exist, in one step: of a receipt that another call is inserting, an
//   UPDATE would see nothing, and the click would be lost. A click that comes later than the receipt gets a later time, by which the two
//   are told apart.
// copies, cleared: a device that has the message needs no inbox copy. If another channel reports, a copy that was not sent yet
//   stays, because it is still counted as pending on the native channel.
// records: of a written message whose receipt is one of another channel, nothing else would say that it was written.
// bundled: a task in a bundle has no counter until its receipt; the row then has only `received` and `clicked`.
// counted: a native message that was received but never counted as sent (its gateway crashed after writing it) is counted as sent
//   now; if it was counted as moved because of the crash, from its batch or later from the inbox, `moved` is lowered again.
// told: what is counted.
const recordSql = `
WITH input AS MATERIALIZED (
  SELECT app_id, task_id, device_id, channel, bool_or(clicked) AS clicked
  FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::boolean[]) AS r (app_id, task_id, device_id, channel, clicked)
  GROUP BY 1, 2, 3, 4
), known AS MATERIALIZED (
  SELECT i.*, CASE WHEN m.device_id = i.device_id THEN m.channel END AS bundled_on, m.letter, t.events FROM input i
  JOIN task t ON t.id = i.task_id AND ${inDays('t.id')} AND t.app_id = i.app_id ${memberSql('t')}
  WHERE NOT ${isErasedSql('i.device_id')}
), matched AS MATERIALIZED (
  SELECT k.task_id, k.device_id, b.channel, b.letter, b.id, k.clicked FROM known k CROSS JOIN LATERAL (
    SELECT c.channel, substr(b.status, b.nth, 1) AS letter, b.id
    FROM (SELECT channel, ${firstLoSql('k.device_id')} AS first FROM counter c
      WHERE task_id = k.task_id AND ${inDays('task_id')} AND channel = coalesce(k.channel, channel)) c
    CROSS JOIN LATERAL (
      SELECT id, status, array_position(recipients, k.device_id) AS nth FROM batch
      WHERE task_id = k.task_id AND ${inDays('task_id')} AND channel = c.channel AND lo BETWEEN c.first AND k.device_id
        AND hi >= k.device_id AND NOT is_record
    ) b
    WHERE b.nth IS NOT NULL
    UNION ALL
    SELECT k.bundled_on, k.letter, 0 WHERE k.bundled_on = coalesce(k.channel, k.bundled_on)
    UNION ALL
    SELECT 'native', CASE WHEN n.sent_at IS NULL THEN '.' ELSE 's' END, 0 FROM inbox n
    WHERE n.task_id = k.task_id AND ${inDays('n.task_id')} AND n.device_id = k.device_id AND coalesce(k.channel, 'native') = 'native' AND NOT n.is_copy
  ) b
), chosen AS MATERIALIZED (
  SELECT DISTINCT ON (task_id, device_id) task_id, device_id, channel, letter,
    bool_or(clicked) OVER (PARTITION BY task_id, device_id) AS clicked FROM matched
  ORDER BY task_id, device_id, letter = 's' DESC, letter = 'm', id DESC
), copies AS MATERIALIZED (
  SELECT i.task_id, i.device_id FROM inbox i JOIN chosen c USING (task_id, device_id)
  WHERE ${inDays('i.task_id')} AND (c.channel = 'native' OR i.sent_at IS NOT NULL) ORDER BY 1, 2 FOR UPDATE OF i
), written AS (
  INSERT INTO receipt AS r (task_id, device_id, channel, received_at, clicked_at)
  SELECT task_id, device_id, channel, now(), CASE WHEN clicked THEN now() END FROM chosen
  WHERE ${after('copies')} ORDER BY task_id, device_id
  ON CONFLICT (task_id, device_id) DO UPDATE SET clicked_at = GREATEST(now(), r.received_at + interval '1 microsecond')
    WHERE excluded.clicked_at IS NOT NULL AND r.clicked_at IS NULL
  RETURNING r.task_id, r.device_id, r.channel, r.clicked_at IS NULL OR r.clicked_at = r.received_at AS fresh,
    r.clicked_at IS NOT NULL AS clicked
), cleared AS (
  DELETE FROM inbox i USING copies
  WHERE i.task_id = copies.task_id AND i.device_id = copies.device_id AND ${inDays('i.task_id')}
  RETURNING i.task_id, i.device_id, i.sent_at, i.is_copy
), records AS (
  ${addRecordsSql(`SELECT task_id, device_id, 's' AS letter FROM cleared
    WHERE NOT is_copy AND (task_id, device_id) NOT IN (SELECT task_id, device_id FROM written WHERE channel = 'native')`)}
), checks AS (
  ${addChecksSql('SELECT task_id FROM cleared')}
), bundled AS (
  ${addCountersSql(
    ['received', 'clicked'],
    `SELECT i.task_id, i.channel, i.fresh::int AS received, i.clicked::int AS clicked FROM written i WHERE ${isBundled}`,
  )}
  RETURNING 1
), late AS MATERIALIZED (
  SELECT task_id, device_id, 0 AS unmoved FROM cleared WHERE sent_at IS NULL
  UNION ALL SELECT task_id, device_id, 1 FROM written JOIN chosen USING (task_id, device_id, channel)
  WHERE fresh AND channel = 'native' AND (letter = 'm' OR letter = 'i' AND ${hasMovedSql('written')})
), counted AS (
  UPDATE counter c SET received = c.received + n.fresh, clicked = c.clicked + n.clicked, sent = c.sent + n.sent, moved = c.moved - n.unmoved
  FROM (
    SELECT task_id, channel, sum(fresh) AS fresh, sum(clicked) AS clicked, sum(sent) AS sent, sum(unmoved) AS unmoved FROM (
      SELECT task_id, channel, fresh::int AS fresh, clicked::int AS clicked, 0 AS sent, 0 AS unmoved FROM written i WHERE NOT ${isBundled}
      UNION ALL SELECT task_id, 'native', 0, 0, 1, unmoved FROM late
    ) deltas WHERE ${after('records')} GROUP BY 1, 2 ORDER BY 1, 2
  ) n WHERE c.task_id = n.task_id AND ${inDays('c.task_id')} AND c.channel = n.channel
  RETURNING 1
), telling AS MATERIALIZED (
  SELECT task_id AS id FROM known WHERE events = 2
), told AS (
  ${addEventsSql(
    `SELECT task_id, channel, 'device.received' AS kind, NULL::text AS code, NULL::text AS text, device_id FROM written WHERE fresh AND ${isTold}
    UNION ALL SELECT task_id, channel, 'device.clicked', NULL, NULL, device_id FROM written WHERE clicked AND ${isTold}
    UNION ALL SELECT task_id, 'native', 'device.sent', NULL, NULL, device_id FROM late WHERE ${isTold}`,
    after('counted', 'bundled'),
  )}
)
SELECT channel, count(*)::int FROM written WHERE fresh GROUP BY 1`

/** Returns which of the devices are recipients of their task on the channel, as `task/device`. */
export async function findRecipients(
  runner: Runner,
  appId: string,
  channel: Channel,
  keys: readonly { taskId: number; deviceId: number }[],
): Promise<Set<string>> {
  const found = new Set<string>()
  for (const some of await groupByKeptDays(runner, keys, taskOf)) {
    const rows = await runWithin<[number, number]>(runner, daysIn(some), 'recipients-among', recipientsSql, [
      appId,
      channel,
      some.map((key) => key.taskId),
      some.map((key) => key.deviceId),
    ])
    for (const [taskId, deviceId] of rows) found.add(`${taskId}/${deviceId}`)
  }
  return found
}

const recipientsSql = `
SELECT k.task_id, k.device_id FROM unnest($3::bigint[], $4::bigint[]) AS k (task_id, device_id)
JOIN task t ON t.id = k.task_id AND t.app_id = $1 JOIN counter c ON c.task_id = k.task_id AND c.channel = $2
WHERE ${inDays('t.id')} AND ${inDays('c.task_id')} AND c.target > 0
  AND EXISTS (SELECT FROM batch b WHERE b.task_id = k.task_id AND ${inDays('b.task_id')} AND b.channel = $2
  AND b.lo BETWEEN ${firstLoSql('k.device_id')} AND k.device_id AND b.hi >= k.device_id AND k.device_id = ANY (b.recipients) AND NOT b.is_record)
UNION ALL SELECT k.task_id, k.device_id FROM unnest($3::bigint[], $4::bigint[]) AS k (task_id, device_id)
JOIN task t ON t.id = k.task_id AND t.app_id = $1 ${memberSql('t')}
WHERE ${inDays('t.id')} AND m.channel = $2 AND m.device_id = k.device_id`

/** Returns the devices that have a receipt of their task, as `task/device`. */
export async function findReceipts(
  runner: Runner,
  keys: readonly { taskId: number; deviceId: number }[],
): Promise<Set<string>> {
  const found = new Set<string>()
  for (const some of groupByDays(keys, taskOf)) {
    const rows = await runWithin<[number, number]>(runner, daysIn(some), 'receipts-among', receiptsSql, [
      some.map((key) => key.taskId),
      some.map((key) => key.deviceId),
    ])
    for (const [taskId, deviceId] of rows) found.add(`${taskId}/${deviceId}`)
  }
  return found
}

const receiptsSql = `
SELECT task_id, device_id FROM receipt
JOIN unnest($1::bigint[], $2::bigint[]) AS k (task_id, device_id) USING (task_id, device_id)
WHERE ${inDays('receipt.task_id')}`
