import type { Lane } from '@herald/domain'
import { type ReleasedBatch, releasedBatch } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/** Batches are released per certificate, or per gateway node for the native channel. */
export type Destination = { certificateId: number } | { node: string }

/**
 * Returns the destinations with due batches. The recursive query jumps in the index from one certificate to the next instead of
 * reading every ready batch: while a vendor is down, thousands of certificates have batches that wait to be retried.
 * A closed certificate is included while it has batches that were not released since it was closed: their recipients must get the
 * chance to move to another channel. So is a certificate that was removed.
 */
export async function readyDestinations(db: Database): Promise<Destination[]> {
  const rows = await run<[number]>(
    db.pool,
    'ready-certificates',
    `WITH RECURSIVE next_certificate AS (
       (SELECT certificate_id AS id FROM batch WHERE state = 'ready' AND certificate_id IS NOT NULL ORDER BY certificate_id LIMIT 1)
       UNION ALL
       SELECT (SELECT certificate_id FROM batch WHERE state = 'ready' AND certificate_id > n.id
               ORDER BY certificate_id LIMIT 1) FROM next_certificate n WHERE n.id IS NOT NULL
     )
     SELECT n.id FROM next_certificate n CROSS JOIN LATERAL (
       SELECT 1 FROM (VALUES ('high'), ('normal')) AS l (lane) CROSS JOIN LATERAL (
         SELECT 1 FROM batch WHERE state = 'ready' AND certificate_id = n.id AND node IS NULL AND lane = l.lane
           AND not_before <= now() ORDER BY not_before LIMIT 1
       ) b LIMIT 1
     ) due LEFT JOIN certificate c ON c.id = n.id
     WHERE c.state IS DISTINCT FROM 'closed' OR EXISTS (
       SELECT 1 FROM batch b WHERE b.state = 'ready' AND b.certificate_id = c.id
         AND (b.released_at IS NULL OR b.released_at < c.last_error_at))`,
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
    ...rows.map(([certificateId]): Destination => ({ certificateId })),
    ...nodes.map(([node]): Destination => ({ node })),
  ]
}

/**
 * Releases due batches of one destination, four of the high lane for one of the normal lane, until `window` recipients are in
 * flight there. Rows that another feeder is releasing are skipped.
 */
export async function releaseReady(db: Database, to: Destination, window: number): Promise<ReleasedBatch[]> {
  const isVendor = 'certificateId' in to
  const rows = await run(
    db.pool,
    isVendor ? 'release-certificate' : 'release-node',
    isVendor ? releaseOfCertificate : releaseOfNode,
    [isVendor ? to.certificateId : to.node, window],
  )
  return rows.map(releasedBatch.read)
}

const releaseOfCertificate = releaseSql(
  'certificate_id = $1 AND node IS NULL',
  `AND NOT EXISTS (SELECT 1 FROM certificate c WHERE c.id = $1 AND c.state = 'closed' AND released_at >= c.last_error_at)`,
)
const releaseOfNode = releaseSql('certificate_id IS NULL AND node = $1', '')

// free: recipients that may still be released: the window less those of the released and sending batches.
// high, normal: the first due batches of each lane, locked. `unless` leaves out batches of a closed certificate that were already
//   released since it was closed.
// ordered: merges the lanes: the nth high batch has turn n, the nth normal batch has turn 4n.
// picked: batches in that order while recipients are free; the last one may exceed the window.
// Conditions are equalities on one state at a time. `IS NOT DISTINCT FROM` or a list of states would not use the index and read
// every open batch for each certificate.
function releaseSql(destination: string, unless: string): string {
  const inFlight = (state: string) =>
    `(SELECT coalesce(sum(size), 0) FROM batch WHERE ${destination} AND state = '${state}')`
  const first = (lane: Lane) =>
    `SELECT task_id, id, size, not_before FROM batch
       WHERE state = 'ready' AND ${destination} AND lane = '${lane}'
         AND not_before <= now() AND (SELECT recipients FROM free) > 0 ${unless}
       ORDER BY not_before, task_id, id LIMIT 400 FOR UPDATE SKIP LOCKED`
  return `WITH free AS MATERIALIZED (
       SELECT $2::bigint - ${inFlight('released')} - ${inFlight('sending')} AS recipients
     ), high AS MATERIALIZED (${first('high')}), normal AS MATERIALIZED (${first('normal')}), ordered AS (
       SELECT task_id, id, size, row_number() OVER (ORDER BY not_before, task_id, id) * 1.0 AS turn FROM high
       UNION ALL
       SELECT task_id, id, size, row_number() OVER (ORDER BY not_before, task_id, id) * 4.0 AS turn FROM normal
     ), picked AS (
       SELECT task_id, id FROM (
         SELECT task_id, id, sum(size) OVER (ORDER BY turn, task_id, id) - size AS before FROM ordered
       ) s WHERE s.before < (SELECT recipients FROM free)
     )
     UPDATE batch b SET state = 'released', released_at = now() FROM picked
     WHERE b.task_id = picked.task_id AND b.id = picked.id
     RETURNING ${releasedBatch.sql}`
}

/** Returns the tasks with a speed limit that have a due batch. */
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
 * Releases batches of a task with a speed limit, as far as its token bucket allows. The bucket has room for one second and is
 * stored in the task's row, so that it survives restarts and is shared by all feeders. It does not fill while the task is paused.
 */
export async function releasePaced(db: Database, taskId: number): Promise<ReleasedBatch[]> {
  const rows = await run(
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
     RETURNING ${releasedBatch.sql}`,
    [taskId],
  )
  return rows.map(releasedBatch.read)
}
