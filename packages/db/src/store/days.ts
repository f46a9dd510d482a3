import { createHash } from 'node:crypto'
import type { Database } from './database.ts'
import { DAYS_AHEAD, firstTaskIdAt, IDS_PER_DAY, readExtent } from './partitions.ts'
import { beginWithout, inUncheckedTransaction, type Runner, run } from './statement.ts'

/**
 * Days of task ids that a statement reads. They are written into its text as constants, once per day and connection, instead of being
 * passed as parameters: a prepared statement with parameters locks and opens the partitions of all days before it knows the values.
 */
export type Days = {
  /** Added to the name of the statement; undefined: with more than MAX_PREPARED_DAYS days the statement is not prepared. */
  name: string | undefined
  /** The first and the last of the days, if a caller may have chosen them. */
  chosen?: { first: number; last: number }
  /** The condition that a column with a task id is in these days. */
  of(column: string): string
}

/** Of a search: if there are more runs of days, those with the fewest days between them are joined. A list of `byDays` has at most as many days. */
const MAX_RUNS = 8
/** Statements of more days are not prepared: each combination would be kept by every connection. */
const MAX_PREPARED_DAYS = 2

/**
 * Days of one statement, if all have to be read. A statement locks every table and index of its days, 30 per day if it reads tasks, batches
 * and inboxes: with 400 days more than Postgres has room for by default.
 */
export const WINDOW_DAYS = 16

/** The day of an id; days are numbered from that of the id 0. */
export const dayOfId = (id: number): number => Math.floor(id / IDS_PER_DAY)

/** The ids of tasks from `from` on, and below `upto`. */
export type IdRange = { from: number; upto?: number }

/** The condition that a column is in the range. The ids are constants, so that other days are not opened. */
export function inRange({ from, upto }: IdRange): (column: string) => string {
  return (column) => `${column} >= ${from}${upto === undefined ? '' : ` AND ${column} < ${upto}`}`
}

type Run = { from: number; to: number }

/** Days in ascending order, as runs; `to` is not included. */
function runsOf(days: readonly number[]): Run[] {
  const runs: Run[] = []
  for (const day of days) {
    const last = runs.at(-1)
    if (last?.to === day) last.to = day + 1
    else runs.push({ from: day, to: day + 1 })
  }
  return runs
}

/** The days of these tasks, and no others: the days between them may be more than Postgres has room to lock. */
export function daysOf(taskIds: readonly (number | bigint)[]): Days {
  const days = new Set<number>()
  // A condition that is false would open every day. There is no day before the first id.
  if (taskIds.length === 0) days.add(-1)
  for (const id of taskIds) days.add(dayOfId(Number(id)))
  return daysIn(runsOf([...days].sort((a, b) => a - b)))
}

/** Divides tasks of any days, in ascending order, into lists that are of few days each, so that a statement for each locks few. */
export function byDays(taskIds: readonly number[]): number[][] {
  return groupByDays(taskIds, (id) => id)
}

/** The same for anything that has the id of a task. All of one day are in one list. */
export function groupByDays<T>(items: readonly T[], taskIdOf: (item: T) => number): T[][] {
  const lists: T[][] = []
  let days = new Set<number>()
  for (const item of [...items].sort((a, b) => taskIdOf(a) - taskIdOf(b))) {
    const day = dayOfId(taskIdOf(item))
    if (lists.length === 0 || (days.size === MAX_RUNS && !days.has(day))) {
      lists.push([])
      days = new Set()
    }
    days.add(day)
    lists.at(-1)!.push(item)
  }
  return lists
}

/**
 * The same for ids that callers choose: one statement for all of them would lock every day that is kept. If they need several lists, those
 * of days that do not exist are left out, which would cost a statement per list.
 */
export async function groupByKeptDays<T>(
  runner: Runner,
  items: readonly T[],
  taskIdOf: (item: T) => number,
): Promise<T[][]> {
  const lists = groupByDays(items, taskIdOf)
  if (lists.length <= 1) return lists
  const { now, first, before } = await readExtent(runner)
  const from = before > 0 ? 0 : first
  const upto = firstTaskIdAt(now) + (DAYS_AHEAD + 1) * IDS_PER_DAY
  const kept = items.filter((item) => taskIdOf(item) >= from && taskIdOf(item) < upto)
  return groupByDays(kept, taskIdOf)
}

/** The days from `from` to before `to`, by their numbers. */
export function daysWithin(from: number, to: number): Days {
  return daysIn([{ from, to }])
}

/** The day of this task and all later ones. */
export function daysFrom(taskId: number): Days {
  return daysIn([{ from: dayOfId(taskId), to: Number.POSITIVE_INFINITY }])
}

/**
 * The days from that of one task to that of another, for searches. The partitions of the coming week are empty, but a statement that
 * includes them takes several times as long to plan and to start.
 */
export function daysBetween(first: number, last: number): Days {
  return daysFromTo(dayOfId(first), dayOfId(last))
}

function daysFromTo(from: number, to: number): Days {
  const [low, middle, high] = [from, from + 0.5, to + 1].map(firstIdOf) as [bigint, bigint, bigint]
  return {
    name: `${from}-${to}+`,
    // In two parts, as below.
    of: (column) =>
      `(${column} >= ${low} AND ${column} < ${middle} OR ${column} >= ${middle} AND ${column} < ${high})`,
  }
}

/** The days of a search: those of `days`, in ascending order, that are before `from`, and all from there to `to`. */
export function daysOfSearch(days: readonly number[], from: number, to: number): Days {
  const runs = runsOf(days.filter((day) => day < from))
  if (runs.at(-1)?.to === from) runs.at(-1)!.to = to + 1
  else runs.push({ from, to: to + 1 })
  while (runs.length > MAX_RUNS) joinNearest(runs)
  if (runs.length === 1) return daysFromTo(runs[0]!.from, to)
  return { name: `${runs.map(nameOf).join(',')}+`, of: conditionOf(runs) }
}

/** Joins the two runs with the fewest days between them. */
function joinNearest(runs: Run[]): void {
  let nearest = 1
  const gap = (n: number) => runs[n]!.from - runs[n - 1]!.to
  for (let n = 2; n < runs.length; n++) if (gap(n) < gap(nearest)) nearest = n
  const [joined] = runs.splice(nearest, 1)
  runs[nearest - 1]!.to = joined!.to
}

/** `day` may be a half. */
const firstIdOf = (day: number): bigint => (BigInt(day * 2) * BigInt(IDS_PER_DAY)) / 2n

const nameOf = ({ from, to }: Run) =>
  to === Number.POSITIVE_INFINITY ? `${from}+` : to === from + 1 ? `${from}` : `${from}-${to - 1}`

function daysIn(runs: readonly Run[]): Days {
  const count = runs.reduce((sum, { from, to }) => sum + (to === Number.POSITIVE_INFINITY ? 1 : to - from), 0)
  const { from, to } = runs.at(-1)!
  return {
    name: count <= MAX_PREPARED_DAYS ? runs.map(nameOf).join(',') : undefined,
    chosen: { first: runs[0]!.from, last: to === Number.POSITIVE_INFINITY ? from : to - 1 },
    of: conditionOf(runs),
  }
}

function conditionOf(runs: readonly Run[]): Days['of'] {
  return (column) => {
    const conditions = runs.map(({ from, to }) => {
      const low = `${column} >= ${BigInt(from) * BigInt(IDS_PER_DAY)}`
      // In two parts: as one condition Postgres might search an index of task ids instead of the one by which the work is found.
      const next = BigInt(from + 1) * BigInt(IDS_PER_DAY)
      return to === Number.POSITIVE_INFINITY
        ? `(${low} AND ${column} < ${next} OR ${column} >= ${next})`
        : `${low} AND ${column} < ${BigInt(to) * BigInt(IDS_PER_DAY)}`
    })
    return conditions.length === 1 ? conditions[0]! : `(${conditions.join(' OR ')})`
  }
}

/** In a text for `runWithin`: the condition that a column with a task id is in the days of the call. */
export function inDays(column: string): string {
  return `in_days(${column})`
}

/** Statements of these days before today, and of the days after it, are always prepared. */
const RECENT_DAYS = 3
/** Of older days, as many sets as this; the next ones when the connections that have prepared them are closed. */
const MAX_OLD_SETS = 32
const OLD_SETS_MS = 3_600_000

let oldSets = new Set<string>()
let oldSetsSince = 0

/**
 * Ids in calls may be of any day, also of days that never were. Each statement of such a day would stay prepared on the connection that ran
 * it, so that a caller could take all memory: only a limited number of sets of older days is prepared.
 */
function isPrepared({ name, chosen }: Days): boolean {
  if (name === undefined) return false
  const now = Date.now()
  const today = dayOfId(firstTaskIdAt(now))
  if (!chosen || (chosen.first >= today - RECENT_DAYS && chosen.last <= today + 1)) return true
  if (now - oldSetsSince >= OLD_SETS_MS) {
    oldSets = new Set()
    oldSetsSince = now
  }
  if (oldSets.size < MAX_OLD_SETS) oldSets.add(name)
  return oldSets.has(name)
}

/** Emptied when it is full. */
const prepared = new Map<string, { name: string; text: string }>()
const MAX_PREPARED = 1000

/** Postgres ignores what follows in the name of a prepared statement: two names that differ only there would be one statement. */
const MAX_NAME = 63
const HASH_LENGTH = 16

/** The name of a statement of these days, for any number of them. */
function preparedName(name: string, days: string): string {
  const whole = `${name}@${days}`
  if (whole.length <= MAX_NAME) return whole
  const hash = createHash('sha1').update(whole).digest('hex').slice(0, HASH_LENGTH)
  return `${name.slice(0, MAX_NAME - HASH_LENGTH - 1)}@${hash}`
}

/** Runs a statement whose text has `inDays`. */
export function runWithin<Row extends unknown[]>(
  runner: Runner,
  days: Days,
  name: string,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  if (!isPrepared(days)) return run(runner, undefined, textWithin(days, text), values)
  const key = `${name}@${days.name}`
  let statement = prepared.get(key)
  if (statement === undefined) {
    if (prepared.size >= MAX_PREPARED) prepared.clear()
    statement = { name: preparedName(name, days.name!), text: textWithin(days, text) }
    prepared.set(key, statement)
  }
  return run(runner, statement.name, statement.text, values)
}

/**
 * A search reads the first entries of an index in each day. If the statistics know of few such rows, or if most days are empty, Postgres
 * expects that reading and sorting all of them costs the same, and does so until the next ANALYZE, however many there are by then. The
 * same holds for a sequential scan of a day that was empty, and for a bitmap of all ids of a day. Begins a transaction without these.
 */
export const beginSearch = beginWithout('sort', 'incremental_sort', 'seqscan', 'bitmapscan')

/**
 * Runs a statement whose text has `inDays` and that searches the first rows in the order of an index. Costs two more round trips. Some
 * write what they find; if the reply to their COMMIT is lost, the planner finds the rest with the next round.
 */
export function searchWithin<Row extends unknown[]>(
  db: Database,
  days: Days,
  name: string,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  return inUncheckedTransaction(db, (runner) => runWithin<Row>(runner, days, name, text, values), beginSearch)
}

/** Replaces each `inDays` by its condition. */
export function textWithin(days: Days, text: string): string {
  return text.replace(/\bin_days\(([\w.]+)\)/g, (_, column: string) => days.of(column))
}
