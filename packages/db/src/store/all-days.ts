import type { Database } from './database.ts'
import { type Days, dayOfId, daysFrom, daysWithin, WINDOW_DAYS } from './days.ts'
import { firstTaskIdAt, IDS_PER_DAY, type Partitioned, readExtent } from './partitions.ts'
import { run } from './statement.ts'

/** All days, the oldest first, some at a time. A task, its batches, counters, receipts and messages are of the same day. */
export async function* dayWindows(db: Database): AsyncGenerator<Days> {
  const end = await endOfIds(db, 'later-rows', [
    'task',
    'counter',
    'batch',
    'bundle',
    'inbox',
    'receipt',
    'failure',
  ])
  const to = dayOfId(end ?? firstTaskIdAt(Date.now()))
  let from = dayOfId(await firstPossible(db))
  for (; from + WINDOW_DAYS < to; from += WINDOW_DAYS) yield daysWithin(from, from + WINDOW_DAYS)
  yield end === undefined ? daysFrom(from * IDS_PER_DAY) : daysWithin(from, to)
}

/**
 * Numbers of days of the statements that look for the newest rows, one after the other: most pages are complete after two days, and opening
 * more costs more than reading the page.
 */
export function* windowsBack(): Generator<number> {
  yield 2
  yield 8
  for (;;) yield 2 * WINDOW_DAYS
}

/**
 * The end of the days in which these tables may have rows: after tomorrow, whose first tasks the clock of Postgres may already number. Undefined if
 * there are later rows, because a clock was wrong. A statement without an end also opens the empty partitions of the coming week, which
 * takes most of its time.
 */
async function endOfIds(
  db: Database,
  name: string,
  tables: readonly Partitioned[],
): Promise<number | undefined> {
  const end = (dayOfId(firstTaskIdAt(Date.now())) + 2) * IDS_PER_DAY
  const later = tables.map(
    (table) => `EXISTS (SELECT FROM ${table} WHERE ${table === 'task' ? 'id' : 'task_id'} >= ${end})`,
  )
  const sql = `SELECT ${later.join(' OR ')}`
  const [row] = await run<[boolean]>(db.pool, `${name}@${end}`, sql, [])
  return row![0] ? undefined : end
}

export const endOfTasks = (db: Database) => endOfIds(db, 'later-tasks', ['task'])

/** The id of the oldest task that was found last: older ones never come back. */
const oldest = new WeakMap<Database['pool'], number>()

/**
 * The id of the oldest task, infinity if there is none. Reads the day in which it was found last, and only if that is empty later ones; the
 * first call of a process begins with the oldest partition.
 */
export async function oldestTaskId(db: Database): Promise<number> {
  const tomorrow = (dayOfId(firstTaskIdAt(Date.now())) + 1) * IDS_PER_DAY
  let from = oldest.get(db.pool) ?? (await firstPossible(db))
  for (let days = 1; ; days = WINDOW_DAYS) {
    const isLast = from >= tomorrow
    const to: number = Math.min((dayOfId(from) + days) * IDS_PER_DAY, tomorrow)
    const [row] = await run<[number]>(
      db.pool,
      undefined,
      `SELECT id FROM task WHERE id >= ${from}${isLast ? '' : ` AND id < ${to}`} ORDER BY id LIMIT 1`,
      [],
    )
    if (row) {
      oldest.set(db.pool, row[0])
      return row[0]
    }
    if (isLast) return Number.POSITIVE_INFINITY
    from = to
  }
}

/** Tasks of an upgraded database may be older than the first partition of a day. */
async function firstPossible(db: Database): Promise<number> {
  const { first, before } = await readExtent(db.pool)
  return before > 0 ? Math.min(first, 0) : first
}
