import type { Channel } from '@herald/domain'
import { type ReleasedBatch, type ReleasedRow, releasedBatch, releasedColumns } from '../ledger/batch-rows.ts'
import { addUpFailuresSql } from '../ledger/failure-rows.ts'
import type { Database } from '../store/database.ts'
import { inTransaction, run } from '../store/statement.ts'

/**
 * Released batches that nobody claimed for `seconds`: their job was lost with the queue or with the process that was to
 * add it. They are named again; should the old job still exist, its claim finds nothing.
 */
export async function unclaimed(
  db: Database,
  channel: Channel,
  seconds: number,
  most: number,
): Promise<ReleasedBatch[]> {
  const rows = await run<ReleasedRow>(
    db.pool,
    'unclaimed',
    `WITH lost AS MATERIALIZED (
       SELECT task_id, id FROM batch WHERE state = 'released' AND channel = $1
         AND released_at < now() - make_interval(secs => $2) ORDER BY released_at LIMIT $3 FOR UPDATE SKIP LOCKED
     )
     UPDATE batch b SET released_at = now() FROM lost WHERE b.task_id = lost.task_id AND b.id = lost.id
     RETURNING ${releasedColumns}`,
    [channel, seconds, most],
  )
  return rows.map(releasedBatch)
}

/** Channels that have released batches older than `seconds`. */
export async function channelsWithUnclaimed(db: Database, seconds: number): Promise<Channel[]> {
  const rows = await run<[Channel]>(
    db.pool,
    'unclaimed-channels',
    `SELECT DISTINCT channel FROM batch WHERE state = 'released' AND released_at < now() - make_interval(secs => $1)`,
    [seconds],
  )
  return rows.map(([channel]) => channel)
}

/** Batches whose worker let the lease run out go back to where they came from; the version locks the old worker out. */
export async function freeDeadLeases(db: Database): Promise<number> {
  const rows = await run(
    db.pool,
    'free-leases',
    `WITH dead AS MATERIALIZED (
       SELECT b.task_id, b.id FROM batch b WHERE b.state = 'sending' AND b.lease_until < now()
       ORDER BY b.lease_until LIMIT 1000 FOR UPDATE SKIP LOCKED
     )
     UPDATE batch b SET version = b.version + 1, lease_until = NULL, worker = NULL, not_before = now(),
       state = CASE WHEN t.paused THEN 'held' WHEN t.speed IS NOT NULL THEN 'paced' ELSE 'ready' END
     FROM dead JOIN task t ON t.id = dead.task_id WHERE b.task_id = dead.task_id AND b.id = dead.id RETURNING b.id`,
    [],
  )
  return rows.length
}

/** Stragglers of paused tasks (planned or put back meanwhile) are held; batches of resumed ones go on. */
export async function alignPaused(db: Database): Promise<number> {
  const held = await run(
    db.pool,
    'hold-paused',
    `WITH loose AS MATERIALIZED (
       SELECT b.task_id, b.id FROM task t JOIN batch b ON b.task_id = t.id
       WHERE t.paused AND t.state IN ('planning', 'sending') AND b.state IN ('ready', 'paced', 'released')
       LIMIT 5000 FOR UPDATE OF b SKIP LOCKED
     )
     UPDATE batch b SET state = 'held' FROM loose WHERE b.task_id = loose.task_id AND b.id = loose.id RETURNING b.id`,
    [],
  )
  const freed = await run(
    db.pool,
    'free-resumed',
    `WITH stuck AS MATERIALIZED (
       SELECT b.task_id, b.id, t.speed FROM batch b JOIN task t ON t.id = b.task_id
       WHERE b.state = 'held' AND NOT t.paused LIMIT 5000 FOR UPDATE OF b SKIP LOCKED
     )
     UPDATE batch b SET state = CASE WHEN stuck.speed IS NOT NULL THEN 'paced' ELSE 'ready' END
     FROM stuck WHERE b.task_id = stuck.task_id AND b.id = stuck.id RETURNING b.id`,
    [],
  )
  return held.length + freed.length
}

/** Batches that were closed together. */
export type Closed = { channel: Channel; fate: 'expired' | 'cancelled'; batches: number; recipients: number }

/** Closes a few hundred batches nobody is sending whose message has expired or whose task is being cancelled. */
export async function closeDone(db: Database): Promise<Closed[]> {
  const rows = await run<[Channel, Closed['fate'], number, number]>(db.pool, 'close-done', closeSql, [])
  return rows.map(([channel, fate, batches, recipients]) => ({ channel, fate, batches, recipients }))
}

const MOST_CLOSED = 200

const expiry = `'expired' AS fate, 'its time ran out while ' || CASE
    WHEN b.state = 'held' THEN 'its task was paused'
    WHEN b.trouble_since IS NOT NULL THEN 'the vendor was in trouble'
    WHEN EXISTS (SELECT 1 FROM certificate c WHERE c.id = b.certificate_id AND c.state = 'closed') THEN 'its channel was closed'
    WHEN b.state = 'paced' THEN 'the speed of its task held it back'
    ELSE 'it waited to be sent' END AS reason`

// The status is read from the locked row: the snapshot's may be older than what a worker settled a moment ago.
const closeSql = `
WITH waiting AS MATERIALIZED (
  SELECT b.task_id, b.id, b.status, ${expiry} FROM batch b
  WHERE b.state IN ('ready', 'paced', 'held') AND b.deadline <= now() LIMIT ${MOST_CLOSED} FOR UPDATE SKIP LOCKED
), released AS MATERIALIZED (
  SELECT b.task_id, b.id, b.status, ${expiry} FROM batch b
  WHERE b.state = 'released' AND b.deadline <= now() LIMIT ${MOST_CLOSED} FOR UPDATE SKIP LOCKED
), cancelled AS MATERIALIZED (
  SELECT b.task_id, b.id, b.status, 'cancelled' AS fate, 'its task was cancelled' AS reason
  FROM task t JOIN batch b ON b.task_id = t.id
  WHERE t.cancelling AND t.state IN ('accepted', 'planning', 'sending') AND b.state IN ('ready', 'paced', 'held', 'released')
    AND b.deadline > now() LIMIT ${MOST_CLOSED} FOR UPDATE OF b SKIP LOCKED
), due AS (
  SELECT * FROM waiting UNION ALL SELECT * FROM released UNION ALL SELECT * FROM cancelled
), closed AS (
  UPDATE batch b SET state = 'settled', version = b.version + 1,
    status = replace(due.status, '.', CASE due.fate WHEN 'expired' THEN 'x' ELSE 'c' END)
  FROM due WHERE b.task_id = due.task_id AND b.id = due.id
  RETURNING b.task_id, b.id, b.channel, b.recipients, due.status, due.fate, due.reason,
    length(due.status) - length(replace(due.status, '.', '')) AS open
), why AS (
  INSERT INTO failure AS f (task_id, channel, fate, reason, count, samples)
  SELECT g.task_id, g.channel, g.fate, g.reason, g.open, ARRAY(
    SELECT r.device FROM unnest(c.recipients) WITH ORDINALITY AS r (device, n)
    WHERE substr(c.status, r.n::int, 1) = '.' LIMIT 10)
  FROM (
    SELECT task_id, channel, fate, reason, sum(open) AS open, min(id) AS id FROM closed WHERE open > 0 GROUP BY 1, 2, 3, 4
  ) g JOIN closed c ON c.task_id = g.task_id AND c.id = g.id ORDER BY 1, 2, 3, 4
  ${addUpFailuresSql}
  RETURNING 1
), counted AS (
  INSERT INTO counter AS c (task_id, channel, expired, cancelled)
  SELECT task_id, channel, coalesce(sum(open) FILTER (WHERE fate = 'expired'), 0),
    coalesce(sum(open) FILTER (WHERE fate = 'cancelled'), 0)
  FROM closed WHERE (SELECT count(*) FROM why) >= 0 GROUP BY task_id, channel ORDER BY task_id, channel
  ON CONFLICT (task_id, channel) DO UPDATE SET expired = c.expired + excluded.expired,
    cancelled = c.cancelled + excluded.cancelled
)
SELECT channel, fate, count(*)::int, sum(open)::int FROM closed GROUP BY 1, 2`

const MOST_LOOKED_AT = 1000

/**
 * Tasks with nothing left to plan, send or wait for are finished. One that waits for devices to connect may do so for days,
 * and is looked at less and less often. Locked first and judged by a later statement: what a planner committed between the
 * look and the lock would be overlooked. Answers how many were finished: a thousand open ones that are young are due again
 * before all have been looked at, and would keep the round going for ever.
 */
export async function finishTasks(db: Database): Promise<number> {
  return inTransaction(db, async (runner) => {
    const due = await run<[number]>(
      runner,
      'due-tasks',
      `SELECT id FROM task WHERE state IN ('planning', 'sending') AND check_at <= now()
       ORDER BY check_at LIMIT ${MOST_LOOKED_AT} FOR UPDATE SKIP LOCKED`,
      [],
    )
    if (due.length === 0) return 0
    const rows = await run<[number]>(
      runner,
      'finish-tasks',
      `WITH due AS MATERIALIZED (
         SELECT id, cancelling, sent, sent AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.task_id = task.id
           AND (i.sent_at IS NULL OR i.fallback_at IS NOT NULL)) AS over
         FROM task CROSS JOIN LATERAL (SELECT (state = 'sending' OR cancelling)
           AND NOT EXISTS (SELECT 1 FROM batch b WHERE b.task_id = task.id AND b.state <> 'settled') AS sent) s
         WHERE id = ANY($1::bigint[])
       ), later AS (
         UPDATE task SET check_at = LEAST(now() + (now() - begin_at) / 8 + interval '50 milliseconds',
           now() + CASE WHEN due.sent AND NOT due.cancelling THEN interval '10 minutes' ELSE interval '10 seconds' END,
           GREATEST(deadline, now()) + interval '10 seconds')
         FROM due WHERE task.id = due.id AND NOT due.over
       )
       UPDATE task SET state = CASE WHEN due.cancelling THEN 'cancelled' ELSE 'finished' END, finished_at = now()
       FROM due WHERE task.id = due.id AND due.over RETURNING task.id`,
      [due.map(([id]) => id)],
    )
    return rows.length
  })
}

/** Tasks cancelled before they were planned. */
export async function closeCancelledAccepted(db: Database): Promise<number> {
  const rows = await run(
    db.pool,
    'cancel-accepted',
    `UPDATE task SET state = 'cancelled', finished_at = now()
     WHERE id IN (SELECT id FROM task WHERE state = 'accepted' AND cancelling FOR UPDATE SKIP LOCKED) RETURNING id`,
    [],
  )
  return rows.length
}
