import { type Channel, publicName } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { aboutTasks } from './about-tasks.ts'

/** A counter of a task with events of its devices, and the entries of its events, which should be as many. */
export type EventImbalance = {
  taskId: number
  channel: string
  kind: string
  counted: number
  entries: number
  /** Devices with more than one entry of this kind. */
  repeated: number
}

/** Channels with reasons or letters that do not agree with their counters. */
export type LetterImbalance = {
  taskId: number
  channel: string
  fate: string
  counted: number
  letters: number
}

/**
 * Checks that the events of every task with device events are those that its counters count: entries in the outbox and in the stream, by
 * channel and kind, and no device twice. One statement, hence one snapshot. Tasks whose events are older than the stream is kept are not
 * complete. Returns the rows that violate it.
 */
export async function findEventImbalances(
  db: Database,
  taskIds?: readonly number[],
): Promise<EventImbalance[]> {
  const { rows } = await db.pool.query<Omit<EventImbalance, 'channel'> & { channel: Channel }>(
    eventsOf(taskIds),
  )
  return rows.map((row) => ({ ...row, channel: publicName(row.channel) }))
}

const eventsOf = aboutTasks(
  (isWanted) => `
WITH concerned AS MATERIALIZED (
  SELECT id FROM task WHERE events = 2 AND ${isWanted('id')}
), counted AS (
  SELECT c.task_id, c.channel, v.kind, v.n FROM counter c JOIN concerned t ON t.id = c.task_id
  CROSS JOIN LATERAL (VALUES ('device.sent', c.sent), ('device.failed', c.failed), ('device.expired', c.expired),
    ('device.received', c.received), ('device.clicked', c.clicked)) AS v (kind, n)
  WHERE v.n > 0
), entries AS (
  SELECT e.task_id, e.channel, e.kind, d.id, count(*) AS n FROM (
    SELECT task_id, channel, kind, devices FROM outbox UNION ALL SELECT task_id, channel, kind, devices FROM event
  ) e JOIN concerned t ON t.id = e.task_id CROSS JOIN LATERAL unnest(e.devices) AS d (id)
  WHERE e.kind LIKE 'device.%' GROUP BY 1, 2, 3, 4
), told AS (
  SELECT task_id, channel, kind, sum(n) AS n, count(*) FILTER (WHERE n > 1) AS repeated FROM entries GROUP BY 1, 2, 3
)
SELECT task_id AS "taskId", channel, kind, coalesce(c.n, 0)::float8 AS counted, coalesce(t.n, 0)::float8 AS entries,
  coalesce(t.repeated, 0)::int AS repeated
FROM counted c FULL JOIN told t USING (task_id, channel, kind)
WHERE coalesce(c.n, 0) <> coalesce(t.n, 0) OR coalesce(t.repeated, 0) > 0
ORDER BY 1, 2, 3`,
)

/**
 * Checks the letters of vendor batches against the counters: as many s, f, m, x and c as are counted, and every f, m, x and c has a reason.
 * The native channel is left out: its messages are in inboxes, receipts and records as well. Returns the rows that violate it; a fate
 * without its reason is listed as `<fate> without a reason`.
 */
export async function findLetterImbalances(
  db: Database,
  taskIds?: readonly number[],
): Promise<LetterImbalance[]> {
  const { rows } = await db.pool.query<Omit<LetterImbalance, 'channel'> & { channel: Channel }>(
    lettersOf(taskIds),
  )
  return rows.map((row) => ({ ...row, channel: publicName(row.channel) }))
}

const lettersOf = aboutTasks(
  (isWanted) => `
WITH placed AS MATERIALIZED (
  SELECT b.task_id, b.channel, f.fate, f.letter, length(b.status) - length(replace(b.status, f.letter, '')) AS n, b.whys
  FROM batch b CROSS JOIN (VALUES ('sent', 's'), ('failed', 'f'), ('moved', 'm'), ('expired', 'x'), ('cancelled', 'c')) AS f (fate, letter)
  WHERE b.channel <> 'native' AND NOT b.is_record AND ${isWanted('b.task_id')}
), letters AS (
  SELECT task_id, channel, fate, sum(n) AS n FROM placed GROUP BY 1, 2, 3
), counted AS (
  SELECT c.task_id, c.channel, v.fate, v.n FROM counter c JOIN task t ON t.id = c.task_id AND t.state <> 'bundled'
  CROSS JOIN LATERAL (VALUES ('sent', c.sent), ('failed', c.failed), ('moved', c.moved), ('expired', c.expired), ('cancelled', c.cancelled))
    AS v (fate, n)
  WHERE c.channel <> 'native' AND ${isWanted('c.task_id')}
), explained AS (
  SELECT p.task_id, p.channel, p.fate, p.n, CASE
    WHEN EXISTS (SELECT 1 FROM jsonb_array_elements(p.whys) w WHERE w ->> 'f' = p.fate AND NOT w ? 'p') THEN p.n
    ELSE (SELECT coalesce(sum(jsonb_array_length(w -> 'p')), 0) FROM jsonb_array_elements(p.whys) w WHERE w ->> 'f' = p.fate) END AS reasons
  FROM placed p WHERE p.fate <> 'sent' AND p.n > 0
)
SELECT task_id AS "taskId", channel, fate, coalesce(c.n, 0)::float8 AS counted, coalesce(l.n, 0)::float8 AS letters
FROM counted c FULL JOIN letters l USING (task_id, channel, fate) WHERE coalesce(c.n, 0) <> coalesce(l.n, 0)
UNION ALL
SELECT task_id, channel, fate || ' without a reason', sum(n)::float8, sum(reasons)::float8 FROM explained
GROUP BY 1, 2, 3 HAVING sum(n) <> sum(reasons)
ORDER BY 1, 2, 3`,
)
