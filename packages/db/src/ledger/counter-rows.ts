import { type Plan, targetsOf } from '@herald/domain'

type Counter =
  | 'target'
  | 'sent'
  | 'received'
  | 'clicked'
  | 'failed'
  | 'moved'
  | 'expired'
  | 'cancelled'
  | 'ranged'

/**
 * A condition that is always true, but makes Postgres complete the named steps (CTEs) before the rows it guards. Postgres runs
 * writing CTEs in any order otherwise, and two statements that lock the same rows in different orders deadlock.
 */
export function after(...steps: string[]): string {
  return steps.map((step) => `(SELECT count(*) FROM ${step}) >= 0`).join(' AND ')
}

/** The targets of a plan inside a JSON parameter. */
export function targetRows(plan: Plan) {
  const spreads = new Map<string, number>()
  for (const { channel, recipients } of plan.batches)
    spreads.set(channel, Math.max(spreads.get(channel) ?? 0, recipients.at(-1)! - recipients[0]!))
  return [...targetsOf(plan)].map(([channel, target]) => ({
    channel,
    target,
    spread: spreads.get(channel) ?? 0,
  }))
}

/** Batches up to this many recipients are found by their devices (the index batch_devices). */
export const INDEXED_SIZE = 64

/** Whether a batch of this task, also a later one to which its devices move, may be too large for the index batch_devices. */
export function isWide({ batches, inbox }: Plan): boolean {
  return batches.reduce((sum, { recipients }) => sum + recipients.length, inbox.length) > INDEXED_SIZE
}

/** Column list of `jsonb_to_recordset` for `targetRows`. */
export const targetRecord = 'channel text, target bigint, spread bigint'

/** How two values of a counter become one. `spread` is the largest hi - lo of the batches; the others are sums. */
const largest = new Set(['spread'])

/**
 * Adds `deltas` (task_id, channel and the counters) to the counters, sorted, so that statements with several counters in common
 * wait for each other instead of deadlocking. Counters come last in every statement.
 */
export function addCountersSql(
  counters: readonly (Counter | 'spread')[],
  deltas: string,
  condition = 'true',
): string {
  const together = (counter: string) => `${largest.has(counter) ? 'max' : 'sum'}(${counter})`
  const added = (counter: string) =>
    largest.has(counter)
      ? `${counter} = GREATEST(c.${counter}, excluded.${counter})`
      : `${counter} = c.${counter} + excluded.${counter}`
  return `INSERT INTO counter AS c (task_id, channel, ${counters.join(', ')})
  SELECT task_id, channel, ${counters.map(together).join(', ')} FROM (${deltas}) deltas
  WHERE ${condition} GROUP BY task_id, channel ORDER BY task_id, channel
  ON CONFLICT (task_id, channel) DO UPDATE
    SET ${counters.map(added).join(', ')}`
}

/**
 * The steps `counted`, which adds to counters, and `checks`, which enqueues a check of the tasks of which nothing is pending on a
 * channel, and of those that `alsoCheck` selects (task_id). Each of two concurrent statements sees the other's batch as open, so neither
 * can tell from the batches that it is the last; but they change the counter one after the other, and the second one gets 0.
 */
export function countAndCheckSql(
  counters: readonly (Counter | 'spread')[],
  deltas: string,
  condition = 'true',
  alsoCheck?: string,
): string {
  const ended = 'SELECT task_id FROM counted WHERE pending <= 0'
  return `counted AS (
  ${addCountersSql(counters, deltas, condition)}
  RETURNING c.task_id, c.target - c.sent - c.failed - c.moved - c.expired - c.cancelled AS pending
), checks AS (
  ${addChecksSql(alsoCheck === undefined ? ended : `${ended} UNION ALL ${alsoCheck}`)}
)`
}

/** Enqueues a check whether these tasks have ended (finishing.ts). */
export function addChecksSql(tasks: string): string {
  return `INSERT INTO task_check (task_id) SELECT DISTINCT task_id FROM (${tasks}) ended`
}
