import type { Channel } from '@herald/domain'
import type { Database } from './database.ts'
import { type ReleasedBatch, type ReleasedRow, releasedBatch, releasedColumns } from './plan-rows.ts'
import { inTransaction, run } from './statement.ts'

/** A certificate, or a gateway node of the native channel, with batches that could go out now. */
export type Outlet = { certificateId: number } | { node: string }

/**
 * Outlets with batches to release, found by hopping through the index instead of reading every ready row. A closed certificate
 * is one while it has batches that were not offered since it was closed: who in them has another channel is to get it. A
 * removed one is too: its recipients find out.
 */
export async function readyOutlets(db: Database): Promise<Outlet[]> {
  const rows = await run<[number]>(
    db.pool,
    'ready-certificates',
    `WITH RECURSIVE hop AS (
       (SELECT certificate_id AS id FROM batch WHERE state = 'ready' AND certificate_id IS NOT NULL ORDER BY certificate_id LIMIT 1)
       UNION ALL
       SELECT (SELECT certificate_id FROM batch WHERE state = 'ready' AND certificate_id > hop.id
               ORDER BY certificate_id LIMIT 1) FROM hop WHERE hop.id IS NOT NULL
     )
     SELECT hop.id FROM hop LEFT JOIN certificate c ON c.id = hop.id
     WHERE hop.id IS NOT NULL AND (c.state IS DISTINCT FROM 'closed' OR EXISTS (
       SELECT 1 FROM batch b WHERE b.state = 'ready' AND b.certificate_id = c.id
         AND (b.released_at IS NULL OR b.released_at < c.last_error_at)))`,
    [],
  )
  const nodes = await run<[string]>(
    db.pool,
    'ready-nodes',
    `SELECT n.id FROM gateway_node n WHERE n.lease_until > now()
       AND EXISTS (SELECT 1 FROM batch b WHERE b.state = 'ready' AND b.certificate_id IS NULL AND b.node = n.id)`,
    [],
  )
  return [
    ...rows.map(([certificateId]): Outlet => ({ certificateId })),
    ...nodes.map(([node]): Outlet => ({ node })),
  ]
}

/**
 * Releases due batches of one outlet, high : normal 4 : 1, while fewer than `window` recipients are in flight there. Rows
 * that another feeder is releasing are skipped.
 */
export async function releaseReady(db: Database, outlet: Outlet, window: number): Promise<ReleasedBatch[]> {
  const vendor = 'certificateId' in outlet
  const rows = await run<ReleasedRow>(
    db.pool,
    vendor ? 'release-certificate' : 'release-node',
    vendor ? releaseOfCertificate : releaseOfNode,
    [vendor ? outlet.certificateId : outlet.node, window],
  )
  return rows.map(releasedBatch)
}

const releaseOfCertificate = releaseSql(
  'certificate_id = $1 AND node IS NULL',
  `AND NOT EXISTS (SELECT 1 FROM certificate c WHERE c.id = $1 AND c.state = 'closed' AND released_at >= c.last_error_at)`,
)
const releaseOfNode = releaseSql('certificate_id IS NULL AND node = $1', '')

// Equalities and one state at a time: `IS NOT DISTINCT FROM` and a list of states use no index, and would read every open
// batch of everybody for each certificate.
function releaseSql(outlet: string, unless: string): string {
  const inFlight = (state: string) =>
    `(SELECT coalesce(sum(size), 0) FROM batch WHERE ${outlet} AND state = '${state}')`
  return `WITH room AS MATERIALIZED (
       SELECT $2::bigint - ${inFlight('released')} - ${inFlight('sending')} AS recipients
     ), high AS MATERIALIZED (
       SELECT task_id, id, size, not_before FROM batch
       WHERE state = 'ready' AND ${outlet} AND lane = 'high'
         AND not_before <= now() AND (SELECT recipients FROM room) > 0 ${unless}
       ORDER BY not_before, task_id, id LIMIT 400 FOR UPDATE SKIP LOCKED
     ), normal AS MATERIALIZED (
       SELECT task_id, id, size, not_before FROM batch
       WHERE state = 'ready' AND ${outlet} AND lane = 'normal'
         AND not_before <= now() AND (SELECT recipients FROM room) > 0 ${unless}
       ORDER BY not_before, task_id, id LIMIT 400 FOR UPDATE SKIP LOCKED
     ), shared AS (
       SELECT task_id, id, size, row_number() OVER (ORDER BY not_before, task_id, id) * 1.0 AS turn FROM high
       UNION ALL
       SELECT task_id, id, size, row_number() OVER (ORDER BY not_before, task_id, id) * 4.0 AS turn FROM normal
     ), picked AS (
       SELECT task_id, id FROM (
         SELECT task_id, id, sum(size) OVER (ORDER BY turn, task_id, id) - size AS before FROM shared
       ) s WHERE s.before < (SELECT recipients FROM room)
     )
     UPDATE batch b SET state = 'released', released_at = now() FROM picked
     WHERE b.task_id = picked.task_id AND b.id = picked.id
     RETURNING ${releasedColumns.replaceAll(/(\w+)/g, 'b.$1')}`
}

/** Tasks with a speed that have a batch to send now; one that only waits for receipts or inboxes costs nothing. */
export async function pacedTasks(db: Database): Promise<number[]> {
  const rows = await run<[number]>(
    db.pool,
    'paced-tasks',
    `SELECT id FROM task t WHERE speed IS NOT NULL AND state IN ('planning', 'sending') AND NOT paused AND NOT cancelling
       AND EXISTS (SELECT 1 FROM batch b WHERE b.task_id = t.id AND b.state = 'paced' AND b.not_before <= now())`,
    [],
  )
  return rows.map(([id]) => id)
}

/**
 * Releases batches of a task with a speed out of its bucket, which holds one second's worth and is in the row, so that it
 * survives a restart and several feeders share it. Time spent paused fills nothing (resume restarts the clock).
 */
export async function releasePaced(db: Database, taskId: number): Promise<ReleasedBatch[]> {
  const rows = await run<ReleasedRow>(
    db.pool,
    'release-paced',
    `WITH bucket AS MATERIALIZED (
       SELECT id, speed, LEAST(speed, speed_tokens + speed * GREATEST(0, extract(epoch FROM now() - speed_at))) AS tokens
       FROM task WHERE id = $1 AND NOT paused AND NOT cancelling FOR NO KEY UPDATE SKIP LOCKED
     ), queue AS MATERIALIZED (
       SELECT b.id, b.size FROM batch b WHERE b.task_id = $1 AND b.state = 'paced' AND b.not_before <= now()
         AND EXISTS (SELECT 1 FROM bucket WHERE tokens > 0)
         AND NOT EXISTS (SELECT 1 FROM certificate c WHERE c.id = b.certificate_id AND c.state = 'closed'
           AND b.released_at >= c.last_error_at)
       ORDER BY b.not_before, b.id LIMIT 100 FOR UPDATE OF b SKIP LOCKED
     ), picked AS MATERIALIZED (
       SELECT q.id, q.size FROM (SELECT id, size, sum(size) OVER (ORDER BY id) AS upto FROM queue) q, bucket
       WHERE q.upto <= bucket.tokens
     ), paid AS (
       UPDATE task SET speed_tokens = bucket.tokens - (SELECT coalesce(sum(size), 0) FROM picked), speed_at = now()
       FROM bucket WHERE task.id = bucket.id
     )
     UPDATE batch b SET state = 'released', released_at = now() FROM picked WHERE b.task_id = $1 AND b.id = picked.id
     RETURNING ${releasedColumns.replaceAll(/(\w+)/g, 'b.$1')}`,
    [taskId],
  )
  return rows.map(releasedBatch)
}

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
     RETURNING ${releasedColumns.replaceAll(/(\w+)/g, 'b.$1')}`,
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

/** Closes up to `most` batches nobody is sending whose message has expired or whose task is being cancelled. */
export async function closeDone(db: Database, most = 200): Promise<number> {
  const rows = await run<[number]>(db.pool, 'close-done', closeSql, [most])
  return rows[0]![0]
}

// The status is read from the locked row: the snapshot's may be older than what a worker settled a moment ago.
const closeSql = `
WITH waiting AS MATERIALIZED (
  SELECT b.task_id, b.id, b.status, 'x' AS letter FROM batch b
  WHERE b.state IN ('ready', 'paced', 'held') AND b.deadline <= now() LIMIT $1 FOR UPDATE SKIP LOCKED
), released AS MATERIALIZED (
  SELECT b.task_id, b.id, b.status, 'x' AS letter FROM batch b
  WHERE b.state = 'released' AND b.deadline <= now() LIMIT $1 FOR UPDATE SKIP LOCKED
), cancelled AS MATERIALIZED (
  SELECT b.task_id, b.id, b.status, 'c' AS letter FROM task t JOIN batch b ON b.task_id = t.id
  WHERE t.cancelling AND t.state IN ('accepted', 'planning', 'sending') AND b.state IN ('ready', 'paced', 'held', 'released')
    AND b.deadline > now() LIMIT $1 FOR UPDATE OF b SKIP LOCKED
), due AS (
  SELECT * FROM waiting UNION ALL SELECT * FROM released UNION ALL SELECT * FROM cancelled
), closed AS (
  UPDATE batch b SET state = 'settled', version = b.version + 1, status = replace(due.status, '.', due.letter)
  FROM due WHERE b.task_id = due.task_id AND b.id = due.id
  RETURNING b.task_id, b.channel, due.letter, length(due.status) - length(replace(due.status, '.', '')) AS open
), counted AS (
  INSERT INTO counter AS c (task_id, channel, expired, cancelled)
  SELECT task_id, channel, coalesce(sum(open) FILTER (WHERE letter = 'x'), 0), coalesce(sum(open) FILTER (WHERE letter = 'c'), 0)
  FROM closed GROUP BY task_id, channel ORDER BY task_id, channel
  ON CONFLICT (task_id, channel) DO UPDATE SET expired = c.expired + excluded.expired,
    cancelled = c.cancelled + excluded.cancelled
)
SELECT count(*)::int FROM closed`

/**
 * Tasks with nothing left to plan, send or wait for are finished; a long-lived one is looked at less and less often. Locked
 * first and judged by a later statement: what a planner committed between the look and the lock would be overlooked.
 */
export async function finishTasks(db: Database): Promise<number> {
  return inTransaction(db, async (runner) => {
    const due = await run<[number]>(
      runner,
      'due-tasks',
      `SELECT id FROM task WHERE state IN ('planning', 'sending') AND check_at <= now()
       ORDER BY check_at LIMIT 1000 FOR UPDATE SKIP LOCKED`,
      [],
    )
    if (due.length === 0) return 0
    const rows = await run<[number]>(
      runner,
      'finish-tasks',
      `WITH due AS MATERIALIZED (
         SELECT id, cancelling,
           (state = 'sending' OR cancelling)
           AND NOT EXISTS (SELECT 1 FROM batch b WHERE b.task_id = task.id AND b.state <> 'settled')
           AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.task_id = task.id
             AND (i.sent_at IS NULL OR i.fallback_at IS NOT NULL)) AS over
         FROM task WHERE id = ANY($1::bigint[])
       ), later AS (
         UPDATE task SET check_at = now() + LEAST(interval '10 seconds', (now() - task.created_at) / 8 + interval '50 milliseconds')
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
