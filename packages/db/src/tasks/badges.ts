import type { Badge } from '@herald/domain'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import type { Runner } from '../store/statement.ts'
import { batchName } from './claim.ts'

/** Badges must not overflow a client's 32-bit integer. */
const MAX_BADGE = 999_999_999

export type BadgeRequest = { taskId: number; id: number; version: number; recipients: number[]; badge: Badge }

/**
 * Determines the absolute badge number of every recipient of claimed batches, once: the numbers are stored with the batch and used
 * by later attempts too. Devices are locked in ascending order, so that overlapping broadcasts wait for each other instead of
 * deadlocking. Returns the badges by batch, in the order of recipients. A batch whose claim was lost is left out.
 */
export async function assignBadges(
  runner: Runner,
  requests: readonly BadgeRequest[],
): Promise<Map<string, number[]>> {
  const badges = new Map<string, number[]>()
  for (const kind of ['set', 'add'] as const) {
    const some = requests.filter((request) => request.badge.kind === kind)
    if (some.length === 0) continue
    const rows = await assign(runner, some, kind === 'add')
    for (const [taskId, id, numbers] of rows) badges.set(batchName(taskId, id), numbers)
  }
  const missing = requests.filter((request) => !badges.has(batchName(request.taskId, request.id)))
  if (missing.length > 0) {
    // They may be stored already, by an earlier call whose reply was lost.
    const rows = await runWithin<BadgeRow>(runner, daysIn(missing), 'stored-badges', storedSql, [
      missing.map((request) => request.taskId),
      missing.map((request) => request.id),
      missing.map((request) => request.version),
    ])
    for (const [taskId, id, numbers] of rows) badges.set(batchName(taskId, id), numbers)
  }
  return badges
}

type BadgeRow = [taskId: number, id: number, badges: number[]]

function assign(runner: Runner, requests: readonly BadgeRequest[], add: boolean): Promise<BadgeRow[]> {
  const [one] = requests
  if (requests.length === 1 && isAscending(one!.recipients)) {
    return runWithin(runner, daysIn(requests), 'badges-of-one', oneBatchSql, [
      one!.taskId,
      one!.id,
      one!.version,
      one!.badge.count,
      add,
    ])
  }
  return runWithin(runner, daysIn(requests), 'badges', badgeSql, [
    requests.map((request) => request.taskId),
    requests.map((request) => request.id),
    requests.map((request) => request.version),
    requests.map((request) => request.badge.count),
    add,
  ])
}

const daysIn = (requests: readonly BadgeRequest[]) => daysOf(requests.map(({ taskId }) => taskId))

function isAscending(ids: readonly number[]): boolean {
  return ids.every((id, i) => i === 0 || ids[i - 1]! < id)
}

// For one large batch of a broadcast: its recipients are unique and ascending, so sorting the numbers by device puts them in the
// order of the recipients.
const oneBatchSql = `
WITH claimed AS MATERIALIZED (
  SELECT task_id, id, recipients FROM batch
  WHERE task_id = $1 AND id = $2 AND ${inDays('task_id')} AND version = $3 AND state = 'sending' AND badges IS NULL
), shown AS (
  INSERT INTO badge AS b (device_id, value)
  SELECT r.device, LEAST($4::int, ${MAX_BADGE}) FROM claimed CROSS JOIN LATERAL unnest(claimed.recipients) AS r (device) ORDER BY r.device
  ON CONFLICT (device_id) DO UPDATE
    SET value = CASE WHEN $5 THEN LEAST(b.value + excluded.value, ${MAX_BADGE}) ELSE excluded.value END
  RETURNING device_id, value
)
UPDATE batch b SET badges = (SELECT array_agg(value ORDER BY device_id) FROM shown)
FROM claimed WHERE b.task_id = $1 AND b.id = $2 AND ${inDays('b.task_id')}
RETURNING b.task_id, b.id, b.badges`

const storedSql = `SELECT b.task_id, b.id, b.badges FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS h (task_id, id, version)
JOIN batch b ON b.task_id = h.task_id AND b.id = h.id AND b.version = h.version
WHERE ${inDays('b.task_id')} AND b.badges IS NOT NULL`

// The numbers are looked up in one JSON object: Postgres would join two lists of unknown length by a nested loop, a million steps
// for a thousand recipients. OFFSET 0 prevents that Postgres reads every batch in `sending` to find these.
const badgeSql = `
WITH claimed AS MATERIALIZED (
  SELECT h.count, b.task_id, b.id, b.recipients
  FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[]) AS h (task_id, id, version, count)
  CROSS JOIN LATERAL (SELECT * FROM batch WHERE task_id = h.task_id AND id = h.id AND ${inDays('task_id')} OFFSET 0) b
  WHERE b.version = h.version AND b.state = 'sending' AND b.badges IS NULL
), shown AS (
  INSERT INTO badge AS b (device_id, value)
  SELECT r.device, LEAST(CASE WHEN $5 THEN sum(claimed.count) ELSE max(claimed.count) END, ${MAX_BADGE})
  FROM claimed CROSS JOIN LATERAL unnest(claimed.recipients) AS r (device) GROUP BY r.device ORDER BY r.device
  ON CONFLICT (device_id) DO UPDATE
    SET value = CASE WHEN $5 THEN LEAST(b.value + excluded.value, ${MAX_BADGE}) ELSE excluded.value END
  RETURNING device_id, value
), numbers AS MATERIALIZED (
  SELECT jsonb_object_agg(device_id::text, value) AS by_device FROM shown
)
UPDATE batch b SET badges = ARRAY(
  SELECT (numbers.by_device ->> r.device::text)::int
  FROM unnest(claimed.recipients) WITH ORDINALITY AS r (device, n), numbers ORDER BY r.n)
FROM claimed WHERE b.task_id = claimed.task_id AND b.id = claimed.id AND ${inDays('b.task_id')}
RETURNING b.task_id, b.id, b.badges`
