import { retireSql } from '../devices/retired-tokens.ts'
import { GUARD_WINDOW, isSuspectSql } from '../devices/token-guard.ts'
import { batchRecord } from '../ledger/batch-rows.ts'
import { reasonsSql } from '../ledger/failure-rows.ts'

/** Batches of the next channel, from `done` with its columns of the batch, of the task, and `fallback`. */
export const nextBatchesSql = `INSERT INTO batch (task_id, app_id, channel, certificate_id, topic, node, lane, state, size,
    recipients, status, tried, deadline, planned_at)
  SELECT d.task_id, d.app_id, f.channel, f.certificate_id, f.topic, f.node, d.lane,
    CASE WHEN d.paused THEN 'held' WHEN d.speed IS NOT NULL THEN 'paced' ELSE 'ready' END,
    f.size, f.recipients::bigint[], repeat('.', f.size), f.tried::text[], d.deadline, d.planned_at
  FROM done d CROSS JOIN LATERAL jsonb_to_recordset(d.fallback) AS f (${batchRecord})
  RETURNING task_id, channel, size`

/** The batches, and what their answers say about the certificate's tokens. */
const doneSql = `WITH input AS MATERIALIZED (
  SELECT * FROM jsonb_to_recordset($1::jsonb) AS r (t bigint, b bigint, v int, status text, state text, wait double precision,
    troubled boolean, sent bigint, failed bigint, moved bigint, expired bigint, cancelled bigint, fallback jsonb, inbox text,
    unbox text, reasons jsonb, retire jsonb, answered bigint, gone bigint)
), done AS (
  UPDATE batch SET
    status = i.status,
    -- What waits once more is weighed by what is left of it.
    size = CASE WHEN i.state = 'again' THEN length(i.status) - length(replace(i.status, '.', '')) ELSE batch.size END,
    version = batch.version + 1,
    state = CASE i.state WHEN 'sending' THEN batch.state WHEN 'settled' THEN 'settled'
      ELSE CASE WHEN t.paused THEN 'held' WHEN t.speed IS NOT NULL THEN 'paced' ELSE 'ready' END END,
    not_before = CASE WHEN i.state = 'again' THEN now() + make_interval(secs => i.wait) ELSE batch.not_before END,
    trouble_since = CASE WHEN i.state = 'sending' THEN batch.trouble_since
      WHEN i.troubled THEN coalesce(batch.trouble_since, now()) END,
    lease_until = CASE WHEN i.state = 'sending' THEN batch.lease_until END,
    worker = CASE WHEN i.state = 'sending' THEN batch.worker END
  FROM input i JOIN task t ON t.id = i.t
  WHERE batch.task_id = i.t AND batch.id = i.b AND batch.version = i.v AND batch.state <> 'settled'
  RETURNING batch.task_id, batch.id, batch.app_id, batch.channel, batch.certificate_id, batch.lane,
    batch.deadline, batch.planned_at, t.paused, t.speed, i.sent, i.failed, i.moved, i.expired, i.cancelled, i.fallback,
    i.inbox, i.unbox, i.reasons, i.retire, i.answered, i.gone
), present_window AS (
  INSERT INTO token_window AS w (certificate_id, minute, answered, gone)
  SELECT certificate_id, date_trunc('minute', now()), sum(answered), sum(gone) FROM done
  WHERE certificate_id IS NOT NULL AND answered > 0
    AND EXISTS (SELECT 1 FROM certificate c WHERE c.id = done.certificate_id)
  GROUP BY certificate_id ORDER BY certificate_id
  ON CONFLICT (certificate_id, minute) DO UPDATE SET answered = w.answered + excluded.answered, gone = w.gone + excluded.gone
  RETURNING certificate_id, answered, gone
)`

const countSql = (
  deltas: string,
) => `INSERT INTO counter AS c (task_id, channel, target, sent, failed, moved, expired, cancelled)
  SELECT task_id, channel, sum(target), sum(sent), sum(failed), sum(moved), sum(expired), sum(cancelled) FROM (${deltas}
  ) deltas`
const addUpSql = `GROUP BY task_id, channel ORDER BY task_id, channel
  ON CONFLICT (task_id, channel) DO UPDATE SET target = c.target + excluded.target, sent = c.sent + excluded.sent,
    failed = c.failed + excluded.failed, moved = c.moved + excluded.moved, expired = c.expired + excluded.expired,
    cancelled = c.cancelled + excluded.cancelled
  RETURNING 1`

export const settleSql = `${doneSql}, suspects AS MATERIALIZED (
  SELECT p.certificate_id FROM present_window p LEFT JOIN token_window w
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
  RETURNING b.app_id, b.channel, b.token, b.device_id, b.environment, b.bundle_id, b.registered_at
), retired AS (
  ${retireSql('unbound', "'gone'")} RETURNING 1
), next_batches AS (
  ${nextBatchesSql}
), boxed AS (
  INSERT INTO inbox (task_id, device_id, app_id, expires_at, planned_at)
  SELECT d.task_id, x.id, d.app_id, d.deadline, d.planned_at FROM done d CROSS JOIN LATERAL unnest(d.inbox::bigint[]) AS x (id)
  ON CONFLICT (task_id, device_id) DO NOTHING
  RETURNING task_id
), unboxed AS (
  DELETE FROM inbox n USING done d CROSS JOIN LATERAL unnest(d.unbox::bigint[]) AS x (id)
  WHERE n.task_id = d.task_id AND n.device_id = x.id RETURNING 1
), why AS (
  ${reasonsSql}
), counted AS (
  ${countSql(`
    SELECT task_id, channel, 0 AS target, sent, failed, moved, expired, cancelled FROM done
    UNION ALL SELECT task_id, channel, size, 0, 0, 0, 0, 0 FROM next_batches
    UNION ALL SELECT task_id, 'native', 1, 0, 0, 0, 0, 0 FROM boxed`)}
  WHERE (SELECT count(*) FROM retired) >= 0 AND (SELECT count(*) FROM why) >= 0 AND (SELECT count(*) FROM unboxed) >= 0
  ${addUpSql}
)
SELECT d.task_id, d.id, coalesce(d.certificate_id IN (SELECT certificate_id FROM suspects), false)
FROM done d WHERE (SELECT count(*) FROM counted) >= 0`

// Starting the full statement costs Postgres a millisecond, more than a push to one device needs for all else.
export const plainSettleSql = `${doneSql}, counted AS (
  ${countSql('SELECT task_id, channel, 0 AS target, sent, failed, moved, expired, cancelled FROM done')}
  WHERE (SELECT count(*) FROM present_window) >= 0
  ${addUpSql}
)
SELECT d.task_id, d.id, false FROM done d WHERE (SELECT count(*) FROM counted) >= 0`
