import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/** Rows of one statement: at 1000 devices each some 10 MB. */
export const MOVED_ROWS = 1000

/**
 * Moves the next rows of the outbox to the stream, in the order in which they were written, and wakes the webhooks that want them. One process
 * at a time: the one that has the lock of event_head. Ids are drawn by the clock, like those of tasks, but always increase: a reader that has seen
 * an id misses nothing before it. Returns the number of rows.
 */
export async function moveOutbox(db: Database, limit = MOVED_ROWS): Promise<number> {
  const [row] = await run<[moved: number]>(db.pool, 'move-outbox', moveSql, [limit])
  return row![0]
}

const moveSql = `
WITH head AS MATERIALIZED (
  SELECT last FROM event_head FOR UPDATE SKIP LOCKED
), first AS MATERIALIZED (
  SELECT GREATEST(next_task_id(), last + 1) AS id FROM head
), taken AS (
  DELETE FROM outbox o USING first WHERE o.id = ANY (ARRAY(SELECT id FROM outbox ORDER BY id LIMIT $1))
  RETURNING o.*
), added AS (
  INSERT INTO event (id, app_id, at, kind, task_id, campaign, channel, code, text, devices, detail, entries)
  SELECT first.id + row_number() OVER (ORDER BY t.id) - 1, t.app_id, t.at, t.kind, t.task_id, t.campaign, t.channel, t.code, t.text,
    t.devices, t.detail, GREATEST(coalesce(cardinality(t.devices), 1), 1)
  FROM taken t, first
  RETURNING id, app_id, kind, campaign
), counted AS (
  UPDATE event_head SET last = (SELECT max(id) FROM added) WHERE EXISTS (SELECT 1 FROM added)
), wanted AS (
  SELECT w.id, max(a.id) AS head FROM added a JOIN webhook w ON w.app_id = a.app_id AND a.kind = ANY (w.events)
    AND (w.campaign IS NULL OR w.campaign = a.campaign)
  GROUP BY w.id ORDER BY w.id
), woken AS (
  UPDATE webhook w SET head = wanted.head FROM wanted WHERE w.id = wanted.id
)
SELECT count(*) FROM added`
