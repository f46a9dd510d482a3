import { createHash } from 'node:crypto'
import type { Database } from './database.ts'
import { type FoundDays, noteFoundDays, readFoundDays } from './found-days.ts'
import { firstTaskIdAt, IDS_PER_DAY, IDS_PER_MS, readExtent, readPresent } from './partitions.ts'
import {
  beginWithout,
  type Connection,
  onConnection,
  type Runner,
  readInTransaction,
  run,
  transaction,
} from './statement.ts'

/**
 * Days of task ids that a statement reads. They are written into its text as constants, once per day and connection, instead of being
 * passed as parameters: a prepared statement with parameters locks and opens the partitions of all days before it knows the values.
 */
export type Days = {
  /** Added to the name of the statement; undefined: with more than MAX_PREPARED_DAYS days the statement is not prepared. */
  name: string | undefined
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

/** Days ahead that may have partitions. */
const DAYS_AHEAD = 8

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
  const upto = firstTaskIdAt(now) + DAYS_AHEAD * IDS_PER_DAY
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
function daysOfSearch(days: readonly number[], from: number, to: number): Days {
  const runs = runsOf(days.filter((day) => day < from))
  if (runs.at(-1)?.to === from) runs.at(-1)!.to = to + 1
  else runs.push({ from, to: to + 1 })
  while (runs.length > MAX_RUNS) joinNearest(runs)
  if (runs.length === 1) return daysFromTo(runs[0]!.from, to)
  return { name: `${runs.map(nameOf).join(',')}+`, of: daysIn(runs).of }
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
  return {
    name: count <= MAX_PREPARED_DAYS ? runs.map(nameOf).join(',') : undefined,
    of(column) {
      const conditions = runs.map(({ from, to }) => {
        const low = `${column} >= ${BigInt(from) * BigInt(IDS_PER_DAY)}`
        // In two parts: as one condition Postgres might search an index of task ids instead of the one by which the work is found.
        const next = BigInt(from + 1) * BigInt(IDS_PER_DAY)
        return to === Number.POSITIVE_INFINITY
          ? `(${low} AND ${column} < ${next} OR ${column} >= ${next})`
          : `${low} AND ${column} < ${BigInt(to) * BigInt(IDS_PER_DAY)}`
      })
      return conditions.length === 1 ? conditions[0]! : `(${conditions.join(' OR ')})`
    },
  }
}

/** In a text for `runWithin`: the condition that a column with a task id is in the days of the call. */
export function inDays(column: string): string {
  return `in_days(${column})`
}

/** Bounded by the statements of a few days; emptied when it is full. */
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
  if (days.name === undefined) return run(runner, undefined, textWithin(days, text), values)
  const key = `${name}@${days.name}`
  let statement = prepared.get(key)
  if (statement === undefined) {
    if (prepared.size >= MAX_PREPARED) prepared.clear()
    statement = { name: preparedName(name, days.name), text: textWithin(days, text) }
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
  return readInTransaction(db, (runner) => runWithin<Row>(runner, days, name, text, values), beginSearch)
}

/** Replaces each `inDays` by its condition. */
export function textWithin(days: Days, text: string): string {
  return text.replace(/\bin_days\(([\w.]+)\)/g, (_, column: string) => days.of(column))
}

/** How long a look at the oldest open work is used. */
const LOOK_MS = 60_000
/** Ids are drawn a little before their tasks are committed, and a look is used for a while; the server's clock may be set a little. */
const MARGIN_MS = 3_600_000

type OpenWork = {
  /** Days before that of `young` with open work, in ascending order. */
  open: readonly number[]
  oldestBatch: number
  newest: number
  /** Tasks from this id on may be committed after the look. */
  young: number
}
const looks = new WeakMap<Database['pool'], { at: number; work: Promise<OpenWork> }>()

/** What the looks of a process have found. `turns` counts them; `allAt` is the time of the look at all days, by the clock of the process. */
type Known = FoundDays & { turns: number; allAt: number; server: string }
const known = new WeakMap<Database['pool'], Known>()

/**
 * After this all days are asked again, or what a process that has done so found is used. So rows that somebody changed by hand are found
 * within a day. Different for each process, so that one of them asks and the others use what it found.
 */
const USED_MS = 43_200_000 * (1 + Math.random())

/** What is known of the days before `today`: nothing if the clock was set back, because new tasks may get ids of days that were past. */
async function lastFound(db: Database, today: number): Promise<{ server: string; last?: Known }> {
  const { server, found } = await readFoundDays(db.pool)
  const isUsable = (days: Known) => days.upto <= today && performance.now() - days.allAt < USED_MS
  const own = known.get(db.pool)
  if (own && own.server === server && isUsable(own)) return { server, last: own }
  if (!found) return { server }
  const { upto, open, ageMs } = found
  const last = { upto, open, turns: 0, allAt: performance.now() - ageMs, server }
  return isUsable(last) ? { server, last } : { server }
}

/**
 * The days with tasks that have not ended, or messages in inboxes, and the present ones: statements that search tasks or inboxes for work
 * need not open others. Scheduled tasks count: their rows get their old ids when they begin. With `andHours` at least the tasks of the
 * last hours are in these days.
 */
export async function openDays(db: Database, andHours = 0): Promise<Days> {
  const { open, newest, young } = await openWork(db)
  return daysOfSearch(open, dayOfId(young - andHours * 3_600_000 * IDS_PER_MS), newest)
}

/** Those of `openDays` to which new tasks are added. */
export async function presentDays(db: Database): Promise<Days> {
  const { newest, young } = await openWork(db)
  return daysOfSearch([], dayOfId(young), newest)
}

/** Those of `openDays` and of `batchDays` before `presentDays`; undefined if there are none. */
export async function olderDays(db: Database): Promise<{ open?: Days; batches?: Days }> {
  const { open, oldestBatch, young } = await openWork(db)
  const older = open.filter((day) => day < dayOfId(young))
  const searched = (days: readonly number[]) =>
    days.length === 0 ? undefined : daysOfSearch(days, days.at(-1)!, days.at(-1)!)
  return { open: searched(older), batches: searched(older.filter((day) => day >= oldestBatch)) }
}

/** The first id of the days of `openDays`. */
export async function firstOpenId(db: Database): Promise<number> {
  const { open, young } = await openWork(db)
  return (open[0] ?? dayOfId(young)) * IDS_PER_DAY
}

/** Those of `openDays` from that of the oldest batch that is not settled. A process that adds older ones calls `noteBatchesOf`. */
export async function batchDays(db: Database): Promise<Days> {
  const { open, oldestBatch, newest, young } = await openWork(db)
  return daysOfSearch(
    open.filter((day) => day >= oldestBatch),
    dayOfId(young),
    newest,
  )
}

/**
 * Called after batches were added to tasks that may have had none, such as scheduled ones: if the tasks are older than `batchDays`, this
 * process looks again. Others do so within a minute; until then this one releases the batches.
 */
export async function noteBatchesOf(db: Database, taskIds: Iterable<number>): Promise<void> {
  const look = looks.get(db.pool)
  const work = await look?.work.catch(() => undefined)
  if (!work) return
  for (const id of taskIds) {
    if (dayOfId(id) >= work.oldestBatch) continue
    if (looks.get(db.pool) === look) looks.delete(db.pool)
    return
  }
}

/** Looks once per minute and process. */
function openWork(db: Database): Promise<OpenWork> {
  const last = looks.get(db.pool)
  if (last && performance.now() - last.at < LOOK_MS) return last.work
  const look = { at: performance.now(), work: findOpenWork(db) }
  looks.set(db.pool, look)
  look.work.catch(() => {
    if (looks.get(db.pool) === look) looks.delete(db.pool)
  })
  return look.work
}

/**
 * Days without open work after which a look closes its connection: Postgres keeps what a session has read about each table and index, 0.3 MB
 * per day, until the session ends.
 */
const MAX_LOOKED_AT = 32

/**
 * The first look asks all days that are kept, some at a time, and notes what it found for other processes. The next ones ask the days that were
 * not past then, the oldest open ones until one is still open, and one other in turn: a day counts as open until it was asked. No day is asked
 * from that of an hour ago on: it is always included.
 */
async function findOpenWork(db: Database): Promise<OpenWork> {
  const { now, before } = await readPresent(db.pool)
  const young = firstTaskIdAt(now - MARGIN_MS)
  const today = dayOfId(young)
  const { server, last } = await lastFound(db, today)
  const upto = last?.upto ?? dayOfId((await readExtent(db.pool)).first)
  const { open, turns, allAt } = last ?? { open: [], turns: 0, allAt: performance.now() }
  const slice = await oldestSlice(db)
  const undivided = Math.min(today, Math.ceil(before / IDS_PER_DAY))
  const oldest = await oldestBefore(db, before)
  const newest = await newestDay(db, now)
  return onConnection(db, async (connection) => {
    const asked = new Set<number>()
    const ask = (conditions: readonly string[]) => (days: readonly number[]) => {
      for (const day of days) asked.add(day)
      return isThere(connection, daysOfSearch(days, days.at(-1)!, days.at(-1)!), conditions)
    }
    const hasWork = (days: readonly number[]) =>
      // Tasks that are in one table or partition with those of other days are not asked by day.
      ask([...(days[0]! >= undivided ? openTasksSql : []), inboxSql, ...openBatchesSql])(days)
    const left = await stillOpen(
      open.filter((day) => day < today),
      turns,
      hasWork,
    )
    for (const [from, to] of [
      [upto, undivided],
      [Math.max(upto, undivided), today],
    ] as const)
      left.push(...(await allOf(range(from, to), hasWork)))
    known.set(db.pool, { upto: today, open: left, turns: turns + 1, allAt, server })
    // If it cannot be written, as to a server that is read-only, others look at all days themselves.
    if (last === undefined)
      await noteFoundDays(connection.client, { upto: today, open: left }).catch(() => undefined)
    const days = new Set([...left, ...range(oldest, undivided), ...range(slice, slice + 1)])
    const found = [...days].filter((day) => day < today).sort((a, b) => a - b)
    const batches = found.filter((day) => day < slice)
    const batch = (await firstOf(batches, ask(openBatchesSql))) ?? Math.min(today, slice)
    if ([...asked].filter((day) => !days.has(day)).length > MAX_LOOKED_AT) connection.close = true
    return { open: found, oldestBatch: batch, newest, young }
  })
}

/** Empty if `from` is not before `to`, as if it is infinite. */
const range = (from: number, to: number): number[] =>
  from < to ? Array.from({ length: to - from }, (_, n) => from + n) : []

type Ask = (days: readonly number[]) => Promise<boolean>

/** The days without those at the beginning that are no longer open, and without one other if it is not. */
async function stillOpen(days: readonly number[], turns: number, isOpen: Ask): Promise<number[]> {
  const left = [...days]
  while (left.length > 0 && !(await isOpen(left.slice(0, 1)))) left.shift()
  if (left.length < 2) return left
  const other = 1 + (turns % (left.length - 1))
  if (!(await isOpen(left.slice(other, other + 1)))) left.splice(other, 1)
  return left
}

/** Those of the days that are open. */
async function allOf(days: readonly number[], isOpen: Ask): Promise<number[]> {
  const open: number[] = []
  for (let at = 0; at < days.length; at += WINDOW_DAYS) {
    const halve = async (some: readonly number[]): Promise<void> => {
      if (!(await isOpen(some))) return
      if (some.length === 1) open.push(some[0]!)
      else {
        await halve(some.slice(0, some.length / 2))
        await halve(some.slice(some.length / 2))
      }
    }
    await halve(days.slice(at, at + WINDOW_DAYS))
  }
  return open
}

/** The first of the days that is open. It is often the first of all. */
async function firstOf(days: readonly number[], isOpen: Ask): Promise<number | undefined> {
  for (let at = 0, count = 1; at < days.length; at += count, count = WINDOW_DAYS) {
    let some = days.slice(at, at + count)
    if (!(await isOpen(some))) continue
    while (some.length > 1) {
      const half = some.slice(0, some.length / 2)
      some = (await isOpen(half)) ? half : some.slice(half.length)
    }
    return some[0]
  }
  return undefined
}

// Without an order and with days as a condition that no index can search (`daysBetween`), so that the partial indexes of open rows are the only
// ones that Postgres can use: their entries, and no others, are read until the first.
const openBatchesSql = ['batch', 'bundle'].map(
  (table) => `EXISTS (SELECT 1 FROM ${table} WHERE ${inDays('task_id')} AND state <> 'settled')`,
)
const openTasksSql = [`= 'accepted'`, `IN ('planning', 'sending')`].map(
  (state) => `EXISTS (SELECT 1 FROM task WHERE ${inDays('id')} AND state ${state})`,
)
const inboxSql = `EXISTS (SELECT 1 FROM inbox WHERE ${inDays('task_id')})`

/** Not prepared: most days are asked once. In a transaction of its own, so that the locks of the days end. */
async function isThere(connection: Connection, days: Days, conditions: readonly string[]): Promise<boolean> {
  const text = textWithin(days, `SELECT ${conditions.join(' OR ')}`)
  const [row] = await transaction(
    connection,
    (runner) => run<[boolean]>(runner, undefined, text, []),
    beginSearch,
  )
  return row![0]
}

/** The day of the oldest open task in the table or partition that contains all days before the id `before`. */
async function oldestBefore(db: Database, before: number): Promise<number> {
  if (before <= 0) return Number.POSITIVE_INFINITY
  const within = before === Number.POSITIVE_INFINITY ? '' : ` AND id < ${before}`
  const oldest = [`= 'accepted'`, `IN ('planning', 'sending')`].map(
    (state) => `(SELECT id FROM task WHERE state ${state}${within} ORDER BY id LIMIT 1)`,
  )
  const [row] = await run<[number | null]>(db.pool, undefined, `SELECT LEAST(${oldest.join(', ')})`, [])
  return row![0] === null ? Number.POSITIVE_INFINITY : dayOfId(row![0])
}

/** Slices have no partitions. */
async function oldestSlice(db: Database): Promise<number> {
  const sql = 'SELECT task_id FROM slice ORDER BY task_id LIMIT 1'
  const [row] = await run<[number]>(db.pool, 'oldest-slice', sql, [])
  return row ? dayOfId(row[0]) : Number.POSITIVE_INFINITY
}

/** The day of an hour ahead, or a later one of tasks that were added before the server's clock was set back. */
async function newestDay(db: Database, now: number): Promise<number> {
  const soon = dayOfId(firstTaskIdAt(now + MARGIN_MS))
  const sql = `SELECT id FROM task WHERE id >= ${(soon + 1) * IDS_PER_DAY} ORDER BY id DESC LIMIT 1`
  const [row] = await run<[number]>(db.pool, undefined, sql, [])
  return row ? dayOfId(row[0]) : soon
}
