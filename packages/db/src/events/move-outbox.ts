import type { Database } from '../store/database.ts'
import { codeOf } from '../store/errors.ts'
import { inTransaction, type Runner, run } from '../store/statement.ts'

/** Rows of one statement: at 1000 devices each some 10 MB. */
export const MOVED_ROWS = 1000

/**
 * Moves the next rows of the outbox to the stream, in the order in which they were written, and wakes the webhooks that want them. One process
 * at a time: the one that has the lock of event_head. Ids are drawn by the clock, like those of tasks, but always increase: a reader that has seen
 * an id misses nothing before it. Returns the number of rows.
 */
export function moveOutbox(db: Database, limit = MOVED_ROWS): Promise<number> {
  return move(db.pool, limit)
}

async function move(runner: Runner, limit: number): Promise<number> {
  const [row] = await run<[moved: number]>(runner, 'move-outbox', moveSql, [limit])
  return row![0]
}

/** Longer than the changes of webhooks take that wait before it. */
const WAIT_MS = 2000
const LOCK_TIMEOUT = '55P03'

/**
 * Like `moveOutbox`, but takes its place in the queue for the lock: changes of webhooks, one after another, could keep it from all others. One
 * process at a time waits. Returns 0 if another one does, or if it is not its turn in time.
 */
export async function moveOutboxInTurn(db: Database, waitMs = WAIT_MS): Promise<number> {
  try {
    return await inTransaction(
      db,
      async (runner) => {
        const [row] = await run<[isNext: boolean]>(
          runner,
          'move-outbox-next',
          `SELECT EXISTS (SELECT 1 FROM outbox) AND pg_try_advisory_xact_lock(hashtext('herald outbox'))`,
          [],
        )
        if (!row![0]) return 0
        // A statement of its own: the next one sees the webhooks that were saved while it waited.
        await run(runner, 'move-outbox-lock', 'SELECT last FROM event_head FOR UPDATE', [])
        return await move(runner, MOVED_ROWS)
      },
      `BEGIN; SET LOCAL lock_timeout = ${waitMs}`,
    )
  } catch (error) {
    if (codeOf(error) === LOCK_TIMEOUT) return 0
    throw error
  }
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
