import type { Database } from './database.ts'
import { IDS_PER_DAY, IDS_PER_MS } from './partitions.ts'
import { inTransaction, type Runner, run } from './statement.ts'

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

/** More runs of days than this are replaced by all days between the first and the last. */
const MAX_RUNS = 8
/** Statements of more days are not prepared: each combination would be kept by every connection. */
const MAX_PREPARED_DAYS = 2

/** The days of these tasks. */
export function daysOf(taskIds: readonly (number | bigint)[]): Days {
  const days = new Set<number>()
  // A condition that is false would open every day. There is no day before the first id.
  if (taskIds.length === 0) days.add(-1)
  for (const id of taskIds) days.add(Math.floor(Number(id) / IDS_PER_DAY))
  const runs: { from: number; to: number }[] = []
  for (const day of [...days].sort((a, b) => a - b)) {
    const last = runs.at(-1)
    if (last?.to === day) last.to = day + 1
    else runs.push({ from: day, to: day + 1 })
  }
  return daysIn(runs.length <= MAX_RUNS ? runs : [{ from: runs[0]!.from, to: runs.at(-1)!.to }])
}

/** The day of this task and all later ones. */
export function daysFrom(taskId: number): Days {
  return daysIn([{ from: Math.floor(taskId / IDS_PER_DAY), to: Number.POSITIVE_INFINITY }])
}

/**
 * The days from that of one task to that of another, for searches. The partitions of the coming week are empty, but a statement that
 * includes them takes several times as long to plan and to start.
 */
export function daysBetween(first: number, last: number): Days {
  const [from, to] = [first, last].map((id) => Math.floor(id / IDS_PER_DAY)) as [number, number]
  const [low, middle, high] = [from, from + 0.5, to + 1].map(firstIdOf) as [bigint, bigint, bigint]
  return {
    name: `${from}-${to}+`,
    // In two parts, as below.
    of: (column) =>
      `(${column} >= ${low} AND ${column} < ${middle} OR ${column} >= ${middle} AND ${column} < ${high})`,
  }
}

/** `day` may be a half. */
const firstIdOf = (day: number): bigint => (BigInt(day * 2) * BigInt(IDS_PER_DAY)) / 2n

function daysIn(runs: readonly { from: number; to: number }[]): Days {
  const count = runs.reduce((sum, { from, to }) => sum + (to === Number.POSITIVE_INFINITY ? 1 : to - from), 0)
  const nameOf = ({ from, to }: { from: number; to: number }) =>
    to === Number.POSITIVE_INFINITY ? `${from}+` : to === from + 1 ? `${from}` : `${from}-${to - 1}`
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

/** For statements so rare that opening every day does not matter. */
export const allDays: Days = { name: 'all', of: () => 'true' }

/** In a text for `runWithin`: the condition that a column with a task id is in the days of the call. */
export function inDays(column: string): string {
  return `in_days(${column})`
}

/** Bounded by the statements of a few days; emptied when it is full. */
const texts = new Map<string, string>()
const MAX_TEXTS = 1000

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
  let bounded = texts.get(key)
  if (bounded === undefined) {
    if (texts.size >= MAX_TEXTS) texts.clear()
    bounded = textWithin(days, text)
    texts.set(key, bounded)
  }
  return run(runner, key, bounded, values)
}

/**
 * A search reads the first entries of an index in each day. If the statistics know of few such rows, or if most days are empty, Postgres
 * expects that reading and sorting all of them costs the same, and does so until the next ANALYZE, however many there are by then. The
 * same holds for a sequential scan of a day that was empty, and for a bitmap of all ids of a day. Begins a transaction without these.
 */
export const beginSearch = `BEGIN; SET LOCAL enable_sort = off; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off`

/** Runs a statement whose text has `inDays` and that searches the first rows in the order of an index. Costs two more round trips. */
export function searchWithin<Row extends unknown[]>(
  db: Database,
  days: Days,
  name: string,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  return inTransaction(db, (runner) => runWithin<Row>(runner, days, name, text, values), beginSearch)
}

/** Replaces each `inDays` by its condition. */
export function textWithin(days: Days, text: string): string {
  return text.replace(/\bin_days\(([\w.]+)\)/g, (_, column: string) => days.of(column))
}

/** How long a look at the oldest open work is used. */
const LOOK_MS = 60_000
/** Ids are drawn a little before their tasks are committed, and a look is used for a while; the server's clock may be set a little. */
const MARGIN_MS = 3_600_000

type OpenWork = { oldestTask: number; oldestBatch: number; newest: number }
const looks = new WeakMap<Database['pool'], { at: number; work: Promise<OpenWork> }>()

/**
 * The days from that of the oldest task that has not ended, or of the oldest message in an inbox: statements that search tasks or
 * inboxes for work need not open older ones. Scheduled tasks count: their rows get their old ids when they begin. With `andHours` at
 * least the tasks of the last hours are in these days.
 */
export async function openDays(db: Database, andHours = 0): Promise<Days> {
  const { oldestTask, newest } = await openWork(db)
  return daysBetween(oldestTask - andHours * 3_600_000 * IDS_PER_MS, newest)
}

/** The days from that of the oldest batch that is not settled. A process that adds older ones calls `noteBatchesOf`. */
export async function batchDays(db: Database): Promise<Days> {
  const { oldestBatch, newest } = await openWork(db)
  return daysBetween(oldestBatch, newest)
}

/**
 * Called after batches were added to tasks that may have had none, such as scheduled ones: if the tasks are older than `batchDays`, this
 * process looks again. Others do so within a minute; until then this one releases the batches.
 */
export async function noteBatchesOf(db: Database, taskIds: Iterable<number>): Promise<void> {
  const known = looks.get(db.pool)
  const work = await known?.work.catch(() => undefined)
  if (!work) return
  for (const id of taskIds) {
    if (id >= work.oldestBatch) continue
    if (looks.get(db.pool) === known) looks.delete(db.pool)
    return
  }
}

/** Looks once per minute and process: the only statement of the pipeline that opens every day. */
function openWork(db: Database): Promise<OpenWork> {
  const known = looks.get(db.pool)
  if (known && performance.now() - known.at < LOOK_MS) return known.work
  const look = { at: performance.now(), work: findOpenWork(db) }
  looks.set(db.pool, look)
  look.work.catch(() => {
    if (looks.get(db.pool) === look) looks.delete(db.pool)
  })
  return look.work
}

async function findOpenWork(db: Database): Promise<OpenWork> {
  const [row] = await run<[number, number, number]>(db.pool, 'open-work', openWorkSql, [])
  return { oldestTask: row![0], oldestBatch: row![1], newest: row![2] }
}

// Each look reads one entry of an index in the oldest day that has one. The newest id is that of an hour ahead, or a later one that was
// drawn before the server's clock was set back.
export const openWorkSql = `
WITH present AS MATERIALIZED (
  SELECT (extract(epoch FROM now()) * 1000)::bigint - 1735689600000 AS ms
), young AS MATERIALIZED (
  SELECT (ms - ${MARGIN_MS}) * ${IDS_PER_MS} AS id FROM present
), batches AS MATERIALIZED (
  SELECT LEAST((SELECT id FROM young), (SELECT task_id FROM batch WHERE state <> 'settled' ORDER BY task_id LIMIT 1),
    (SELECT task_id FROM bundle WHERE state <> 'settled' ORDER BY task_id LIMIT 1),
    (SELECT task_id FROM slice ORDER BY task_id LIMIT 1)) AS id
)
SELECT LEAST(id, (SELECT id FROM task WHERE state = 'accepted' ORDER BY id LIMIT 1),
    (SELECT id FROM task WHERE state IN ('planning', 'sending') ORDER BY id LIMIT 1),
    (SELECT task_id FROM inbox ORDER BY task_id LIMIT 1)),
  id, GREATEST((SELECT (ms + ${MARGIN_MS}) * ${IDS_PER_MS} FROM present), (SELECT id FROM task ORDER BY id DESC LIMIT 1))
FROM batches`
