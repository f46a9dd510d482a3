import { type Channel, type Lane, ownReasons } from '@herald/domain'
import { pendingSql, type ReleasedBatch, releasedBatch, waitingStateSql } from '../ledger/batch-rows.ts'
import { addCountersSql, after } from '../ledger/counter-rows.ts'
import { addFailuresSql, reasonLiteral } from '../ledger/failure-rows.ts'
import type { Database } from '../store/database.ts'
import { inTransaction, run } from '../store/statement.ts'

/** Released batches that wait in one queue; of the native channel, those of all gateways. */
export type ChannelLane = { channel: Channel; lane: Lane }

/**
 * Takes batches that were released before `before` (Unix ms by the database's clock) and are not claimed, to enqueue them again:
 * their job was lost with the queue, or the process crashed before it added the job. If the old job still exists, its claim finds
 * nothing.
 */
export async function takeUnclaimed(
  db: Database,
  { channel, lane }: ChannelLane,
  before: number,
  max: number,
): Promise<ReleasedBatch[]> {
  const rows = await run(
    db.pool,
    'unclaimed',
    `WITH lost AS MATERIALIZED (
       SELECT task_id, id FROM batch WHERE state = 'released' AND channel = $1 AND lane = $2
         AND released_at < to_timestamp($3::float8 / 1000) ORDER BY released_at LIMIT $4 FOR UPDATE SKIP LOCKED
     )
     UPDATE batch b SET released_at = now() FROM lost WHERE b.task_id = lost.task_id AND b.id = lost.id
     RETURNING ${releasedBatch.sql}`,
    [channel, lane, before, max],
  )
  return rows.map(releasedBatch.read)
}

/** Returns the channels and lanes with batches released more than `seconds` ago, and the database's clock in Unix ms. */
export async function lanesWithUnclaimed(
  db: Database,
  seconds: number,
): Promise<(ChannelLane & { now: number })[]> {
  const rows = await run<[Channel, Lane, number]>(
    db.pool,
    'unclaimed-lanes',
    `SELECT DISTINCT channel, lane, (extract(epoch FROM now()) * 1000)::float8 FROM batch
     WHERE state = 'released' AND released_at < now() - make_interval(secs => $1)`,
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
  const rows = await run(
    db.pool,
    'reclaim-leases',
    `WITH expired AS MATERIALIZED (
       SELECT b.task_id, b.id FROM batch b
       WHERE b.state = 'sending' AND b.lease_until < $1::timestamptz AND b.lost < ${MAX_LOST - 1}
       ORDER BY b.lease_until LIMIT 1000 FOR UPDATE SKIP LOCKED
     )
     UPDATE batch b SET version = b.version + 1, lost = b.lost + 1, lease_until = NULL, worker = NULL,
       not_before = now(), state = ${waitingStateSql('t')}
     FROM expired e JOIN task t ON t.id = e.task_id WHERE b.task_id = e.task_id AND b.id = e.id RETURNING b.id`,
    [time],
  )
  return rows.length
}

/** Holds batches of paused tasks that were planned or put back after the pause, and lets those of resumed tasks continue. */
export async function alignPausedBatches(db: Database): Promise<number> {
  const held = await run(
    db.pool,
    'hold-paused',
    `WITH unheld AS MATERIALIZED (
       SELECT b.task_id, b.id FROM task t JOIN batch b ON b.task_id = t.id
       WHERE t.paused AND t.state IN ('planning', 'sending') AND b.state IN ('ready', 'paced', 'released')
       LIMIT 5000 FOR UPDATE OF b SKIP LOCKED
     )
     UPDATE batch b SET state = 'held' FROM unheld u WHERE b.task_id = u.task_id AND b.id = u.id RETURNING b.id`,
    [],
  )
  const freed = await run(
    db.pool,
    'free-resumed',
    `WITH resumed AS MATERIALIZED (
       SELECT b.task_id, b.id, t.speed FROM batch b JOIN task t ON t.id = b.task_id
       WHERE b.state = 'held' AND NOT t.paused LIMIT 5000 FOR UPDATE OF b SKIP LOCKED
     )
     UPDATE batch b SET state = CASE WHEN r.speed IS NOT NULL THEN 'paced' ELSE 'ready' END
     FROM resumed r WHERE b.task_id = r.task_id AND b.id = r.id RETURNING b.id`,
    [],
  )
  return held.length + freed.length
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
  const rows = await run<[Channel, EndedBatches['fate'], number, number]>(db.pool, name, sql, values)
  return rows.map(([channel, fate, batches, recipients]) => ({ channel, fate, batches, recipients }))
}

const MAX_ENDED = 200

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
  WHERE b.state IN ('ready', 'paced', 'held') AND b.deadline <= now() LIMIT ${MAX_ENDED} FOR UPDATE SKIP LOCKED
), released AS MATERIALIZED (
  SELECT b.task_id, b.id, b.status, ${expiry} FROM batch b
  WHERE b.state = 'released' AND b.deadline <= now() LIMIT ${MAX_ENDED} FOR UPDATE SKIP LOCKED
), cancelled AS MATERIALIZED (
  SELECT b.task_id, b.id, b.status, 'cancelled' AS fate, ${reasonLiteral(ownReasons.task_cancelled)} AS reason
  FROM task t JOIN batch b ON b.task_id = t.id
  WHERE t.cancelling AND t.state IN ('accepted', 'planning', 'sending') AND b.state IN ('ready', 'paced', 'held', 'released')
    AND b.deadline > now() LIMIT ${MAX_ENDED} FOR UPDATE OF b SKIP LOCKED
), due AS (
  SELECT * FROM waiting UNION ALL SELECT * FROM released UNION ALL SELECT * FROM cancelled
)`)

const failLostSql = endSql(`
due AS MATERIALIZED (
  SELECT b.task_id, b.id, b.status, 'failed' AS fate, ${reasonLiteral(ownReasons.attempts_lost)} AS reason FROM batch b
  WHERE b.state = 'sending' AND b.lease_until < $1::timestamptz AND b.lost >= ${MAX_LOST - 1}
  ORDER BY b.lease_until LIMIT ${MAX_ENDED} FOR UPDATE SKIP LOCKED
)`)

/** Settles the batches of the step `due`, which has their keys, status, fate and reason. */
function endSql(due: string): string {
  return `
WITH ${due}, ended AS (
  UPDATE batch b SET state = 'settled', version = b.version + 1, lease_until = NULL, worker = NULL,
    status = replace(due.status, '.', CASE due.fate WHEN 'expired' THEN 'x' WHEN 'cancelled' THEN 'c' ELSE 'f' END)
  FROM due WHERE b.task_id = due.task_id AND b.id = due.id
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
), counted AS (
  ${addCountersSql(
    ['failed', 'expired', 'cancelled'],
    `SELECT task_id, channel, CASE fate WHEN 'failed' THEN pending ELSE 0 END AS failed,
      CASE fate WHEN 'expired' THEN pending ELSE 0 END AS expired,
      CASE fate WHEN 'cancelled' THEN pending ELSE 0 END AS cancelled FROM ended`,
    after('failures'),
  )}
)
SELECT channel, fate, count(*)::int, sum(pending)::int FROM ended GROUP BY 1, 2`
}

const MAX_CHECKED = 1000

/**
 * Finishes tasks that have nothing left to plan, send or wait for. A task may wait for days for its devices to connect, so it is
 * checked less and less often. The tasks are locked by one statement and checked by the next, which also sees what a planner
 * committed before the lock. Returns the number of finished tasks, not of checked ones: young tasks are due again so soon that the
 * caller's loop would never end.
 */
export async function finishTasks(db: Database): Promise<number> {
  return inTransaction(db, async (runner) => {
    const due = await run<[number]>(
      runner,
      'due-tasks',
      `SELECT id FROM task WHERE state IN ('planning', 'sending') AND check_at <= now()
       ORDER BY check_at LIMIT ${MAX_CHECKED} FOR UPDATE SKIP LOCKED`,
      [],
    )
    if (due.length === 0) return 0
    const rows = await run<[number]>(
      runner,
      'finish-tasks',
      `WITH due AS MATERIALIZED (
         SELECT id, cancelling, sent, sent AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.task_id = task.id
           AND (i.sent_at IS NULL OR i.fallback_at IS NOT NULL)) AS ended
         FROM task CROSS JOIN LATERAL (SELECT (state = 'sending' OR cancelling)
           AND NOT EXISTS (SELECT 1 FROM batch b WHERE b.task_id = task.id AND b.state <> 'settled') AS sent) s
         WHERE id = ANY($1::bigint[])
       ), later AS (
         UPDATE task SET check_at = LEAST(now() + (now() - begin_at) / 8 + interval '50 milliseconds',
           now() + CASE WHEN due.sent AND NOT due.cancelling THEN interval '10 minutes' ELSE interval '10 seconds' END,
           GREATEST(deadline, now()) + interval '10 seconds')
         FROM due WHERE task.id = due.id AND NOT due.ended
       )
       UPDATE task SET state = CASE WHEN due.cancelling THEN 'cancelled' ELSE 'finished' END, finished_at = now()
       FROM due WHERE task.id = due.id AND due.ended RETURNING task.id`,
      [due.map(([id]) => id)],
    )
    return rows.length
  })
}

/** Ends tasks that were cancelled before they were planned. */
export async function cancelAccepted(db: Database): Promise<number> {
  const rows = await run(
    db.pool,
    'cancel-accepted',
    `UPDATE task SET state = 'cancelled', finished_at = now()
     WHERE id IN (SELECT id FROM task WHERE state = 'accepted' AND cancelling FOR UPDATE SKIP LOCKED) RETURNING id`,
    [],
  )
  return rows.length
}
