import type { Database } from '../store/database.ts'
import { daysOf, inDays, runWithin } from '../store/days.ts'
import { inTransaction, run } from '../store/statement.ts'

/** Tasks and batches per call. */
const MAX_TASKS = 100
const MAX_BATCHES = 5000
/**
 * A statement that began before the pause or the resume may insert or put back batches in the former state. It ends within its time
 * limit, also as a part of a transaction; then nothing of this task has to be looked at any more.
 */
const ALIGNED_MINUTES = 5

/**
 * Holds the batches of tasks that were paused in the last minutes, and lets those of resumed tasks continue. Looks at a task less and
 * less often, and then no more: one that stays paused costs nothing.
 */
export async function alignPausedBatches(db: Database): Promise<number> {
  const changes = await run<[taskId: number, changedAt: string]>(
    db.pool,
    'pause-changes',
    `SELECT task_id, changed_at::text FROM pause_change WHERE align_at <= now() ORDER BY align_at LIMIT ${MAX_TASKS}`,
    [],
  )
  if (changes.length === 0) return 0
  const tasks = changes.map(([taskId]) => taskId)
  const days = daysOf(tasks)
  const [held, freed] = await inTransaction(db, async (runner) => {
    // If most batches of a day are of one task, Postgres expects as many of any other, and would read them all.
    await runner.query('SET LOCAL enable_seqscan = off')
    const held = await runWithin(
      runner,
      days,
      'hold-paused',
      `WITH unheld AS MATERIALIZED (
         SELECT b.* FROM task t CROSS JOIN LATERAL (
           SELECT b.task_id, b.id FROM batch b
           WHERE b.task_id = t.id AND ${inDays('b.task_id')} AND b.state IN ('ready', 'paced', 'released')
           ORDER BY b.channel LIMIT ${MAX_BATCHES} FOR UPDATE SKIP LOCKED
         ) b
         WHERE t.id = ANY($1::bigint[]) AND ${inDays('t.id')} AND t.paused AND t.state IN ('planning', 'sending') LIMIT ${MAX_BATCHES}
       )
       UPDATE batch b SET state = 'held' FROM ${rowsOf('unheld', 'task_id', 'id')} AS u (task_id, id)
       WHERE b.task_id = u.task_id AND b.id = u.id AND ${inDays('b.task_id')} RETURNING b.id`,
      [tasks],
    )
    const freed = await runWithin(
      runner,
      days,
      'free-resumed',
      `WITH resumed AS MATERIALIZED (
         SELECT b.*, t.speed FROM task t CROSS JOIN LATERAL (
           SELECT b.task_id, b.id FROM batch b WHERE b.task_id = t.id AND ${inDays('b.task_id')} AND b.state = 'held'
           ORDER BY b.not_before, b.id LIMIT ${MAX_BATCHES} FOR UPDATE SKIP LOCKED
         ) b
         WHERE t.id = ANY($1::bigint[]) AND ${inDays('t.id')} AND NOT t.paused LIMIT ${MAX_BATCHES}
       )
       UPDATE batch b SET state = CASE WHEN r.speed IS NOT NULL THEN 'paced' ELSE 'ready' END
       FROM ${rowsOf('resumed', 'task_id', 'id', 'speed')} AS r (task_id, id, speed)
       WHERE b.task_id = r.task_id AND b.id = r.id AND ${inDays('b.task_id')} RETURNING b.id`,
      [tasks],
    )
    return [held.length, freed.length] as const
  })
  // More of the same tasks may be left: they are looked at again at once.
  if (held < MAX_BATCHES && freed < MAX_BATCHES) await postpone(db, changes)
  return held + freed
}

/**
 * The rows of a step as arrays. Of the step itself Postgres expects as many rows as its limit, and would read the whole table to join
 * them with it.
 */
function rowsOf(step: string, ...columns: string[]): string {
  return `unnest(${columns.map((column) => `ARRAY(SELECT ${column} FROM ${step})`).join(', ')})`
}

/** A task that was paused or resumed again in between is left as it is. */
async function postpone(db: Database, changes: [taskId: number, changedAt: string][]): Promise<void> {
  await run(
    db.pool,
    'postpone-alignment',
    `WITH looked AS MATERIALIZED (
       SELECT c.task_id, c.changed_at FROM pause_change c
       JOIN unnest($1::bigint[], $2::timestamptz[]) AS k (task_id, changed_at) USING (task_id, changed_at)
       ORDER BY 1 FOR UPDATE OF c SKIP LOCKED
     ), aligned AS (
       DELETE FROM pause_change c USING looked l
       WHERE c.task_id = l.task_id AND l.changed_at <= now() - interval '${ALIGNED_MINUTES} minutes'
     )
     UPDATE pause_change c SET align_at = now() + GREATEST(interval '500 milliseconds', now() - l.changed_at) FROM looked l
     WHERE c.task_id = l.task_id AND l.changed_at > now() - interval '${ALIGNED_MINUTES} minutes'`,
    [changes.map(([taskId]) => taskId), changes.map(([, changedAt]) => changedAt)],
  )
}
