import type { Database } from '../store/database.ts'
import { buildLateIndexes } from '../store/late-indexes.ts'
import { type Lead, leadOf } from '../store/lead.ts'
import {
  DAY_MS,
  databaseTime,
  dropEmptiedBefore,
  dropPartitions,
  dropRequestPeriods,
  eachStep,
  ensurePartitions,
  ensureRequestPeriod,
  firstTaskIdAt,
  IDS_PER_DAY,
  type PartitionDay,
  partitionDays,
  partitionUpgraded,
  tablesBefore,
  timeOfTaskId,
} from '../store/partitions.ts'
import { changeDays } from '../tenants/changes.ts'

export type RetentionReport = {
  droppedDays: number
  rows: number
  /** Rows of the outbox that no courier has moved to the stream in all that time: these events were sent to nobody. */
  lostEvents: number
}

const CHUNK = 10_000
/** Request ids of tasks that have no partition of their own day are in the tasks, so these are kept as long as request ids. */
const BEFORE_DAYS = 30
/** Longer than any of its statements may take. */
const LEAD_SECONDS = 300

/**
 * Deletes old data: days whose tasks all ended more than `days` ago with their partitions, old request ids, and old rows of smaller
 * tables. One process at a time; others return at once. Times are compared by the clock of Postgres: a process whose clock is ahead
 * would delete what is to be kept. A step that fails, such as dropping a day that a dump reads, does not prevent the others; the next
 * call repeats it. Throws the first error.
 */
export async function applyRetention(db: Database, days: number, at?: number): Promise<RetentionReport> {
  const report: RetentionReport = { droppedDays: 0, rows: 0, lostEvents: 0 }
  const lead = leadOf(db, 'retention')
  if (!(await lead.take(LEAD_SECONDS))) return report
  try {
    const now = at ?? (await databaseTime(db))
    await eachStep([
      () => ensureRequestPeriod(db, days),
      () => ensurePartitions(db, now),
      () => partitionUpgraded(db, at),
      () => buildLateIndexes(db, () => lead.take(LEAD_SECONDS)),
      async () => {
        report.rows = await deleteAged(db, lead, days, now)
      },
      async () => {
        const oldest = new Date(now - days * DAY_MS)
        report.lostEvents = await deleteInChunks(db, lead, 'outbox', 'at < $1', [oldest])
      },
      () => deleteEndedBefore(db, lead, days, now),
      () => dropEndedDays(db, lead, days, now, report),
      () => dropEmptiedBefore(db, now),
      () => dropRequestPeriods(db, days, now),
    ])
    return report
  } finally {
    // If it cannot be released, it ends by itself.
    await lead.release().catch(() => {})
  }
}

async function dropEndedDays(
  db: Database,
  lead: Lead,
  days: number,
  now: number,
  report: RetentionReport,
): Promise<void> {
  const found = await partitionDays(db)
  await eachStep(
    found.map((day) => async () => {
      if (day.day + DAY_MS > now - days * DAY_MS) return
      const hasTasks = !(await tablesBefore(db, day.to)).includes('task')
      const before = now - (hasTasks ? days : Math.max(days, BEFORE_DAYS)) * DAY_MS
      if (day.day + DAY_MS > before) return
      if (!(await lead.take(LEAD_SECONDS)) || (await isInUse(db, day, before))) return
      await deleteOfDay(db, lead, ['task_memory', 'slice'], day)
      await dropPartitions(db, day.day)
      report.droppedDays++
    }),
  )
}

/** A task of that day may have started later, or still wait for its last device. Days are constants: see days.ts. */
async function isInUse(db: Database, { from, to }: PartitionDay, before: number): Promise<boolean> {
  const ofDay = `id >= ${from} AND id < ${to}`
  // The first two are found by indexes; the last reads the day unless a task is found early.
  const { rows } = await db.pool.query<{ used: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM task WHERE ${ofDay} AND state = 'accepted')
       OR EXISTS (SELECT 1 FROM task WHERE ${ofDay} AND state IN ('planning', 'sending'))
       OR EXISTS (SELECT 1 FROM bundle WHERE task_id >= ${from} AND task_id < ${to}
         AND (state <> 'settled' OR settled_at > to_timestamp($1)))
       OR EXISTS (SELECT 1 FROM task WHERE ${ofDay} AND state <> 'bundled'
         AND (finished_at IS NULL OR coalesce(ended_at, finished_at) > to_timestamp($1))) AS used`,
    [before / 1000],
  )
  return rows[0]!.used
}

async function deleteOfDay(
  db: Database,
  lead: Lead,
  tables: readonly string[],
  { from, to }: PartitionDay,
): Promise<void> {
  for (const table of tables) {
    const column = table === 'task' ? 'id' : 'task_id'
    await deleteInChunks(db, lead, table, `${column} >= ${from} AND ${column} < ${to}`, [])
  }
}

/**
 * Deletes the rows of tasks, counters and failures from before these tables had partitions, day by day from the oldest. Tasks go last:
 * they tell where the next call continues.
 */
async function deleteEndedBefore(db: Database, lead: Lead, days: number, now: number): Promise<void> {
  const before = now - Math.max(days, BEFORE_DAYS) * DAY_MS
  for (let from = Number.NEGATIVE_INFINITY; ; ) {
    const { rows } = await db.pool.query<{ id: number }>(
      `SELECT id FROM task WHERE ${from === Number.NEGATIVE_INFINITY ? '' : `id >= ${from} AND `}id < ${firstTaskIdAt(before)}
       ORDER BY id LIMIT 1`,
    )
    if (!rows[0]) return
    const start = Math.floor(rows[0].id / IDS_PER_DAY) * IDS_PER_DAY
    const day = { day: timeOfTaskId(start), from: start, to: start + IDS_PER_DAY }
    from = day.to
    if (timeOfTaskId(day.to) > before || !(await lead.take(LEAD_SECONDS))) return
    const tables = await tablesBefore(db, day.to)
    if (!tables.includes('task') || (await isInUse(db, day, before))) continue
    await deleteOfDay(
      db,
      lead,
      ['task_memory', 'slice', ...tables.filter((table) => table !== 'task'), 'task'],
      day,
    )
  }
}

/** Tables that one statement per table could not clear within the time limit of a statement. */
async function deleteInChunks(
  db: Database,
  lead: Lead,
  table: string,
  condition: string,
  values: unknown[],
): Promise<number> {
  for (let deleted = 0; ; ) {
    const { rowCount } = await db.pool.query(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${CHUNK}))`,
      values,
    )
    // Not `rowCount < CHUNK`: a row that is changed at the same time is skipped.
    if (!rowCount) return deleted
    deleted += rowCount
    await lead.take(LEAD_SECONDS)
  }
}

/** An activity lasts hours. A token to start activities is bound again when the app starts, so an old one is of an app that nobody opens. */
const activityDays = [
  ['activity', 7],
  ['start', 180],
] as const

async function deleteAged(db: Database, lead: Lead, days: number, now: number): Promise<number> {
  const aged: [table: string, column: string, days: number][] = [
    ['erased_device', 'erased_at', days],
    ['retired_token', 'retired_at', 30],
    ['token_window', 'minute', 1],
    // The longest range that the console draws from it, and an hour.
    ['channel_minute', 'minute', 25 / 24],
    ['certificate_hold', 'until', 1],
    ['login_failure', 'window_start', 1],
    ['daily_count', 'day', 2],
    ['change', 'at', changeDays],
    ['audit', 'at', Math.max(days, 365)],
    // The longest range of statistics, and the day in which it begins.
    ['stat_sum', 'at', 401],
  ]
  let rows = 0
  for (const [table, column, kept] of aged)
    rows += await deleteInChunks(db, lead, table, `${column} < $1`, [new Date(now - kept * DAY_MS)])
  for (const [kind, kept] of activityDays)
    rows += await deleteInChunks(db, lead, 'activity', 'kind = $1 AND bound_at < $2', [
      kind,
      new Date(now - kept * DAY_MS),
    ])
  return rows
}
