import type { Badge } from '@herald/domain'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import type { Runner } from '../store/statement.ts'
import { batchName } from './claim.ts'

/** Badges must not overflow a client's 32-bit integer. */
export const MAX_BADGE = 999_999_999

export type BadgeRequest = { taskId: number; id: number; version: number; recipients: number[]; badge: Badge }

/**
 * Determines the absolute badge number of every recipient of claimed batches, once: the numbers are stored with the batch and used
 * by later attempts too. Returns the badges by batch, in the order of recipients. A batch whose claim was lost is left out.
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

// The batch is locked before its badges are changed: of two calls for the same claim, as after a lost reply, the second finds them. Not
// flushed to disk: the blocks are shared with other pushes, which would wait for it. A crash of Postgres loses the numbers and the
// changes of the counts together, and the commit of the settle flushes both.
const unflushed = `set_config('synchronous_commit', 'off', true)`

// For one large batch of a broadcast: its recipients are unique and ascending.
const oneBatchSql = `
WITH claimed AS MATERIALIZED (
  SELECT task_id, id, recipients FROM batch
  WHERE task_id = $1 AND id = $2 AND ${inDays('task_id')} AND version = $3 AND state = 'sending' AND badges IS NULL FOR NO KEY UPDATE
)
UPDATE batch b SET badges = (SELECT show_badges(recipients, array_fill($4::int, ARRAY[cardinality(recipients)]), $5) FROM claimed)
FROM claimed WHERE b.task_id = $1 AND b.id = $2 AND ${inDays('b.task_id')}
RETURNING b.task_id, b.id, b.badges, ${unflushed}`

const storedSql = `SELECT b.task_id, b.id, b.badges FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS h (task_id, id, version)
JOIN batch b ON b.task_id = h.task_id AND b.id = h.id AND b.version = h.version
WHERE ${inDays('b.task_id')} AND b.badges IS NOT NULL`

// The numbers are looked up in one JSON object: Postgres would join two lists of unknown length by a nested loop, a million steps
// for a thousand recipients. OFFSET 0 prevents that Postgres reads every batch in `sending` to find these.
const badgeSql = `
WITH claimed AS MATERIALIZED (
  SELECT h.count, b.task_id, b.id, b.recipients
  FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[]) AS h (task_id, id, version, count)
  CROSS JOIN LATERAL (SELECT * FROM batch WHERE task_id = h.task_id AND id = h.id AND ${inDays('task_id')}
    AND version = h.version AND state = 'sending' AND badges IS NULL OFFSET 0 FOR NO KEY UPDATE) b
), wanted AS MATERIALIZED (
  SELECT r.device, LEAST(CASE WHEN $5 THEN sum(claimed.count) ELSE max(claimed.count) END, ${MAX_BADGE})::int AS number
  FROM claimed CROSS JOIN LATERAL unnest(claimed.recipients) AS r (device) GROUP BY r.device
), lists AS MATERIALIZED (
  SELECT array_agg(device ORDER BY device) AS devices, array_agg(number ORDER BY device) AS numbers FROM wanted
), numbers AS MATERIALIZED (
  SELECT jsonb_object_agg(s.device::text, s.number) AS by_device
  FROM lists CROSS JOIN LATERAL unnest(devices, show_badges(devices, numbers, $5)) AS s (device, number)
  WHERE devices IS NOT NULL
)
UPDATE batch b SET badges = ARRAY(
  SELECT (numbers.by_device ->> r.device::text)::int
  FROM unnest(claimed.recipients) WITH ORDINALITY AS r (device, n), numbers ORDER BY r.n)
FROM claimed WHERE b.task_id = claimed.task_id AND b.id = claimed.id AND ${inDays('b.task_id')}
RETURNING b.task_id, b.id, b.badges, ${unflushed}`
