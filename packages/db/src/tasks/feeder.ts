import type { Lane } from '@herald/domain'
import { type ReleasedBatch, readyOrder, releasedBatch } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin, searchWithin } from '../store/days.ts'
import { batchDays, openDays } from '../store/open-days.ts'
import { hasReadySql, patience } from './due-batches.ts'

/** Batches are released per certificate, or per gateway node for the native channel. */
export type Destination = { certificateId: number } | { node: string }

/** How much may be in flight at one destination. */
export type Window = { recipients: number; batches: number }

/** Certificates, or tasks with a speed limit, that one statement looks at. */
const MAX_LOOKS = 500

/** What a look found, and after which id the next one continues; undefined at the end. */
export type Found<Item> = { found: Item[]; next: number | undefined }

/** The items of the rows that have one. Each row is a look. */
export function foundIn<Item>(rows: readonly [id: number, item: Item | null][]): Found<Item> {
  return {
    found: rows.flatMap(([, item]) => item ?? []),
    next: rows.length < MAX_LOOKS ? undefined : Math.max(...rows.map(([id]) => id)),
  }
}

/**
 * The step next_certificate of a recursive query: jumps in an index from one certificate to the next instead of reading every batch: while a
 * vendor is down, thousands of certificates have batches that wait to be retried. Begins after $1 and ends after MAX_LOOKS certificates.
 * `first` selects the first batch of a certificate after an id.
 */
export const certificatesWith = (first: (afterId: string) => string) => `next_certificate AS (
       SELECT b.*, 1 AS place FROM (${first('$1')}) b
       UNION ALL
       SELECT b.*, n.place + 1 FROM next_certificate n CROSS JOIN LATERAL (${first('n.id')}) b WHERE n.place < ${MAX_LOOKS}
     )`

/**
 * Certificates with ready batches. Each row has the lane and the time of the first batch of its certificate in the index: no batch of the
 * lane `high` is due earlier, and if it is of the lane `normal` there is none of the lane `high`.
 */
export const certificatesWithReady = certificatesWith(firstAfter)

function firstAfter(id: string): string {
  return `SELECT certificate_id AS id, lane, not_before FROM batch
        WHERE ${inDays('task_id')} AND state = 'ready' AND certificate_id > ${id} AND node IS NULL ORDER BY ${readyOrder} LIMIT 1`
}

/** Tasks with a speed limit after $1, of which `condition` (on `t`) selects some. */
export const pacedTasksWith = (condition: string) => `
     SELECT t.id, CASE WHEN ${condition} THEN t.id END FROM (
       SELECT id, paused, cancelling FROM task WHERE ${inDays('id')} AND speed IS NOT NULL AND state IN ('planning', 'sending') AND id > $1
       ORDER BY id LIMIT ${MAX_LOOKS}
     ) t`

/**
 * Looks at certificates after the one with the id `after`, and returns those with due batches. The state of a certificate does not
 * matter: the batches of one that is closed or was removed are released too, so that their recipients can move to another channel; those
 * without one become due at infinity and cost nothing here. While a breaker is open its certificate is included for a probe, and after
 * the patience also between probes. A certificate that was closed while its breaker was being opened has both: workers do not probe it,
 * so its waiting batches would be released and put back without end.
 */
export async function readyCertificates(db: Database, after: number): Promise<Found<number>> {
  // Of most certificates that wait, the row of the walk tells all.
  const isDue = `(n.not_before <= now() OR n.lane = 'high' AND ${hasReadySql('n.id', '<= now()', "(VALUES ('normal')) AS l (lane)")})`
  const rows = await searchWithin<[number, number | null]>(
    db,
    await batchDays(db),
    'ready-certificates',
    `WITH RECURSIVE ${certificatesWithReady}
     SELECT n.id, CASE
       WHEN (r.certificate_id IS NULL OR r.retry_at <= now() OR r.opened_at <= now() - ${patience}) AND ${isDue} THEN n.id
       WHEN coalesce(r.retry_at <= now(), false) AND EXISTS (SELECT 1 FROM certificate c WHERE c.id = n.id AND c.state <> 'closed')
         AND ${hasReadySql('n.id', "= 'infinity'")} THEN n.id END
     FROM next_certificate n LEFT JOIN breaker r ON r.certificate_id = n.id`,
    [after],
  )
  return foundIn(rows)
}

/** Returns the gateways with ready batches. */
export async function readyNodes(db: Database): Promise<string[]> {
  const rows = await searchWithin<[string]>(
    db,
    await batchDays(db),
    'ready-nodes',
    `SELECT n.id FROM gateway_node n WHERE n.lease_until > now()
       AND EXISTS (SELECT 1 FROM batch b WHERE ${inDays('b.task_id')} AND b.state = 'ready' AND b.certificate_id IS NULL AND b.node = n.id)`,
    [],
  )
  return rows.map(([node]) => node)
}

/**
 * Releases due batches of one destination, four of the high lane for one of the normal lane, until `window` is in flight there.
 * Rows that another feeder is releasing are skipped.
 */
export async function releaseReady(db: Database, to: Destination, window: Window): Promise<ReleasedBatch[]> {
  if ('certificateId' in to) return releaseCertificates(db, [to.certificateId], window)
  return release(db, 'release-node', releaseOfNode, to.node, window)
}

/** The same for several certificates, each with this window: one statement and one commit for the pushes of all of them. */
export function releaseCertificates(
  db: Database,
  ids: readonly number[],
  window: Window,
): Promise<ReleasedBatch[]> {
  return release(db, 'release-certificates', releaseOfCertificates, ids, window)
}

async function release(
  db: Database,
  name: string,
  text: string,
  to: unknown,
  { recipients, batches }: Window,
): Promise<ReleasedBatch[]> {
  const rows = await searchWithin(db, await batchDays(db), name, text, [to, recipients, batches])
  return rows.map(releasedBatch.read)
}

// While a breaker is open, nothing is released until its time, then one batch if none is in flight: the worker that gets it moves the
// time ahead. After the patience the others are released between probes, to be offered to other channels without a call.
const releaseOfCertificates = releaseSql(
  'SELECT DISTINCT id FROM unnest($1::bigint[]) AS u (id)',
  'certificate_id = d.id AND node IS NULL',
  `(SELECT CASE WHEN retry_at <= now() THEN 'probe' WHEN opened_at > now() - ${patience} THEN 'rest' END
    FROM breaker WHERE certificate_id = d.id)`,
)
const releaseOfNode = releaseSql(
  'SELECT $1::text AS id',
  'certificate_id IS NULL AND node = d.id',
  'NULL::text',
)

// free: how much may still be released at each destination. Of the recipients and batches that were released or are being sent, as many
//   as the window has room for are enough to know that it is full.
// high, normal: the first due batches of each lane, locked; waiting: batches that wait for the certificate, for a probe.
// ordered: merges the lanes: the nth high batch has turn n, the nth normal batch has turn 4n.
// picked: batches in that order while the window is free; the last one may exceed its recipients.
// Conditions are equalities on one state at a time. `IS NOT DISTINCT FROM` or a list of states would not use the index and read
// every open batch for each certificate.
function releaseSql(destinations: string, isThere: string, breaker: string): string {
  const inFlight = (state: string) =>
    `(SELECT size FROM batch WHERE ${inDays('task_id')} AND ${isThere} AND state = '${state}' LIMIT $3)`
  const first = (lane: Lane) =>
    `SELECT d.id AS destination, b.* FROM free d CROSS JOIN LATERAL (
         SELECT task_id, id, size, not_before FROM batch
         WHERE ${inDays('task_id')} AND state = 'ready' AND ${isThere} AND lane = '${lane}' AND not_before <= now()
         ORDER BY ${readyOrder} LIMIT LEAST(400, d.batches) FOR UPDATE SKIP LOCKED
       ) b WHERE d.recipients > 0 AND d.batches > 0`
  const waiting = (lane: Lane) =>
    `SELECT d.id AS destination, b.* FROM free d CROSS JOIN LATERAL (
         SELECT task_id, id, size FROM batch
         WHERE ${inDays('task_id')} AND state = 'ready' AND ${isThere} AND lane = '${lane}' AND not_before = 'infinity'
         ORDER BY ${readyOrder} LIMIT 1 FOR UPDATE SKIP LOCKED
       ) b WHERE d.probe AND d.batches > 0`
  return `WITH free AS MATERIALIZED (
       SELECT d.id, $2::bigint - f.recipients AS recipients,
         CASE s.word WHEN 'rest' THEN 0 WHEN 'probe' THEN 1 ELSE $3::bigint END - f.batches AS batches,
         s.word IS NOT DISTINCT FROM 'probe' AS probe
       FROM (${destinations}) d
       CROSS JOIN LATERAL (
         SELECT coalesce(sum(size), 0) AS recipients, count(*) AS batches
         FROM (${inFlight('released')} UNION ALL ${inFlight('sending')}) i
       ) f
       CROSS JOIN LATERAL (SELECT ${breaker} AS word) s
     ), high AS MATERIALIZED (${first('high')}), normal AS MATERIALIZED (${first('normal')}
     ), waiting_high AS MATERIALIZED (${waiting('high')}), waiting_normal AS MATERIALIZED (${waiting('normal')}
     ), ordered AS (
       SELECT destination, task_id, id, size,
         row_number() OVER (PARTITION BY destination ORDER BY not_before, task_id, id) * 1.0 AS turn FROM high
       UNION ALL
       SELECT destination, task_id, id, size,
         row_number() OVER (PARTITION BY destination ORDER BY not_before, task_id, id) * 4.0 AS turn FROM normal
       UNION ALL SELECT destination, task_id, id, size, 10000 AS turn FROM waiting_high
       UNION ALL SELECT destination, task_id, id, size, 10000 AS turn FROM waiting_normal
     ), picked AS (
       SELECT task_id, s.id FROM (
         SELECT destination, task_id, id, sum(size) OVER turns - size AS before, row_number() OVER turns AS place
         FROM ordered WINDOW turns AS (PARTITION BY destination ORDER BY turn, task_id, id)
       ) s JOIN free f ON f.id = s.destination WHERE s.before < f.recipients AND s.place <= f.batches
     )
     UPDATE batch b SET state = 'released', released_at = now() FROM picked
     WHERE ${inDays('b.task_id')} AND b.task_id = picked.task_id AND b.id = picked.id
     RETURNING ${releasedBatch.sql}`
}

/** Looks at tasks with a speed limit after `after`, and returns those that have a due batch. */
export async function pacedTasks(db: Database, after: number): Promise<Found<number>> {
  const rows = await searchWithin<[number, number | null]>(
    db,
    await openDays(db),
    'paced-tasks',
    pacedTasksWith(`NOT t.paused AND NOT t.cancelling AND EXISTS (
       SELECT 1 FROM batch b WHERE b.task_id = t.id AND ${inDays('b.task_id')} AND b.state = 'paced' AND b.not_before <= now())`),
    [after],
  )
  return foundIn(rows)
}

/** What is in the bucket of a task: what the last payment left, and what was added since. */
const tokensSql = 'LEAST(speed, speed_tokens + speed * GREATEST(0, extract(epoch FROM now() - speed_at)))'

/** When a task last made batches ready at a destination. */
type LastReady = { certificateId: number | null; node: string | null; lane: Lane; at: string }

/** What a feeder made ready, by task and destination: the batches of a task that are ready and not released cannot be found by an index. */
export type MadeReady = Map<number, Map<string, LastReady>>

/** How many batches are looked at if some destinations take none: a million devices of such destinations may come before the others. */
const MAX_SKIPPED = 1000

/** More tasks than a feeder serves at a time. */
const MAX_REMEMBERED = 1000

function remember(made: MadeReady, taskId: number, ready: LastReady): void {
  const last = made.get(taskId) ?? new Map<string, LastReady>()
  last.set(`${ready.certificateId} ${ready.node} ${ready.lane}`, ready)
  // The latest at the end.
  made.delete(taskId)
  made.set(taskId, last)
  for (const oldest of made.keys()) if (made.size > MAX_REMEMBERED) made.delete(oldest)
}

/**
 * Makes batches of a task with a speed limit ready, as far as its token bucket allows. They are then released like all others, within the
 * window of their destination and in the order of this time, so that neither they nor batches without a limit wait forever. While some wait
 * because the window of their destination is full, no others become ready there: later all would be released at once. `made` is what this
 * feeder made ready before. The bucket has room for one second and is stored in the task's row, so that it survives restarts and is shared by
 * all feeders. It does not fill while the task is paused. Returns the number of batches.
 */
export async function makePacedReady(
  db: Database,
  taskId: number,
  made: MadeReady = new Map(),
): Promise<number> {
  const last = [...(made.get(taskId)?.values() ?? [])]
  // An empty bucket is not locked, and one from which nothing is taken is not written: each would cost a flush to disk. If the clock was
  // set back it is written, because it would not fill until the old time. The id of the task is compared in a way that no index can search:
  // those by task contain all of its batches, batch_ready finds those of one moment.
  const rows = await runWithin<[certificateId: number | null, node: string | null, lane: Lane, at: string]>(
    db.pool,
    daysOf([taskId]),
    'paced-ready',
    `WITH bucket AS MATERIALIZED (
       SELECT id, speed_at, ${tokensSql} AS tokens FROM task
       WHERE id = $1 AND ${inDays('id')} AND NOT paused AND NOT cancelling AND (${tokensSql} >= 1 OR speed_at > now())
       FOR NO KEY UPDATE SKIP LOCKED
     ), held AS MATERIALIZED (
       SELECT l.certificate_id, l.node, l.lane
       FROM unnest($2::bigint[], $3::text[], $4::text[], $5::timestamptz[]) AS l (certificate_id, node, lane, at)
       WHERE CASE WHEN l.node IS NULL THEN EXISTS (SELECT 1 FROM batch w WHERE ${inDays('w.task_id')} AND w.state = 'ready'
           AND w.certificate_id = l.certificate_id AND w.node IS NULL AND w.lane = l.lane AND w.not_before = l.at AND w.task_id + 0 = $1)
         ELSE EXISTS (SELECT 1 FROM batch w WHERE ${inDays('w.task_id')} AND w.state = 'ready'
           AND w.certificate_id IS NULL AND w.node = l.node AND w.lane = l.lane AND w.not_before = l.at AND w.task_id + 0 = $1) END
       UNION ALL SELECT certificate_id, NULL, NULL FROM breaker WHERE retry_at > now() AND opened_at > now() - ${patience}
     ), queue AS MATERIALIZED (
       SELECT b.id, b.size FROM (
         SELECT n.id FROM (
           SELECT id, certificate_id, node, lane, not_before FROM batch
           WHERE task_id = $1 AND ${inDays('task_id')} AND state = 'paced' AND not_before <= now()
             AND EXISTS (SELECT 1 FROM bucket WHERE tokens >= 1)
           ORDER BY not_before, id LIMIT CASE WHEN EXISTS (SELECT 1 FROM held) THEN ${MAX_SKIPPED} ELSE 100 END
         ) n WHERE NOT EXISTS (SELECT 1 FROM held h WHERE h.certificate_id IS NOT DISTINCT FROM n.certificate_id
           AND h.node IS NOT DISTINCT FROM n.node AND (h.lane IS NULL OR h.lane = n.lane))
         ORDER BY n.not_before, n.id LIMIT 100
       ) m CROSS JOIN LATERAL (
         SELECT id, size FROM batch WHERE task_id = $1 AND ${inDays('task_id')} AND id = m.id AND state = 'paced' FOR UPDATE SKIP LOCKED
       ) b
     ), picked AS MATERIALIZED (
       SELECT q.id, q.size FROM (SELECT id, size, sum(size) OVER (ORDER BY id) AS upto FROM queue) q, bucket
       WHERE q.upto <= bucket.tokens
     ), paid AS (
       UPDATE task SET speed_tokens = bucket.tokens - (SELECT coalesce(sum(size), 0) FROM picked), speed_at = now()
       FROM bucket WHERE task.id = bucket.id AND ${inDays('task.id')}
         AND (EXISTS (SELECT 1 FROM picked) OR bucket.speed_at > now())
     )
     UPDATE batch b SET state = 'ready', not_before = now() FROM picked
     WHERE b.task_id = $1 AND ${inDays('b.task_id')} AND b.id = picked.id
     RETURNING b.certificate_id, b.node, b.lane, now()::text`,
    [
      taskId,
      last.map(({ certificateId }) => certificateId),
      last.map(({ node }) => node),
      last.map(({ lane }) => lane),
      last.map(({ at }) => at),
    ],
  )
  for (const [certificateId, node, lane, at] of rows)
    remember(made, taskId, { certificateId, node, lane, at })
  return rows.length
}
