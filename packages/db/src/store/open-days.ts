import type { Database } from './database.ts'
import { beginSearch, type Days, dayOfId, daysOfSearch, inDays, textWithin, WINDOW_DAYS } from './days.ts'
import { type FoundDays, noteFoundDays, readFoundDays } from './found-days.ts'
import { firstTaskIdAt, IDS_PER_DAY, IDS_PER_MS, readExtent, readPresent } from './partitions.ts'
import { type Connection, onConnection, run, transaction } from './statement.ts'

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
