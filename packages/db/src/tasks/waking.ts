import { readyOrder } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin, searchWithin } from '../store/days.ts'
import { areBuilt } from '../store/late-indexes.ts'
import { batchDays, openDays } from '../store/open-days.ts'
import { run } from '../store/statement.ts'
import { anyOf, hasReadySql, lanes } from './due-batches.ts'
import { certificatesWith, certificatesWithReady, type Found, foundIn, pacedTasksWith } from './feeder.ts'

/** Rows of one statement: a certificate may have hundreds of thousands. */
const CHUNK = 5000

/** In the order of the index batch_asleep: by the certificate alone Postgres might read everything that is ready. */
const firstAsleep = (afterId: string) => `SELECT certificate_id AS id FROM batch
        WHERE ${inDays('task_id')} AND state = 'ready' AND node IS NULL AND not_before = 'infinity' AND certificate_id > ${afterId}
        ORDER BY certificate_id, task_id LIMIT 1`

/**
 * Looks at certificates with batches that are due at infinity, after the certificate `after`, and returns those that can be used or were
 * removed. Until the index is complete it looks at all certificates with ready batches, and reads one row more per certificate and lane.
 */
export async function certificatesToWake(db: Database, after: number): Promise<Found<number>> {
  const [name, certificates, isAsleep] = (await areBuilt(db, ['batch_asleep']))
    ? ['certificates-to-wake', certificatesWith(firstAsleep), 'true']
    : ['search-certificates-to-wake', certificatesWithReady, hasReadySql('n.id', "= 'infinity'")]
  const rows = await searchWithin<[number, number | null]>(
    db,
    await batchDays(db),
    name,
    `WITH RECURSIVE ${certificates}
     SELECT n.id, CASE WHEN c.state IS DISTINCT FROM 'closed' AND r.certificate_id IS NULL AND ${isAsleep} THEN n.id END
     FROM next_certificate n LEFT JOIN certificate c ON c.id = n.id LEFT JOIN breaker r ON r.certificate_id = n.id`,
    [after],
  )
  return foundIn(rows)
}

/** Makes some batches of the certificate that are due at infinity due now. Returns how many; fewer than a chunk are the last. */
export async function wakeBatches(
  db: Database,
  certificateId: number,
): Promise<{ woken: number; more: boolean }> {
  const rows = await searchWithin(
    db,
    await batchDays(db),
    'wake-batches',
    `WITH asleep AS MATERIALIZED (
       SELECT b.task_id, b.id FROM ${lanes} CROSS JOIN LATERAL (
         SELECT task_id, id FROM batch WHERE ${inDays('task_id')} AND state = 'ready' AND certificate_id = $1 AND node IS NULL AND lane = l.lane
           AND not_before = 'infinity' ORDER BY ${readyOrder} LIMIT ${CHUNK} FOR UPDATE SKIP LOCKED
       ) b
     )
     UPDATE batch b SET not_before = now() FROM asleep a
     WHERE b.task_id = a.task_id AND b.id = a.id AND ${inDays('b.task_id')} RETURNING b.id`,
    [certificateId],
  )
  return { woken: rows.length, more: rows.length >= CHUNK }
}

/** Looks at tasks with a speed limit after `after`, and returns those that have batches due at infinity. */
export async function pacedTasksToWake(db: Database, after: number): Promise<Found<number>> {
  const rows = await searchWithin<[number, number | null]>(
    db,
    await openDays(db),
    'paced-tasks-to-wake',
    pacedTasksWith(
      `EXISTS (SELECT 1 FROM batch b WHERE b.task_id = t.id AND ${inDays('b.task_id')} AND b.state = 'paced' AND b.not_before = 'infinity')`,
    ),
    [after],
  )
  return foundIn(rows)
}

/**
 * Wakes batches of a task with a speed limit, among the CHUNK that follow batch `after`; their index is not by certificate. Of a
 * certificate whose breaker allows a probe it wakes one: the feeder takes probes only from batches without a speed limit, and there may
 * be no other. Returns the last batch looked at; undefined at the end.
 */
export async function wakePaced(db: Database, taskId: number, after: number): Promise<number | undefined> {
  const [row] = await runWithin<[seen: number, last: number | null]>(
    db.pool,
    daysOf([taskId]),
    'wake-paced',
    `WITH page AS MATERIALIZED (
       SELECT id, certificate_id, row_number() OVER (PARTITION BY certificate_id ORDER BY id) = 1 AS is_first FROM (
         SELECT id, certificate_id FROM batch
         WHERE task_id = $1 AND ${inDays('task_id')} AND state = 'paced' AND not_before = 'infinity' AND id > $2 ORDER BY id LIMIT ${CHUNK}
       ) b
     ), woken AS (
       UPDATE batch b SET not_before = now()
       FROM page p LEFT JOIN certificate c ON c.id = p.certificate_id LEFT JOIN breaker r ON r.certificate_id = p.certificate_id
       WHERE b.task_id = $1 AND ${inDays('b.task_id')} AND b.id = p.id AND b.state = 'paced' AND b.not_before = 'infinity'
         AND c.state IS DISTINCT FROM 'closed' AND (r.certificate_id IS NULL OR p.is_first AND r.retry_at <= now() AND NOT EXISTS (
           SELECT 1 FROM batch d WHERE d.task_id = $1 AND ${inDays('d.task_id')} AND d.state = 'paced' AND d.not_before <= now()
             AND d.certificate_id = p.certificate_id))
     )
     SELECT count(*)::int, max(id) FROM page`,
    [taskId, after],
  )
  const [seen, last] = row!
  return seen < CHUNK ? undefined : (last ?? undefined)
}

/** How long after its time a breaker is kept if there is nothing to send as a probe. */
const IDLE_MINUTES = 5
/** Breakers of one look, in random order, so that those with batches do not hide others. */
const MAX_BREAKERS = 500

const isLate = `retry_at <= now() - interval '${IDLE_MINUTES} minutes'`
const hasBatches = [
  hasReadySql('r.certificate_id', "<= 'infinity'"),
  anyOf('batch', `state = 'released' AND certificate_id = r.certificate_id`, 'certificate_id, released_at'),
  anyOf('batch', `state = 'sending' AND certificate_id = r.certificate_id`, 'certificate_id, lease_until'),
].join(' OR ')

/**
 * Ends breakers whose time came minutes ago and whose certificates have no batch that is ready or in flight: without a probe no answer ends
 * them. If the vendor is still silent, the next jobs open them again. Batches that are paced or held are not looked for, because no index
 * has them by certificate: paced ones were woken for a probe since, held ones are not sent. Returns how many it ended.
 */
export async function endIdleBreakers(db: Database): Promise<number> {
  // Usually there is none; the search would open the days of all batches.
  const late = await run(db.pool, 'late-breaker', `SELECT 1 FROM breaker WHERE ${isLate} LIMIT 1`, [])
  if (late.length === 0) return 0
  const rows = await searchWithin(
    db,
    await batchDays(db),
    'end-idle-breakers',
    `WITH late AS MATERIALIZED (
       SELECT certificate_id FROM breaker WHERE ${isLate} ORDER BY random() LIMIT ${MAX_BREAKERS}
     ), idle AS MATERIALIZED (
       SELECT r.certificate_id FROM late l JOIN breaker r ON r.certificate_id = l.certificate_id
       WHERE r.${isLate} AND NOT (${hasBatches}) FOR UPDATE OF r SKIP LOCKED
     )
     DELETE FROM breaker r USING idle i WHERE r.certificate_id = i.certificate_id RETURNING r.certificate_id`,
    [],
  )
  return rows.length
}
