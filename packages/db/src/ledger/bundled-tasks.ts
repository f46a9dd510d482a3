import { dayOfId, daysOf, type IdRange, inDays, inRange } from '../store/days.ts'
import { IDS_PER_DAY } from '../store/partitions.ts'

/**
 * A task to one device is written once, in the state 'bundled'; its result is one letter of its bundle. All statements that read
 * states or counters of such tasks get them from here. A task that left its bundle has another state, and rows of its own like any task.
 */

/**
 * Joins the bundle of a task in the state 'bundled' as `m`: channel, certificate_id, device_id, letter, planned_at, settled_at. All are NULL for other tasks. Costs
 * an index look-up and the position in an array of at most 64 ids. `within` is a condition on the days of `b.task_id`.
 */
export function memberSql(task: string, within = inDays('b.task_id')): string {
  return `LEFT JOIN LATERAL (
    SELECT b.channel, b.certificates[p.n] AS certificate_id, b.recipients[p.n] AS device_id, substr(b.status, p.n, 1) AS letter,
      b.planned_at, b.settled_at
    FROM bundle b CROSS JOIN LATERAL (SELECT array_position(b.tasks, ${task}.id) AS n) p
    WHERE b.task_id = ${task}.bundle AND ${task}.state = 'bundled' AND ${within}
  ) m ON true`
}

/** `inRange` for the bundles of these tasks: a bundle has tasks of one day, and the id of the first. */
export function inRangeOfBundles({ from, upto }: IdRange): (column: string) => string {
  return inRange({ from: dayOfId(from) * IDS_PER_DAY, upto })
}

/**
 * A task of which only messages in inboxes are left, that wait for their devices and for no other channel. It keeps the state 'sending', so
 * that everything that looks for open tasks sees it: it can be cancelled and paused, its days are kept, its end is checked. It is shown as
 * finished, since the time in `finished_at`.
 */
export function isWaitingSql(task: string): string {
  return `${task}.state = 'sending' AND ${task}.finished_at IS NOT NULL AND NOT ${task}.cancelling`
}

/** The state of a task that was joined with `memberSql`, as it is shown. */
export function stateSql(task: string): string {
  return `CASE WHEN ${isWaitingSql(task)} THEN 'finished' WHEN ${task}.state <> 'bundled' THEN ${task}.state
    WHEN m.letter = 's' THEN 'finished' ELSE 'sending' END`
}

/** When a task that was joined with `memberSql` ended. */
export function finishedAtSql(task: string): string {
  return `CASE WHEN m.letter = 's' THEN m.settled_at ELSE ${task}.finished_at END`
}

/** The counters of a task that was joined with `memberSql`; those of a channel must be added up, because `received` and `clicked` have a row of their own. */
export function countersSql(task: string, within = inDays('c.task_id')): string {
  return `SELECT c.channel, c.target, c.sent, c.received, c.clicked, c.failed, c.moved, c.expired, c.cancelled FROM counter c
    WHERE c.task_id = ${task}.id AND ${within}
    UNION ALL SELECT m.channel, 1, CASE WHEN m.letter = 's' THEN 1 ELSE 0 END, 0, 0, 0, 0, 0, 0 WHERE m.letter IS NOT NULL`
}

/** How many of the tasks of a bundle have this letter. */
export function countLettersSql(status: string, letter: '.' | 's' | 'm'): string {
  return `length(${status}) - length(replace(${status}, '${letter}', ''))`
}

const statesIn = (
  bundles: string,
  tasks: string,
) => `(SELECT t.id, t.app_id, t.paused, t.cancelling, t.unreachable, ${stateSql('t')} AS state
  FROM task t ${memberSql('t', bundles)} WHERE ${tasks})`

const countersIn = (
  bundles: string,
  counters: string,
  tasks: string,
) => `(SELECT c.task_id, c.channel, sum(c.target)::bigint AS target, sum(c.sent)::bigint AS sent,
    sum(c.received)::bigint AS received, sum(c.clicked)::bigint AS clicked, sum(c.failed)::bigint AS failed, sum(c.moved)::bigint AS moved,
    sum(c.expired)::bigint AS expired, sum(c.cancelled)::bigint AS cancelled
  FROM (SELECT t.id AS task_id, c.* FROM task t ${memberSql('t', bundles)} CROSS JOIN LATERAL (${countersSql('t', counters)}) c
    WHERE ${tasks}) c GROUP BY 1, 2)`

/** All tasks with their states, as a subquery for statements that read every day: specs, drills and benchmarks. */
export const taskStatesSql = statesIn('true', 'true')

/** The counters of all tasks, also as a subquery. */
export const taskCountersSql = countersIn('true', 'true', 'true')

/** The same for statements about one task, for specs: planning them for every day takes longer than running them. `name` is that of its day. */
export function subqueriesFor(taskId: number) {
  const { name = '', of } = daysOf([taskId])
  return {
    name,
    states: statesIn(of('b.task_id'), of('t.id')),
    counters: countersIn(of('b.task_id'), of('c.task_id'), of('t.id')),
  }
}
