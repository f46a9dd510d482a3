import type { Badge } from '@herald/domain'
import { type Runner, run } from '../store/statement.ts'
import { batchName } from './claim.ts'

/** A badge that runs away must not overflow a client's 32 bits. */
const MOST = 999_999_999

export type BadgeWish = { taskId: number; id: number; version: number; recipients: number[]; badge: Badge }

/**
 * Gives every recipient of claimed batches the absolute number it is to show, once: the numbers are kept with the batch and
 * reused by each later attempt. Devices are touched in ascending order, so that overlapping broadcasts queue up instead of
 * deadlocking. Answers the badges by batch, in recipient order; a batch that lost its claim is left out.
 */
export async function assignBadges(
  runner: Runner,
  wishes: readonly BadgeWish[],
): Promise<Map<string, number[]>> {
  const badges = new Map<string, number[]>()
  for (const kind of ['set', 'add'] as const) {
    const some = wishes.filter((wish) => wish.badge.kind === kind)
    if (some.length === 0) continue
    const rows = await assign(runner, some, kind === 'add')
    for (const [taskId, id, numbers] of rows) badges.set(batchName(taskId, id), numbers)
  }
  const missing = wishes.filter((wish) => !badges.has(batchName(wish.taskId, wish.id)))
  if (missing.length > 0) {
    // They may be there already: the commit of an earlier call whose answer was lost.
    const rows = await run<BadgeRow>(runner, 'badges-kept', keptSql, [
      missing.map((wish) => wish.taskId),
      missing.map((wish) => wish.id),
      missing.map((wish) => wish.version),
    ])
    for (const [taskId, id, numbers] of rows) badges.set(batchName(taskId, id), numbers)
  }
  return badges
}

type BadgeRow = [taskId: number, id: number, badges: number[]]

function assign(runner: Runner, wishes: readonly BadgeWish[], add: boolean): Promise<BadgeRow[]> {
  const [one] = wishes
  if (wishes.length === 1 && isAscending(one!.recipients)) {
    return run(runner, 'badges-of-one', oneBatchSql, [
      one!.taskId,
      one!.id,
      one!.version,
      one!.badge.count,
      add,
    ])
  }
  return run(runner, 'badges', badgeSql, [
    wishes.map((wish) => wish.taskId),
    wishes.map((wish) => wish.id),
    wishes.map((wish) => wish.version),
    wishes.map((wish) => wish.badge.count),
    add,
  ])
}

function isAscending(ids: readonly number[]): boolean {
  return ids.every((id, i) => i === 0 || ids[i - 1]! < id)
}

// The large batch of a broadcast: its recipients are in order and each is there once, so that their numbers need only be sorted
// to be in theirs.
const oneBatchSql = `
WITH held AS MATERIALIZED (
  SELECT task_id, id, recipients FROM batch
  WHERE task_id = $1 AND id = $2 AND version = $3 AND state = 'sending' AND badges IS NULL
), shown AS (
  INSERT INTO badge AS b (device_id, value)
  SELECT r.device, LEAST($4::int, ${MOST}) FROM held CROSS JOIN LATERAL unnest(held.recipients) AS r (device) ORDER BY r.device
  ON CONFLICT (device_id) DO UPDATE
    SET value = CASE WHEN $5 THEN LEAST(b.value + excluded.value, ${MOST}) ELSE excluded.value END
  RETURNING device_id, value
)
UPDATE batch b SET badges = (SELECT array_agg(value ORDER BY device_id) FROM shown)
FROM held WHERE b.task_id = $1 AND b.id = $2
RETURNING b.task_id, b.id, b.badges`

const keptSql = `SELECT b.task_id, b.id, b.badges FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS h (task_id, id, version)
JOIN batch b ON b.task_id = h.task_id AND b.id = h.id AND b.version = h.version WHERE b.badges IS NOT NULL`

// The numbers find their way back through one JSON object: a join of two lists whose length the planner cannot know becomes
// a nested loop of a million steps for a thousand recipients. OFFSET 0 keeps the planner from reading every batch that is being
// sent in order to find these.
const badgeSql = `
WITH held AS MATERIALIZED (
  SELECT h.count, b.task_id, b.id, b.recipients
  FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[]) AS h (task_id, id, version, count)
  CROSS JOIN LATERAL (SELECT * FROM batch WHERE task_id = h.task_id AND id = h.id OFFSET 0) b
  WHERE b.version = h.version AND b.state = 'sending' AND b.badges IS NULL
), shown AS (
  INSERT INTO badge AS b (device_id, value)
  SELECT r.device, LEAST(CASE WHEN $5 THEN sum(held.count) ELSE max(held.count) END, ${MOST})
  FROM held CROSS JOIN LATERAL unnest(held.recipients) AS r (device) GROUP BY r.device ORDER BY r.device
  ON CONFLICT (device_id) DO UPDATE
    SET value = CASE WHEN $5 THEN LEAST(b.value + excluded.value, ${MOST}) ELSE excluded.value END
  RETURNING device_id, value
), numbers AS MATERIALIZED (
  SELECT jsonb_object_agg(device_id::text, value) AS by_device FROM shown
)
UPDATE batch b SET badges = ARRAY(
  SELECT (numbers.by_device ->> r.device::text)::int
  FROM unnest(held.recipients) WITH ORDINALITY AS r (device, n), numbers ORDER BY r.n)
FROM held WHERE b.task_id = held.task_id AND b.id = held.id
RETURNING b.task_id, b.id, b.badges`
