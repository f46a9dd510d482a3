import type { Badge } from '@herald/domain'
import { type Runner, run } from './statement.ts'

/** A badge that runs away must not overflow a client's 32 bits. */
const MOST = 999_999_999

export type BadgeWish = {
  taskId: number
  id: number
  version: number
  recipients: readonly number[]
  badge: Badge
}

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
    const rows = await run<[taskId: number, id: number, badges: number[]]>(runner, 'badges', badgeSql, [
      some.map((wish) => wish.taskId),
      some.map((wish) => wish.id),
      some.map((wish) => wish.version),
      some.map((wish) => wish.badge.count),
      some.flatMap((wish) => wish.recipients),
      some.flatMap((wish, n) => wish.recipients.map(() => n + 1)),
      kind === 'add',
    ])
    for (const [taskId, id, numbers] of rows) badges.set(`${taskId}/${id}`, numbers)
  }
  return badges
}

const badgeSql = `
WITH held AS MATERIALIZED (
  SELECT h.n, h.count, b.task_id, b.id
  FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[]) WITH ORDINALITY AS h (task_id, id, version, count, n)
  JOIN batch b ON b.task_id = h.task_id AND b.id = h.id AND b.version = h.version AND b.state = 'sending' AND b.badges IS NULL
), wanted AS MATERIALIZED (
  SELECT w.device, held.n, held.count FROM unnest($5::bigint[], $6::int[]) AS w (device, n) JOIN held ON held.n = w.n
), shown AS (
  INSERT INTO badge AS b (device_id, value)
  SELECT device, LEAST(CASE WHEN $7 THEN sum(count) ELSE max(count) END, ${MOST}) FROM wanted GROUP BY device ORDER BY device
  ON CONFLICT (device_id) DO UPDATE
    SET value = CASE WHEN $7 THEN LEAST(b.value + excluded.value, ${MOST}) ELSE excluded.value END
  RETURNING device_id, value
), kept AS (
  SELECT held.task_id, held.id, array_agg(shown.value ORDER BY wanted.device) AS badges
  FROM held JOIN wanted ON wanted.n = held.n JOIN shown ON shown.device_id = wanted.device GROUP BY 1, 2
)
UPDATE batch b SET badges = kept.badges FROM kept WHERE b.task_id = kept.task_id AND b.id = kept.id
RETURNING b.task_id, b.id, b.badges`
