import { after } from '../ledger/counter-rows.ts'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { leaveSteps, leavingColumns, mergedSql } from './leave-bundle.ts'

/** `wanted` has one letter per task of the bundle: s sent, m leaves the bundle, . unchanged. */
export type BundleSettlement = { id: number; worker: string; wanted: string }

/**
 * Writes the results of claimed bundles in one statement; tasks whose letter is `m` get batches that belong to the same claim. A place that is
 * not pending keeps its letter, so the statement can be repeated after a lost reply. Returns the status of each bundle; one that another
 * claim has, or whose lease was ended, is left out.
 */
export async function settleBundles(
  db: Database,
  settlements: readonly BundleSettlement[],
): Promise<Map<number, string>> {
  const plain = settlements.every(({ wanted }) => !wanted.includes('m'))
  const rows = await runWithin<[id: number, status: string]>(
    db.pool,
    daysOf(settlements.map(({ id }) => id)),
    plain ? 'settle-bundles' : 'settle-leaving',
    plain ? plainSql : leavingSql,
    [
      settlements.map(({ id }) => id),
      settlements.map(({ worker }) => worker),
      settlements.map(({ wanted }) => wanted),
    ],
  )
  return new Map(rows)
}

// held: the rows are locked, so that the letters are those of the last commit, not of this statement's snapshot. The ids are given to
// each step as a list: with a join alone, a plan that was made for an empty day reads all bundles of the day.
const settledSql = `WITH held AS MATERIALIZED (
  SELECT b.*, i.wanted FROM unnest($1::bigint[], $2::text[], $3::text[]) AS i (id, worker, wanted)
  JOIN bundle b ON b.task_id = i.id AND b.worker = i.worker
  WHERE b.task_id = ANY($1::bigint[]) AND ${inDays('b.task_id')} ORDER BY b.task_id FOR UPDATE OF b
), merged AS MATERIALIZED (
  SELECT h.task_id, ${mergedSql('h.status', 'h.wanted')} AS status FROM held h
), settled AS (
  UPDATE bundle b SET status = m.status, settled_at = now(),
    state = CASE WHEN position('.' IN m.status) > 0 THEN b.state ELSE 'settled' END,
    lease_until = CASE WHEN position('.' IN m.status) > 0 THEN b.lease_until END
  FROM merged m WHERE b.task_id = m.task_id AND b.task_id = ANY($1::bigint[]) AND ${inDays('b.task_id')}
  RETURNING b.task_id, b.status
)`

const plainSql = `${settledSql} SELECT task_id, status FROM settled`

const leavingSql = `${settledSql}, leaving AS MATERIALIZED (
  SELECT ${leavingColumns('sending')} FROM held b CROSS JOIN LATERAL generate_series(1, b.size) n
  WHERE substr(b.status, n, 1) = '.' AND substr(b.wanted, n, 1) = 'm'
), ${leaveSteps}
SELECT task_id, status FROM settled WHERE ${after('left_counters')}`
