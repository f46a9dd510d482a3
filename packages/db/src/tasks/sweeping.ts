import { type Channel, type Lane, ownReasons } from '@herald/domain'
import { pendingSql, type ReleasedBatch, releasedBatch, waitingStateSql } from '../ledger/batch-rows.ts'
import { after, countAndCheckSql } from '../ledger/counter-rows.ts'
import { addFailuresSql, reasonLiteral } from '../ledger/failure-rows.ts'
import { addEventListsSql } from '../ledger/outbox-rows.ts'
import { addTaskEventsSql } from '../ledger/task-events.ts'
import { addWhysSql } from '../ledger/why-rows.ts'
import type { Database } from '../store/database.ts'
import { inDays, runWithin } from '../store/days.ts'
import { batchDays, openDays } from '../store/open-days.ts'
import { run } from '../store/statement.ts'

/** Released batches that wait in one queue; of the native channel, those of all gateways. */
export type ChannelLane = { channel: Channel; lane: Lane }

/**
 * Takes batches that were released before `before` (Unix ms by the database's clock) and are not claimed, to enqueue them again:
 * their job was lost with the queue, or the process crashed before it added the job. If the old job still exists, its claim finds
 * nothing. Batches of gateways without a valid lease are left to `settleOrphans`: nobody would take their jobs.
 */
export async function takeUnclaimed(
  db: Database,
  { channel, lane }: ChannelLane,
  before: number,
  max: number,
): Promise<ReleasedBatch[]> {
  const rows = await runWithin(
    db.pool,
    await batchDays(db),
    'unclaimed',
    `WITH lost AS MATERIALIZED (
       SELECT task_id, id FROM batch WHERE ${inDays('task_id')} AND state = 'released' AND channel = $1 AND lane = $2
         AND released_at < to_timestamp($3::float8 / 1000)
         AND ($1 <> 'native' OR EXISTS (SELECT 1 FROM gateway_node n WHERE n.id = batch.node AND n.lease_until > now()))
       ORDER BY released_at LIMIT $4 FOR UPDATE SKIP LOCKED
     )
     UPDATE batch b SET released_at = now() FROM lost
     WHERE b.task_id = lost.task_id AND b.id = lost.id AND ${inDays('b.task_id')}
     RETURNING ${releasedBatch.sql}`,
    [channel, lane, before, max],
  )
  return rows.map(releasedBatch.read)
}

/** Returns the channels and lanes with batches or bundles released more than `seconds` ago, and the database's clock in Unix ms. */
export async function lanesWithUnclaimed(
  db: Database,
  seconds: number,
): Promise<(ChannelLane & { now: number })[]> {
  const rows = await runWithin<[Channel, Lane, number]>(
    db.pool,
    await batchDays(db),
    'unclaimed-lanes',
    `SELECT channel, lane, (extract(epoch FROM now()) * 1000)::float8 FROM batch
     WHERE ${inDays('task_id')} AND state = 'released' AND released_at < now() - make_interval(secs => $1)
     UNION SELECT channel, lane, (extract(epoch FROM now()) * 1000)::float8 FROM bundle
     WHERE ${inDays('task_id')} AND state = 'released' AND lease_until IS NULL AND released_at < now() - make_interval(secs => $1)`,
    [seconds],
  )
  return rows.map(([channel, lane, now]) => ({ channel, lane, now }))
}

/**
 * Leases in a row that may end without a settle. A batch that crashes its worker, or that no worker can read, would otherwise be
 * tried until it expires.
 */
const MAX_LOST = 10

/** The clock of Postgres, for `reclaimExpiredLeases` and `failLost`. */
export async function leaseTime(db: Database): Promise<string> {
  const [row] = await run<[string]>(db.pool, 'lease-time', 'SELECT now()::text', [])
  return row![0]
}

/**
 * Puts batches whose lease had expired at `time` back. Their version rises, so that the old worker can no longer write. Those that
 * reach MAX_LOST are left to `failLost`. By the time of an earlier answer, not by that of the statement: one that Postgres runs late,
 * after an outage in which all leases expired, would take the batches of all workers.
 */
export async function reclaimExpiredLeases(db: Database, time: string): Promise<number> {
  const rows = await runWithin(
    db.pool,
    await batchDays(db),
    'reclaim-leases',
    `WITH expired AS MATERIALIZED (
       SELECT b.task_id, b.id FROM batch b
       WHERE ${inDays('b.task_id')} AND b.state = 'sending' AND b.lease_until < $1::timestamptz AND b.lost < ${MAX_LOST - 1}
       ORDER BY b.lease_until LIMIT 1000 FOR UPDATE SKIP LOCKED
     )
     UPDATE batch b SET version = b.version + 1, lost = b.lost + 1, lease_until = NULL, worker = NULL,
       not_before = now(), state = ${waitingStateSql('t')}
     FROM expired e JOIN task t ON t.id = e.task_id AND ${inDays('t.id')}
     WHERE b.task_id = e.task_id AND b.id = e.id AND ${inDays('b.task_id')} RETURNING b.id`,
    [time],
  )
  return rows.length
}

/** Batches that were settled together without being sent. */
export type EndedBatches = {
  channel: Channel
  fate: 'expired' | 'cancelled' | 'failed'
  batches: number
  recipients: number
}

/** Settles a few hundred batches that are not being sent and have expired, or whose task is being cancelled. */
export function settleEnded(db: Database): Promise<EndedBatches[]> {
  return end(db, 'settle-ended', settleEndedSql, [])
}

/** Settles batches whose lease had expired at `time` without a settle for the last permitted time; their recipients have failed. */
export function failLost(db: Database, time: string): Promise<EndedBatches[]> {
  return end(db, 'fail-lost', failLostSql, [time])
}

async function end(db: Database, name: string, sql: string, values: string[]): Promise<EndedBatches[]> {
  const days = await batchDays(db)
  const rows = await runWithin<[Channel, EndedBatches['fate'], number, number]>(
    db.pool,
    days,
    name,
    sql,
    values,
  )
  return rows.map(([channel, fate, batches, recipients]) => ({ channel, fate, batches, recipients }))
}

/** Batches that a statement ends. If it ended as many, there may be more. */
export const MAX_ENDED = 200

const expiry = `'expired' AS fate, CASE
    WHEN b.state = 'held' THEN ${reasonLiteral(ownReasons.expired_paused)}
    WHEN b.trouble_since IS NOT NULL THEN ${reasonLiteral(ownReasons.expired_waiting_for_vendor)}
    WHEN EXISTS (SELECT 1 FROM certificate c WHERE c.id = b.certificate_id AND c.state = 'closed')
      THEN ${reasonLiteral(ownReasons.expired_channel_disabled)}
    WHEN b.state = 'paced' THEN ${reasonLiteral(ownReasons.expired_speed_limit)}
    ELSE ${reasonLiteral(ownReasons.expired_waiting)} END AS reason`

// The status comes from the selects that lock the rows: the one in the snapshot of the UPDATE may be older than a concurrent settle.
const settleEndedSql = endSql(`
waiting AS MATERIALIZED (
  SELECT b.task_id, b.id, b.status, ${expiry} FROM batch b
  WHERE ${inDays('b.task_id')} AND b.state IN ('ready', 'paced', 'held') AND b.deadline <= now() LIMIT ${MAX_ENDED} FOR UPDATE SKIP LOCKED
), released AS MATERIALIZED (
  SELECT b.task_id, b.id, b.status, ${expiry} FROM batch b
  WHERE ${inDays('b.task_id')} AND b.state = 'released' AND b.deadline <= now() LIMIT ${MAX_ENDED} FOR UPDATE SKIP LOCKED
), cancelled AS MATERIALIZED (
  SELECT b.task_id, b.id, b.status, 'cancelled' AS fate, ${reasonLiteral(ownReasons.task_cancelled)} AS reason
  FROM task t JOIN batch b ON b.task_id = t.id
  WHERE ${inDays('t.id')} AND ${inDays('b.task_id')} AND t.cancelling AND t.state IN ('accepted', 'planning', 'sending') AND b.state IN ('ready', 'paced', 'held', 'released')
    AND b.deadline > now() LIMIT ${MAX_ENDED} FOR UPDATE OF b SKIP LOCKED
), due AS (
  SELECT * FROM waiting UNION ALL SELECT * FROM released UNION ALL SELECT * FROM cancelled
)`)

const failLostSql = endSql(`
due AS MATERIALIZED (
  SELECT b.task_id, b.id, b.status, 'failed' AS fate, ${reasonLiteral(ownReasons.attempts_lost)} AS reason FROM batch b
  WHERE ${inDays('b.task_id')} AND b.state = 'sending' AND b.lease_until < $1::timestamptz AND b.lost >= ${MAX_LOST - 1}
  ORDER BY b.lease_until LIMIT ${MAX_ENDED} FOR UPDATE SKIP LOCKED
)`)

/**
 * Settles the batches of the step `due`, which has their keys, status, fate and reason. The reason is stored without places: it is that of all
 * recipients with this fate that no earlier reason names.
 */
function endSql(due: string): string {
  return `
WITH ${due}, ended AS (
  UPDATE batch b SET state = 'settled', version = b.version + 1, lease_until = NULL, worker = NULL,
    status = replace(due.status, '.', CASE due.fate WHEN 'expired' THEN 'x' WHEN 'cancelled' THEN 'c' ELSE 'f' END),
    settled_at = CASE WHEN position('.' IN due.status) > 0 THEN now() ELSE b.settled_at END,
    whys = ${addWhysSql(
      'b.whys',
      `CASE WHEN position('.' IN due.status) > 0
      THEN jsonb_build_array(jsonb_build_object('f', due.fate, 'c', due.reason[1], 't', due.reason[2])) END`,
    )}
  FROM due WHERE b.task_id = due.task_id AND b.id = due.id AND ${inDays('b.task_id')}
  RETURNING b.task_id, b.id, b.channel, b.recipients, due.status, due.fate, due.reason,
    ${pendingSql('due.status')} AS pending
), failures AS (
  ${addFailuresSql(`
  SELECT g.task_id, g.channel, g.fate, g.reason[1], g.reason[2], g.pending, ARRAY(
    SELECT r.device FROM unnest(e.recipients) WITH ORDINALITY AS r (device, n)
    WHERE substr(e.status, r.n::int, 1) = '.' LIMIT 10)
  FROM (
    SELECT task_id, channel, fate, reason, sum(pending) AS pending, min(id) AS id FROM ended WHERE pending > 0
    GROUP BY 1, 2, 3, 4
  ) g JOIN ended e ON e.task_id = g.task_id AND e.id = g.id ORDER BY 1, 2, 3, 4`)}
), ${countAndCheckSql(
    ['failed', 'expired', 'cancelled'],
    `SELECT task_id, channel, CASE fate WHEN 'failed' THEN pending ELSE 0 END AS failed,
      CASE fate WHEN 'expired' THEN pending ELSE 0 END AS expired,
      CASE fate WHEN 'cancelled' THEN pending ELSE 0 END AS cancelled FROM ended`,
    after('failures'),
  )}, told AS (
  ${addEventListsSql(
    `SELECT e.task_id, e.channel, 'device.' || e.fate AS kind, e.reason[1] AS code, e.reason[2] AS text, ARRAY(
      SELECT e.recipients[n] FROM string_to_table(e.status, NULL) WITH ORDINALITY AS l (letter, n) WHERE letter = '.' ORDER BY 1) AS devices
    FROM ended e WHERE e.pending > 0 AND e.fate <> 'cancelled'`,
    after('counted'),
  )}
)
SELECT channel, fate, count(*)::int, sum(pending)::int FROM ended GROUP BY 1, 2`
}

/** Many scheduled tasks may be cancelled while no planner runs. */
const MAX_CANCELLED = 1000

/** Ends tasks that were cancelled before they were planned. */
export async function cancelAccepted(db: Database): Promise<number> {
  const rows = await runWithin(
    db.pool,
    await openDays(db),
    'cancel-accepted',
    `WITH cancelled AS (
       UPDATE task SET state = 'cancelled', finished_at = now()
       -- As a list: Postgres may join by looking each task of the days up among those that are cancelled.
       WHERE ${inDays('id')} AND id = ANY (ARRAY(
         SELECT id FROM task WHERE ${inDays('id')} AND state = 'accepted' AND cancelling LIMIT ${MAX_CANCELLED} FOR UPDATE SKIP LOCKED))
       RETURNING id, app_id, campaign, events, unreachable, cancelling
     ), told AS (
       ${addTaskEventsSql('cancelled t')}
     )
     SELECT id FROM cancelled`,
    [],
  )
  return rows.length
}
