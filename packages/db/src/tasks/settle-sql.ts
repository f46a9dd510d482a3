import { GUARD_WINDOW, isSuspectSql, retireSql } from '../devices/retired-tokens.ts'
import { batchRecord, insertBatchesSql, pendingSql, waitingStateSql } from '../ledger/batch-rows.ts'
import { after, countAndCheckSql } from '../ledger/counter-rows.ts'
import { reasonsSql } from '../ledger/failure-rows.ts'
import { addRecordsSql } from '../ledger/inbox-records.ts'
import { addRetiredSql } from '../ledger/outbox-rows.ts'
import { addWhysSql } from '../ledger/why-rows.ts'
import { inDays } from '../store/days.ts'

/** Inserts the batches `b` for the next channels. `done` is a step with columns of the batch and of its task. */
function insertNextSql(batches: string): string {
  return `${insertBatchesSql({
    from: `done d CROSS JOIN LATERAL ${batches}`,
    task: 'd',
    taskId: 'd.task_id',
    state: waitingStateSql('d'),
    plannedAt: 'd.planned_at',
  })}
  RETURNING task_id, channel, size, hi - lo AS spread`
}

const fallbackSql = `jsonb_to_recordset(d.fallback) AS b (${batchRecord})`

/** Batches for the next channels: all rows of `fallback` of the step `done`. */
export const nextBatchesSql = insertNextSql(fallbackSql)

/** Whether the device acknowledged on the native channel, which has counted it as sent then. */
const isAcknowledgedSql = `EXISTS (SELECT 1 FROM receipt r
    WHERE r.task_id = d.task_id AND r.device_id = x.id AND r.channel = 'native' AND ${inDays('r.task_id')})`

/** The same without recipients that have acknowledged on the native channel. */
const unacknowledgedSql = `(
    SELECT * FROM ${fallbackSql} WHERE b.channel <> 'native'
    UNION ALL SELECT b.channel, b.certificate_id, b.topic, b.node, b.tried, rest.recipients, rest.size
    FROM ${fallbackSql} CROSS JOIN LATERAL (
      SELECT array_agg(x.id ORDER BY x.n)::text AS recipients, count(*)::int AS size
      FROM unnest(b.recipients::bigint[]) WITH ORDINALITY AS x (id, n) WHERE NOT ${isAcknowledgedSql}
    ) rest WHERE b.channel = 'native' AND rest.size > 0
  ) b`

// The first step of both statements.
// done: writes the batches whose version is the expected one. `sending` keeps the lease; `retry` puts the batch back with only
//   its pending recipients as its size, because `size` counts towards the window of batches in flight. Without `wait` it is due at
//   infinity: the feeder's index condition then skips it at no cost, until its certificate can be used again (waking.ts). Why
//   recipients wait is replaced by each attempt; the other reasons are added.
const doneSql = `WITH input AS MATERIALIZED (
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS r (t bigint, b bigint, v int, status text, state text, wait double precision,
    troubles int, sent bigint, failed bigint, moved bigint, expired bigint, cancelled bigint, fallback jsonb, inbox text,
    clear_inbox text, reasons jsonb, retire jsonb, answered bigint, gone bigint, whys jsonb, events jsonb)
), done AS (
  UPDATE batch SET
    status = i.status,
    size = CASE WHEN i.state = 'retry' THEN ${pendingSql('i.status')} ELSE batch.size END,
    version = batch.version + 1,
    state = CASE i.state WHEN 'sending' THEN batch.state WHEN 'settled' THEN 'settled' ELSE ${waitingStateSql('t')} END,
    not_before = CASE WHEN i.state <> 'retry' THEN batch.not_before
      WHEN i.wait IS NULL THEN 'infinity' ELSE now() + make_interval(secs => i.wait) END,
    trouble_since = CASE WHEN i.state = 'sending' THEN batch.trouble_since
      WHEN i.troubles > 0 THEN coalesce(batch.trouble_since, now()) END,
    troubles = CASE WHEN i.state = 'sending' THEN batch.troubles ELSE i.troubles END,
    lost = 0,
    settled_at = CASE WHEN batch.status = i.status THEN batch.settled_at ELSE now() END,
    whys = CASE WHEN i.state = 'sending' THEN batch.whys ELSE ${addWhysSql('batch.whys', 'i.whys')} END,
    lease_until = CASE WHEN i.state = 'sending' THEN batch.lease_until END,
    worker = CASE WHEN i.state = 'sending' THEN batch.worker END
  FROM input i JOIN task t ON t.id = i.t
  WHERE ${inDays('t.id')} AND ${inDays('batch.task_id')} AND batch.task_id = i.t AND batch.id = i.b AND batch.version = i.v AND batch.state <> 'settled'
  RETURNING batch.task_id, batch.id, batch.app_id, batch.channel, batch.certificate_id, batch.lane,
    batch.deadline, batch.planned_at, batch.tried, t.paused, t.speed, t.campaign, t.events AS level, i.sent, i.failed, i.moved, i.expired, i.cancelled, i.fallback,
    i.inbox, i.clear_inbox, i.reasons, i.retire, i.answered, i.gone, i.events, batch.recipients
)`

// Events without a list are about all recipients of the batch: their ids need not be sent and read again.
const toldSql = `told AS (
  INSERT INTO outbox (app_id, kind, task_id, campaign, channel, code, text, devices)
  SELECT d.app_id, e.kind, d.task_id, d.campaign, d.channel, e.code, e.text, coalesce(e.devices::bigint[], d.recipients)
  FROM done d CROSS JOIN LATERAL jsonb_to_recordset(d.events) AS e (kind text, code text, text text, devices text)
  WHERE d.level = 2 AND ${after('counted')} ORDER BY d.task_id, d.id, e.kind
)`

// Counts the vendor's answers about tokens in the present minute, for the guard against mass retirement. Only settles with dead tokens do
// so: all others of the certificate would wait for each other at this row (packages/worker/src/answers.ts).
const currentWindowSql = `current_window AS (
  INSERT INTO token_window AS w (certificate_id, minute, answered, gone)
  SELECT certificate_id, date_trunc('minute', now()), sum(answered), sum(gone) FROM done
  WHERE certificate_id IS NOT NULL AND answered > 0
    AND EXISTS (SELECT 1 FROM certificate c WHERE c.id = done.certificate_id)
  GROUP BY certificate_id ORDER BY certificate_id
  ON CONFLICT (certificate_id, minute) DO UPDATE SET answered = w.answered + excluded.answered, gone = w.gone + excluded.gone
  RETURNING certificate_id, answered, gone
)`

const counters = ['sent', 'failed', 'moved', 'expired', 'cancelled'] as const
const doneDeltas = 'SELECT task_id, channel, sent, failed, moved, expired, cancelled'

// suspects: certificates that the guard protects, by this minute and the ones before it in the window.
// dead, unbound, retired: deletes the bindings of dead tokens, unless registered again since, and stores them as retired.
// next_batches, added, cleared: recipients that move to another channel or to the inbox, and inbox copies no longer needed. A device that has
//   acknowledged on the native channel in between (its gateway died after writing) does not return to it.
// records: a message that was written natively before keeps its place in the history.
// failures, counted, told, told_retired: in this order after all the others, see `after`.
function fullSettleSql({ records, told }: { records: boolean; told: boolean }): string {
  return `${doneSql}, ${currentWindowSql}, suspects AS MATERIALIZED (
  SELECT p.certificate_id FROM current_window p LEFT JOIN token_window w
    ON w.certificate_id = p.certificate_id AND w.minute > now() - ${GUARD_WINDOW} AND w.minute < date_trunc('minute', now())
  GROUP BY p.certificate_id, p.answered, p.gone
  HAVING ${isSuspectSql('p.answered + coalesce(sum(w.answered), 0)', 'p.gone + coalesce(sum(w.gone), 0)')}
), dead AS MATERIALIZED (
  SELECT b.device_id, b.channel FROM done d CROSS JOIN LATERAL jsonb_to_recordset(d.retire)
    AS r ("deviceId" bigint, token text, since double precision)
  JOIN binding b ON b.device_id = r."deviceId" AND b.channel = d.channel AND b.token = r.token
    AND b.registered_at <= to_timestamp(r.since / 1000)
  WHERE d.certificate_id NOT IN (SELECT certificate_id FROM suspects)
  ORDER BY b.device_id FOR UPDATE OF b
), unbound AS (
  DELETE FROM binding b USING dead WHERE b.device_id = dead.device_id AND b.channel = dead.channel
  RETURNING b.app_id, b.channel, b.token, b.device_id, b.environment, b.bundle_id, b.region, b.registered_at
), retired AS (
  ${retireSql('unbound', "'gone'")} RETURNING 1
), next_batches AS (
  ${insertNextSql(unacknowledgedSql)}
), added AS (
  INSERT INTO inbox (task_id, device_id, app_id, expires_at, planned_at, tried)
  SELECT d.task_id, x.id, d.app_id, d.deadline, d.planned_at, d.tried || d.channel
  FROM done d CROSS JOIN LATERAL unnest(d.inbox::bigint[]) AS x (id)
  WHERE NOT ${isAcknowledgedSql}
  ON CONFLICT (task_id, device_id) DO UPDATE SET sent_at = NULL, tried = excluded.tried, is_copy = false WHERE inbox.is_copy
  RETURNING task_id
), cleared AS (
  DELETE FROM inbox n USING done d CROSS JOIN LATERAL unnest(d.clear_inbox::bigint[]) AS x (id)
  WHERE n.task_id = d.task_id AND n.device_id = x.id AND ${inDays('n.task_id')} RETURNING n.task_id, n.device_id, n.is_copy
)${records ? `, records AS (${addRecordsSql(`SELECT task_id, device_id, 's' AS letter FROM cleared WHERE NOT is_copy`)})` : ''}, failures AS (
  ${reasonsSql}
), ${countAndCheckSql(
    [...counters, 'target', 'ranged', 'spread'],
    `${doneDeltas}, 0 AS target, 0 AS ranged, 0 AS spread FROM done
    UNION ALL SELECT task_id, channel, 0, 0, 0, 0, 0, size, size, spread FROM next_batches
    UNION ALL SELECT task_id, 'native', 0, 0, 0, 0, 0, 1, 1, 0 FROM added`,
    after('retired', 'failures', records ? 'records' : 'cleared'),
  )}${told ? `, ${toldSql}` : ''}, told_retired AS (
  ${addRetiredSql('SELECT app_id, channel, device_id FROM unbound', after('counted'))}
)
SELECT d.task_id, d.id, coalesce(d.certificate_id IN (SELECT certificate_id FROM suspects), false)
FROM done d WHERE ${after('counted')}`
}

/** Two statements: each step costs when the statement starts, also if it has nothing to do. */
export const settleSql = fullSettleSql({ records: false, told: false })
/** For settles with events, or with messages that leave the inbox. */
export const settleAllSql = fullSettleSql({ records: true, told: true })

/** For settles where no recipient left its channel: starting the full statement costs a millisecond, more than one push takes. */
export const plainSettleSql = `${doneSql}, ${countAndCheckSql(counters, `${doneDeltas} FROM done`)}
SELECT d.task_id, d.id, false FROM done d WHERE ${after('counted')}`

/** The same for tasks with events of their devices. */
export const plainEventsSql = `${doneSql}, ${countAndCheckSql(counters, `${doneDeltas} FROM done`)}, ${toldSql}
SELECT d.task_id, d.id, false FROM done d WHERE ${after('counted')}`
