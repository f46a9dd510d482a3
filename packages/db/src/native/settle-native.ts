import type { NativeFold } from '@herald/domain'
import { batchRow, idList } from '../ledger/batch-rows.ts'
import { after, countAndCheckSql } from '../ledger/counter-rows.ts'
import { isErasedSql } from '../ledger/erased-devices.ts'
import { reasonRows, reasonsSql } from '../ledger/failure-rows.ts'
import { movedAfterSql } from '../ledger/moved-devices.ts'
import { addEventsSql } from '../ledger/outbox-rows.ts'
import { isTold } from '../ledger/task-events.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { type Runner, run } from '../store/statement.ts'
import { batchName } from '../tasks/claim.ts'
import { nextBatchesSql } from '../tasks/settle-sql.ts'

/** The results of a claimed native batch as one write. Afterwards none of its recipients is pending. */
export type NativeSettlement = NativeFold & {
  taskId: number
  id: number
  version: number
  /** Recipients of a task that cannot be read. */
  failed?: number
}

/**
 * Writes the results of native batches in one statement: batch, receipts, inbox, batches of the next channel and counters. A batch
 * whose version has changed is not written. A recipient that has a receipt already counts as sent and gets no copy in the inbox. One
 * that was erased after its message was written gets neither a receipt nor a copy.
 * Returns the batches that were written, as `task/batch`.
 */
export async function settleNative(
  runner: Runner,
  settlements: readonly NativeSettlement[],
): Promise<Set<string>> {
  const days = daysOf(settlements.map(({ taskId }) => taskId))
  const rows = await runWithin<[number, number]>(runner, days, 'settle-native', settleSql, [
    JSON.stringify(settlements.map(settleRow)),
  ])
  return new Set(rows.map(([taskId, id]) => batchName(taskId, id)))
}

function settleRow(s: NativeSettlement) {
  return {
    t: s.taskId,
    b: s.id,
    v: s.version,
    status: s.status,
    sent: s.sent,
    moved: s.moved,
    expired: s.expired,
    failed: s.failed ?? 0,
    whys: s.whys.length > 0 ? s.whys : null,
    acknowledged: idList(s.acknowledged),
    inbox: s.inbox.map((rows) => ({
      ids: idList(rows.recipients),
      sent: rows.sent,
      fallback_in: rows.fallbackIn,
      is_copy: rows.isCopy ?? false,
    })),
    fallback: s.fallback.map(batchRow),
    reasons: reasonRows(s.reasons),
  }
}

// checks: always, because what is pending on the channel may be messages that only wait for their devices, of which nobody else notices
//   that they are all that is left.
// told: what has the letter s now and was pending in the row of before, which this statement still sees.
const settleSql = `
WITH input AS MATERIALIZED (
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS r (t bigint, b bigint, v int, status text, sent bigint, moved bigint,
    expired bigint, failed bigint, whys jsonb, acknowledged text, inbox jsonb, fallback jsonb, reasons jsonb)
), done AS (
  UPDATE batch SET status = i.status, version = batch.version + 1, state = 'settled', lease_until = NULL, worker = NULL,
    settled_at = now(), whys = i.whys
  FROM input i JOIN task t ON t.id = i.t
  WHERE ${inDays('t.id')} AND ${inDays('batch.task_id')} AND batch.task_id = i.t AND batch.id = i.b AND batch.version = i.v AND batch.state <> 'settled'
  RETURNING batch.task_id, batch.id, batch.app_id, batch.channel, batch.lane, batch.deadline, batch.planned_at, batch.tried,
    batch.recipients, t.paused, t.speed, t.events, i.status, i.whys, i.sent, i.moved, i.expired, i.failed, i.acknowledged, i.inbox, i.fallback,
    i.reasons
), received AS (
  INSERT INTO receipt (task_id, device_id, channel)
  SELECT d.task_id, x.id, 'native' FROM done d CROSS JOIN LATERAL unnest(d.acknowledged::bigint[]) AS x (id)
  WHERE NOT ${isErasedSql('x.id')} ORDER BY 1, 2
  ON CONFLICT (task_id, device_id) DO NOTHING
  RETURNING task_id, device_id
), copies AS MATERIALIZED (
  SELECT d.task_id, d.app_id, d.deadline, d.planned_at, d.tried, x.id, n.sent, n.fallback_in, n.is_copy,
    EXISTS (SELECT 1 FROM receipt r WHERE r.task_id = d.task_id AND r.device_id = x.id AND ${inDays('r.task_id')}) AS received
  FROM done d CROSS JOIN LATERAL jsonb_to_recordset(d.inbox) AS n (ids text, sent boolean, fallback_in double precision, is_copy boolean)
  CROSS JOIN LATERAL unnest(n.ids::bigint[]) AS x (id)
), added AS (
  INSERT INTO inbox (task_id, device_id, app_id, expires_at, planned_at, sent_at, fallback_at, tried, is_copy)
  SELECT task_id, id, app_id, deadline, planned_at, CASE WHEN sent THEN now() END,
    now() + make_interval(secs => fallback_in), tried, is_copy
  FROM copies c WHERE NOT received AND NOT (sent AND ${isErasedSql('c.id')}) ORDER BY task_id, id
  ON CONFLICT (task_id, device_id) DO UPDATE SET sent_at = excluded.sent_at, fallback_at = excluded.fallback_at,
    tried = excluded.tried, is_copy = false WHERE inbox.is_copy
  RETURNING 1
), next_batches AS (
  ${nextBatchesSql}
), failures AS (
  ${reasonsSql}
), ${countAndCheckSql(
  ['target', 'ranged', 'spread', 'sent', 'received', 'moved', 'expired', 'failed'],
  `SELECT task_id, 'native' AS channel, 0 AS target, 0 AS ranged, 0 AS spread, sent, 0 AS received, moved, expired, failed FROM done
    UNION ALL SELECT task_id, 'native', 0, 0, 0, 0, 1, 0, 0, 0 FROM received
    UNION ALL SELECT task_id, 'native', 0, 0, 0, 1, 0, 0, 0, 0 FROM copies WHERE received AND NOT sent
    UNION ALL SELECT task_id, channel, size, size, spread, 0, 0, 0, 0, 0 FROM next_batches`,
  after('added', 'failures'),
  'SELECT task_id FROM done',
)}, telling AS MATERIALIZED (
  SELECT task_id AS id FROM done WHERE events = 2
), told AS (
  ${addEventsSql(
    `SELECT d.task_id, 'native' AS channel, 'device.sent' AS kind, NULL::text AS code, NULL::text AS text, x.id AS device_id
    FROM done d CROSS JOIN LATERAL (
      SELECT status FROM batch WHERE task_id = d.task_id AND id = d.id AND ${inDays('task_id')} OFFSET 0) b
    CROSS JOIN LATERAL unnest(d.recipients) WITH ORDINALITY AS x (id, n)
    WHERE d.events = 2 AND substr(d.status, x.n::int, 1) = 's' AND substr(b.status, x.n::int, 1) = '.'
    UNION ALL SELECT d.task_id, 'native', 'device.' || w.f, w.c, w.t, d.recipients[p.place::int + 1]
    FROM done d CROSS JOIN LATERAL jsonb_to_recordset(d.whys) AS w (f text, c text, t text, p jsonb)
    CROSS JOIN LATERAL jsonb_array_elements_text(w.p) AS p (place) WHERE d.events = 2 AND w.f IN ('expired', 'failed')
    UNION ALL SELECT task_id, 'native', 'device.sent', NULL, NULL, id FROM copies WHERE received AND NOT sent AND ${isTold}
    UNION ALL SELECT task_id, 'native', 'device.received', NULL, NULL, device_id FROM received WHERE ${isTold}`,
    after('counted'),
  )}
)
SELECT d.task_id, d.id FROM done d WHERE ${after('counted')}`

/** `at`: Unix ms; infinity for a device that was removed or disabled. */
export type OwnerChange = { kind: 'ownerChanged' | 'removed' | 'disabled'; at: number }

/** Returns the devices that were removed or got another user after `plannedAt`, and disabled ones. */
export async function ownerChangedSince(
  runner: Runner,
  recipients: readonly number[],
  plannedAt: number,
): Promise<Map<number, OwnerChange>> {
  const rows = await run<[number, number | null, boolean | null]>(
    runner,
    'moved-since',
    `SELECT r.id, (extract(epoch FROM d.moved_at) * 1000)::float8, d.enabled FROM unnest($1::bigint[]) AS r (id)
     LEFT JOIN device d ON d.id = r.id WHERE d.id IS NULL OR NOT d.enabled OR ${movedAfterSql('d', 'to_timestamp($2::float8 / 1000)')}`,
    [recipients, plannedAt],
  )
  return new Map(
    rows.map(([id, movedAt, enabled]): [number, OwnerChange] => [
      id,
      movedAt === null
        ? { kind: 'removed', at: Infinity }
        : enabled
          ? { kind: 'ownerChanged', at: movedAt }
          : { kind: 'disabled', at: Infinity },
    ]),
  )
}
