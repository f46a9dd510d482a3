import { type ReleasedBatch, type ReleasedRow, releasedBatch, releasedColumns } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/** A certificate, or a gateway node of the native channel, with batches that could go out now. */
export type Outlet = { certificateId: number } | { node: string }

/**
 * Outlets with batches that are due, found by hopping through the index instead of reading every ready row: while a vendor is
 * down, thousands of certificates have batches that wait for their time. A closed certificate is one while it has batches that
 * were not offered since it was closed: who in them has another channel is to get it. A removed one is too: its recipients
 * find out.
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
     SELECT hop.id FROM hop CROSS JOIN LATERAL (
       SELECT 1 FROM (VALUES ('high'), ('normal')) AS l (lane) CROSS JOIN LATERAL (
         SELECT 1 FROM batch WHERE state = 'ready' AND certificate_id = hop.id AND node IS NULL AND lane = l.lane
           AND not_before <= now() ORDER BY not_before LIMIT 1
       ) b LIMIT 1
     ) due LEFT JOIN certificate c ON c.id = hop.id
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
     RETURNING ${releasedColumns}`
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
     RETURNING ${releasedColumns}`,
    [taskId],
  )
  return rows.map(releasedBatch)
}
