import { type ReleasedBatch, releasedBundle } from '../ledger/batch-rows.ts'
import type { Database } from '../store/database.ts'
import { inDays, runWithin, searchWithin } from '../store/days.ts'
import { batchDays } from '../store/open-days.ts'
import { LEASE_OF_FEEDER } from './bundles.ts'
import { releasedColumns } from './claim-bundle.ts'
import type { Window } from './feeder.ts'

/**
 * Bundles that wait at a time, of all certificates. Each round of the feeder reads them, because no index has their certificates.
 * Further pushes wait in batches, of which any number may wait.
 */
export const MAX_WAITING_BUNDLES = 2_000

const isWaiting = `state = 'released' AND lease_until = ${LEASE_OF_FEEDER}`

/** The number of bundles that wait, up to the maximum. */
export async function countWaitingBundles(db: Database): Promise<number> {
  const [row] = await runWithin<[number]>(
    db.pool,
    await batchDays(db),
    'count-waiting-bundles',
    `SELECT count(*)::int FROM (SELECT FROM bundle WHERE ${inDays('task_id')} AND ${isWaiting} LIMIT ${MAX_WAITING_BUNDLES}) b`,
    [],
  )
  return row![0]
}

export type ReleasedBundles = {
  released: ReleasedBatch[]
  /** Whether others still wait. */
  more: boolean
  /** Certificates that had some. */
  certificates: number
}

/**
 * Releases bundles that wait, until `window.batches` pushes of bundles of each certificate are in flight; the last one may exceed it.
 * Four of the high lane for one of the normal lane, the oldest first. The result is in the order in which the jobs are to be added:
 * one of each certificate, then the next of each. What another feeder is releasing is left out.
 */
export async function releaseBundles(
  db: Database,
  window: Pick<Window, 'batches'>,
): Promise<ReleasedBundles> {
  const days = await batchDays(db)
  const rows = await searchWithin(db, days, 'release-bundles', releaseSql, [window.batches])
  const [waiting, certificates] = rows[0]!.map(Number) as [number, number]
  const placed = rows.flatMap(([, , place, ...row]) =>
    place === null ? [] : [{ place: Number(place), bundle: releasedBundle(releasedColumns.read(row)) }],
  )
  placed.sort((a, b) => a.place - b.place || a.bundle.taskId - b.bundle.taskId)
  return { released: placed.map(({ bundle }) => bundle), more: waiting > placed.length, certificates }
}

// A bundle of several certificates has few pushes of each, so it does not count for any of them. Certificates whose window is full are
// left out before the bundles are sorted. Only what is picked is locked: a lock is a write.
const ofOne = 'certificates[1] = ALL (certificates)'
const releaseSql = `
WITH released AS MATERIALIZED (
  SELECT task_id, lease_until IS NOT NULL AS waits, lane, size, released_at,
    CASE WHEN lease_until IS NOT NULL OR ${ofOne} THEN certificates[1] END AS certificate_id
  FROM bundle WHERE ${inDays('task_id')} AND state = 'released'
), in_flight AS MATERIALIZED (
  SELECT certificate_id, sum(size) AS pushes FROM (
    SELECT certificate_id, size FROM released WHERE NOT waits
    UNION ALL SELECT certificates[1], size FROM bundle WHERE ${inDays('task_id')} AND state = 'sending' AND ${ofOne}
  ) b WHERE EXISTS (SELECT FROM released WHERE waits) GROUP BY 1
), ordered AS (
  SELECT w.*, coalesce(f.pushes, 0) AS pushes, row_number() OVER (PARTITION BY w.certificate_id, lane ORDER BY released_at, task_id)
    * CASE lane WHEN 'high' THEN 1 ELSE 4 END AS turn
  FROM released w LEFT JOIN in_flight f ON f.certificate_id = w.certificate_id WHERE w.waits AND coalesce(f.pushes, 0) < $1::bigint
), placed AS (
  SELECT task_id, pushes + sum(size) OVER turns - size AS before, row_number() OVER turns AS place
  FROM ordered WINDOW turns AS (PARTITION BY certificate_id ORDER BY turn, released_at, task_id)
), locked AS MATERIALIZED (
  SELECT b.task_id, p.place FROM placed p JOIN bundle b ON b.task_id = p.task_id
  WHERE p.before < $1::bigint AND ${inDays('b.task_id')} AND b.state = 'released' AND b.lease_until = ${LEASE_OF_FEEDER}
  ORDER BY b.task_id FOR UPDATE OF b SKIP LOCKED
), enqueued AS (
  UPDATE bundle b SET lease_until = NULL, released_at = now() FROM locked l
  WHERE b.task_id = l.task_id AND ${inDays('b.task_id')}
  RETURNING l.place, ${releasedColumns.sql}
)
SELECT w.bundles, w.certificates, e.*
FROM (SELECT count(*) AS bundles, count(DISTINCT certificate_id) AS certificates FROM released WHERE waits) w
LEFT JOIN enqueued e ON true`
