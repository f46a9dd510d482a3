import type { Badge } from '@herald/domain'
import { idList } from '../ledger/batch-rows.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import type { Runner } from '../store/statement.ts'
import { MAX_BADGE } from './badges.ts'
import type { ClaimedBatch } from './claim.ts'

/** Task `n` of a claimed bundle, which shows this badge. */
export type SingleBadge = { bundle: NonNullable<ClaimedBatch['bundle']>; badge: Badge }

/**
 * Determines the badge of each task of a claimed bundle, once: the numbers are stored in the bundle, and a repeated call returns them,
 * in the order of `requests`; undefined for tasks that have left. All tasks are of one claim. One statement for all that are set and one for all that are added.
 */
export async function assignBundleBadges(
  runner: Runner,
  requests: readonly SingleBadge[],
): Promise<(number | undefined)[]> {
  const badges: (number | undefined)[] = new Array(requests.length).fill(undefined)
  for (const kind of ['set', 'add'] as const) {
    const some = requests.filter(({ badge }) => badge.kind === kind)
    if (some.length === 0) continue
    const rows = await runWithin<[id: number, badges: (number | null)[] | null]>(
      runner,
      daysOf(some.map(({ bundle }) => bundle.id)),
      'bundle-badges',
      badgesSql,
      [
        idList(some.map(({ bundle }) => bundle.id)),
        idList(some.map(({ bundle }) => bundle.n)),
        idList(some.map(({ badge }) => badge.count)),
        some[0]!.bundle.worker,
        kind === 'add',
      ],
    )
    const byBundle = new Map(rows)
    requests.forEach(({ bundle, badge }, at) => {
      if (badge.kind === kind) badges[at] = byBundle.get(bundle.id)?.[bundle.n - 1] ?? undefined
    })
  }
  return badges
}

// A block of badges is shared by 256 devices, so its lock must not last until the flush. If the server crashes before, the numbers and the
// blocks are lost together.
// A device may be in the bundle several times: all of its messages show the number after the last.
const badgesSql = `
WITH input AS MATERIALIZED (
  SELECT i.* FROM unnest($1::bigint[], $2::int[], $3::int[]) AS i (bundle, n, count), (SELECT set_config('synchronous_commit', 'off', true)) c
), held AS MATERIALIZED (
  SELECT b.task_id, b.size, b.recipients, b.badges FROM bundle b
  WHERE b.task_id = ANY($1::bigint[]) AND ${inDays('b.task_id')} AND b.worker = $4 AND b.state = 'sending'
  ORDER BY b.task_id FOR NO KEY UPDATE
), members AS MATERIALIZED (
  SELECT h.task_id AS bundle, i.n, h.recipients[i.n] AS device, i.count FROM held h JOIN input i ON i.bundle = h.task_id
  WHERE h.badges IS NULL OR h.badges[i.n] IS NULL
), devices AS MATERIALIZED (
  SELECT array_agg(device ORDER BY device) AS ids, array_agg(count ORDER BY device) AS counts FROM (
    SELECT device, LEAST(CASE WHEN $5 THEN sum(count) ELSE max(count) END, ${MAX_BADGE})::int AS count FROM members GROUP BY device
  ) d
), shown AS MATERIALIZED (
  SELECT s.device, s.number FROM devices d, unnest(d.ids, show_badges(d.ids, d.counts, $5)) AS s (device, number) WHERE d.ids IS NOT NULL
), numbers AS MATERIALIZED (
  SELECT m.bundle, m.n, s.number FROM members m JOIN shown s ON s.device = m.device
), changed AS (
  UPDATE bundle b SET badges = s.badges FROM (
    SELECT h.task_id, array_agg(coalesce(c.number, h.badges[g.i]) ORDER BY g.i) AS badges
    FROM held h CROSS JOIN LATERAL generate_series(1, h.size) g (i) LEFT JOIN numbers c ON c.bundle = h.task_id AND c.n = g.i
    WHERE h.task_id IN (SELECT bundle FROM numbers) GROUP BY 1
  ) s WHERE b.task_id = s.task_id AND b.task_id = ANY($1::bigint[]) AND ${inDays('b.task_id')} RETURNING b.task_id, b.badges
)
SELECT h.task_id, coalesce(c.badges, h.badges) FROM held h LEFT JOIN changed c ON c.task_id = h.task_id`
