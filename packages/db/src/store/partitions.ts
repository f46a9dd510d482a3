import { connectSession } from '@herald/postgres'
import type pg from 'pg'
import type { Database } from './database.ts'
import { inTransaction, type Runner, run } from './statement.ts'

export const DAY_MS = 86_400_000
const EPOCH_MS = 1_735_689_600_000
export const IDS_PER_MS = 4096
/** The id 0 was drawn at midnight (UTC), so days of ids are days of the calendar. */
export const IDS_PER_DAY = DAY_MS * IDS_PER_MS

/**
 * Tables partitioned by task id, or by an id drawn like one, with one partition per day. A day is dropped in this order: once its tasks are gone, no
 * statement writes to the rest of it.
 */
export const partitioned = [
  'task',
  'counter',
  'failure',
  'inbox',
  'receipt',
  'batch',
  'bundle',
  'event',
] as const
export type Partitioned = (typeof partitioned)[number]
/** Those that a database of an earlier release has without partitions. Their old rows are in one partition, `<name>_before`. */
const onceWhole = ['task', 'counter', 'failure'] as const
type OnceWhole = (typeof onceWhole)[number]
/**
 * Settings of the partitions; a table with partitions cannot have them itself. Counters have room for updates within a page. The arrays
 * of a bundle stay in its row: it is written three times within a second and then only read.
 */
const storage: Partial<Record<Partitioned, string>> = {
  counter: 'fillfactor = 50',
  bundle: 'toast_tuple_target = 8160',
}

/** Partitions exist this far ahead, so that inserts work after all processes were down for a week. */
export const DAYS_AHEAD = 7

/** Lowest task id that can be drawn at or after this time. */
export function firstTaskIdAt(ms: number): number {
  return (ms - EPOCH_MS) * IDS_PER_MS
}

export function timeOfTaskId(id: number): number {
  return Math.floor(id / IDS_PER_MS) + EPOCH_MS
}

/** The clock of Postgres in Unix ms; task ids are drawn by it. */
export async function databaseTime(db: Database): Promise<number> {
  const { rows } = await db.pool.query<{ now: number }>(
    'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
  )
  return rows[0]!.now
}

export type Extent = {
  /** The clock of Postgres in Unix ms. */
  now: number
  /** The first id of the oldest day with a partition. */
  first: number
  /** Tasks below this id are in one table or partition with those of other days; 0 if there is none. */
  before: number
}

/** From the catalog alone: no partition is opened. With 400 days the search of the first takes fourteen milliseconds. */
export function readExtent(runner: Runner): Promise<Extent> {
  return readCatalog(runner, true)
}

/** The same without the search of the first. */
export function readPresent(runner: Runner): Promise<Omit<Extent, 'first'>> {
  return readCatalog(runner, false)
}

async function readCatalog(runner: Runner, withFirst: boolean): Promise<Extent> {
  const [row] = await run<[now: number, first: string | null, before: number]>(
    runner,
    'partition-extent',
    `SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8,
       (SELECT min(right(c.relname, 8)) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE $2 AND i.inhparent = ANY (SELECT to_regclass(name) FROM unnest($1::text[]) AS t (name)) AND c.relname ~ '_[0-9]{8}$'),
       coalesce((SELECT 'infinity'::float8 FROM pg_class WHERE oid = to_regclass('task') AND relkind = 'r'),
         (SELECT substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \\(''?(-?[0-9]+)''?\\)')::float8
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent = to_regclass('task') AND c.oid = to_regclass('task_before')), 0)`,
    [partitioned, withFirst],
  )
  const [now, first, before] = row!
  return { now, first: firstTaskIdAt(first === null ? dayOf(now) : dayOfStamp(first)), before }
}

/** The day of a partition, from the end of its name. */
function dayOfStamp(stamp: string): number {
  return Date.parse(`${stamp.slice(0, 4)}-${stamp.slice(4, 6)}-${stamp.slice(6)}T00:00:00Z`)
}

function partitionName(table: string, dayMs: number): string {
  return `${table}_${new Date(dayMs).toISOString().slice(0, 10).replaceAll('-', '')}`
}

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS
}

type Layout = {
  /** Tables without partitions. */
  whole: OnceWhole[]
  /** The id at which `<name>_before` ends, by table. */
  before: Map<OnceWhole, number>
  /** Names of the partitions of a day, also of those whose detaching was interrupted. */
  days: Set<string>
}

async function readLayout(runner: Runner): Promise<Layout> {
  const { rows: tables } = await runner.query<{ name: OnceWhole }>(
    `SELECT c.relname AS name FROM pg_class c
     WHERE c.relname = ANY($1) AND c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace`,
    [onceWhole],
  )
  const { rows } = await runner.query<{ table: OnceWhole; name: string; upto: string | null }>(
    // Only of the partitions that are asked: pg_get_expr opens the table.
    `SELECT p.relname AS table, c.relname AS name, CASE WHEN c.relname = p.relname || '_before'
       THEN substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \\(''?(-?[0-9]+)''?\\)') END AS upto
     FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
     WHERE p.relname = ANY($1) AND p.relnamespace = current_schema()::regnamespace`,
    [partitioned],
  )
  const before = new Map<OnceWhole, number>()
  const days = new Set<string>()
  for (const { table, name, upto } of rows) {
    if (name === `${table}_before`) before.set(table, Number(upto))
    else days.add(name)
  }
  return { whole: tables.map(({ name }) => name), before, days }
}

/**
 * Creates missing partitions from yesterday to a week ahead. Every process calls it at start, and retention every hour. A
 * partition is created as a table and then attached, because `PARTITION OF` would block concurrent inserts.
 */
export async function ensurePartitions(db: Database, at?: number): Promise<void> {
  const now = at ?? (await databaseTime(db))
  let layout = await readLayout(db.pool)
  if (layout.whole.length > 0 && (await partitionEmpty(db, layout.whole))) layout = await readLayout(db.pool)
  const wanted: { table: Partitioned; day: number }[] = []
  for (const table of partitioned) {
    if ((layout.whole as string[]).includes(table)) continue
    const before = layout.before.get(table as OnceWhole) ?? Number.NEGATIVE_INFINITY
    for (let day = dayOf(now) - DAY_MS; day <= dayOf(now) + DAYS_AHEAD * DAY_MS; day += DAY_MS)
      if (firstTaskIdAt(day) >= before) wanted.push({ table, day })
  }
  const missing = wanted.filter(({ table, day }) => !layout.days.has(partitionName(table, day)))
  if (missing.length > 0) {
    await inTransaction(db, async (runner) => {
      await runner.query(`SELECT pg_advisory_xact_lock(hashtext('herald partitions'))`)
      for (const { table, day } of missing) await addPartition(runner, table, day)
    })
  }
  await ensureRequestPeriod(db, 0)
}

async function addPartition(runner: Runner, table: Partitioned, day: number): Promise<void> {
  const name = partitionName(table, day)
  const taken = await runner.query(
    `SELECT 1 FROM pg_class WHERE relname = $1 AND relnamespace = current_schema()::regnamespace`,
    [name],
  )
  if (taken.rowCount) return
  const settings = storage[table]
  await runner.query(
    `CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL)${settings ? ` WITH (${settings})` : ''}`,
  )
  await runner.query(
    `ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM (${firstTaskIdAt(day)}) TO (${firstTaskIdAt(day + DAY_MS)})`,
  )
}

const windowOverSql = `NOT EXISTS (SELECT 1 FROM upgrade_window WHERE name = 'tasks-in-one-table' AND until > now())`

/** Partitions tables without rows, as those of a new database are, if no program of the previous release may run. */
async function partitionEmpty(db: Database, tables: readonly OnceWhole[]): Promise<boolean> {
  const { rows } = await db.pool.query<{ ready: boolean }>(
    `SELECT ${windowOverSql} AND NOT EXISTS (SELECT 1 FROM task) AND NOT EXISTS (SELECT 1 FROM counter)
       AND NOT EXISTS (SELECT 1 FROM failure) AS ready`,
  )
  if (!rows[0]!.ready) return false
  for (const table of tables) await turnIntoPartitions(db, table, 0)
  return true
}

function turnIntoPartitions(db: Database, table: OnceWhole, upto: number): Promise<void> {
  return inTransaction(db, async (runner) => {
    await runner.query(`SET LOCAL lock_timeout = '2s'`)
    await runner.query('SELECT partition_by_task($1, $2, $3)', [
      table,
      table === 'task' ? 'id' : 'task_id',
      upto,
    ])
  })
}

/**
 * Partitions the tables of a database that was upgraded, when programs of the previous release no longer run. Reads each table once to
 * prove that its ids end before the first day with a partition of its own; inserts and updates continue. Then it is locked for some
 * milliseconds. A lock that is not available within two seconds is left to the next call.
 */
export async function partitionUpgraded(db: Database, at?: number): Promise<void> {
  const { whole } = await readLayout(db.pool)
  if (whole.length === 0) return
  const { rows } = await db.pool.query<{ over: boolean }>(`SELECT ${windowOverSql} AS over`)
  if (!rows[0]!.over) return
  const today = dayOf(at ?? (await databaseTime(db)))
  await withOwnSession(db, async (client) => {
    for (const table of whole) {
      const upto = await proveEnd(client, table, today)
      await turnIntoPartitions(db, table, upto)
    }
  })
  await ensurePartitions(db, at)
}

/**
 * The constraint also refuses new rows with later ids, so it ends a day later than partitions exist ahead: like those, it needs a planner
 * within a week. One that was left behind by a planner that died is used if it is young, otherwise replaced.
 */
async function proveEnd(client: pg.Client, table: OnceWhole, today: number): Promise<number> {
  const name = `${table}_before_end`
  const upto = firstTaskIdAt(today + (DAYS_AHEAD + 1) * DAY_MS)
  const { rows } = await client.query(
    `SELECT convalidated AS proved, substring(pg_get_constraintdef(oid) FROM '< ''?([0-9]+)') AS upto FROM pg_constraint
     WHERE conrelid = $1::regclass AND conname = $2`,
    [table, name],
  )
  const [known] = rows
  const young = known && Number(known.upto) >= firstTaskIdAt(today + 2 * DAY_MS)
  const column = table === 'task' ? 'id' : 'task_id'
  if (!young) {
    await client.query(
      `ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS ${name}, ADD CONSTRAINT ${name} CHECK (${column} < ${upto}) NOT VALID`,
    )
  }
  if (!young || !known.proved) await client.query(`ALTER TABLE ${table} VALIDATE CONSTRAINT ${name}`)
  return young ? Number(known.upto) : upto
}

/**
 * A connection with its own limits: DETACH CONCURRENTLY cannot run in a transaction, so they cannot be set for one statement, and in the
 * pool, or behind a pooler, they would stay for others.
 */
export async function withOwnSession<T>(db: Database, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connectSession({
    connectionString: db.url,
    settings: { lock_timeout: '2s', statement_timeout: '0' },
    application_name: 'herald partitions',
    connectionTimeoutMillis: 10_000,
  })
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}

/** A day with partitions; `from` (inclusive) and `to` (exclusive) are task ids. */
export type PartitionDay = { day: number; from: number; to: number }

/** Days with partitions, oldest first. */
export async function partitionDays(db: Database): Promise<PartitionDay[]> {
  const { days } = await readLayout(db.pool)
  const found = new Set<number>()
  for (const name of [...days, ...(await leftBehind(db))]) {
    const stamp = /_(\d{8})$/.exec(name)
    if (stamp) found.add(dayOfStamp(stamp[1]!))
  }
  return [...found]
    .sort((a, b) => a - b)
    .map((day) => ({ day, from: firstTaskIdAt(day), to: firstTaskIdAt(day + DAY_MS) }))
}

/** Tables of days that were detached but not dropped. */
async function leftBehind(db: Database): Promise<string[]> {
  const { rows } = await db.pool.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND NOT relispartition AND relnamespace = current_schema()::regnamespace
       AND relname ~ $1`,
    [`^(${partitioned.join('|')})_[0-9]{8}$`],
  )
  return rows.map(({ name }) => name)
}

/** The tables of `tables` whose rows before this id are in one partition with those of other days, or have no partition yet. */
export async function tablesBefore(db: Database, upto: number): Promise<OnceWhole[]> {
  const { whole, before } = await readLayout(db.pool)
  return onceWhole.filter(
    (table) => whole.includes(table) || (before.get(table) ?? Number.NEGATIVE_INFINITY) >= upto,
  )
}

/** Drops `<name>_before` of the tables where it is empty and gets no more rows. */
export async function dropEmptiedBefore(db: Database, now: number): Promise<void> {
  const { before } = await readLayout(db.pool)
  const steps = [...before].map(([table, upto]) => async () => {
    if (upto > firstTaskIdAt(dayOf(now) - DAY_MS)) return
    const left = await db.pool.query(`SELECT 1 FROM ${table}_before LIMIT 1`)
    if (!left.rowCount) await withOwnSession(db, (client) => dropPartition(client, table, `${table}_before`))
  })
  await eachStep(steps)
}

/**
 * Drops a day from every partitioned table without blocking anybody: a partition is detached while its parent stays usable, and then
 * dropped alone. A reader of it, such as a dump, makes a step fail after two seconds; the other tables are dropped,
 * and the next call continues where the failed one stopped. Throws the first error.
 */
export async function dropPartitions(db: Database, day: number): Promise<void> {
  await withOwnSession(db, (client) =>
    eachStep(partitioned.map((table) => () => dropPartition(client, table, partitionName(table, day)))),
  )
}

async function dropPartition(client: pg.Client, parent: string, name: string): Promise<void> {
  const { rows } = await client.query(
    `SELECT to_regclass($1) IS NOT NULL AS exists, (SELECT inhdetachpending FROM pg_inherits
       WHERE inhrelid = to_regclass($1) AND inhparent = $2::regclass) AS pending`,
    [name, parent],
  )
  const { exists, pending } = rows[0]
  if (!exists) return
  // NULL: it is detached. True: an earlier call was interrupted in between; then nothing but FINALIZE is allowed.
  if (pending === true) await client.query(`ALTER TABLE ${parent} DETACH PARTITION ${name} FINALIZE`)
  else if (pending === false)
    await client.query(`ALTER TABLE ${parent} DETACH PARTITION ${name} CONCURRENTLY`)
  await client.query(`DROP TABLE ${name}`)
}

/** Runs all steps, also after one has failed. Throws the first error. */
export async function eachStep(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const errors: unknown[] = []
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}

/** Request ids are remembered for at least this long after their period, and as long as their tasks. */
const REQUEST_DAYS = 30
/** A period is a quarter of the time that ids are kept: a look-up reads five or six, however long that is. */
const PERIODS = 4

/**
 * Makes the next period of request ids before it begins. It begins a minute from now at the earliest, so that every statement that began
 * before the period existed has added its ids to the one before.
 */
export async function ensureRequestPeriod(db: Database, retentionDays: number): Promise<void> {
  const { rows } = await db.pool.query<{ period: number; soon: boolean }>(
    `SELECT period, to_at < now() + interval '${DAYS_AHEAD} days' AS soon FROM request_period ORDER BY period DESC LIMIT 1`,
  )
  if (!rows[0]?.soon) return
  const days = Math.ceil(Math.max(REQUEST_DAYS, retentionDays) / PERIODS)
  const next = rows[0].period + 1
  await inTransaction(db, async (runner) => {
    await runner.query(`SELECT pg_advisory_xact_lock(hashtext('herald partitions'))`)
    const { rowCount } = await runner.query(
      `WITH ended AS (
         UPDATE request_period SET to_at = GREATEST(to_at, now() + interval '1 minute')
         WHERE period = $1 AND NOT EXISTS (SELECT 1 FROM request_period WHERE period = $2) RETURNING to_at
       )
       INSERT INTO request_period (period, from_at, to_at) SELECT $2, to_at, to_at + make_interval(days => $3) FROM ended RETURNING 1`,
      [next - 1, next, days],
    )
    if (!rowCount) return
    await runner.query(`CREATE TABLE request_${next} (LIKE request INCLUDING ALL)`)
    await runner.query(`ALTER TABLE request ATTACH PARTITION request_${next} FOR VALUES IN (${next})`)
  })
}

/** Forgets the request ids of periods that ended long ago and have no task any more. */
export async function dropRequestPeriods(db: Database, retentionDays: number, now: number): Promise<void> {
  const { rows } = await db.pool.query<{ period: number; ended: number }>(
    `SELECT period, (extract(epoch FROM to_at) * 1000)::float8 AS ended FROM request_period
     WHERE to_at + make_interval(days => $1) < to_timestamp($2::float8 / 1000) ORDER BY period`,
    [Math.max(REQUEST_DAYS, retentionDays), now],
  )
  for (const { period, ended } of rows) {
    const task = await db.pool.query(
      `SELECT 1 FROM task WHERE id < ${firstTaskIdAt(Math.floor(ended))} LIMIT 1`,
    )
    if (task.rowCount) break
    // First the row: look-ups no longer need the partition. The rest is repeated by its name if it fails.
    await db.pool.query('DELETE FROM request_period WHERE period = $1', [period])
  }
  const { rows: unused } = await db.pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
       AND c.relname ~ '^request_[0-9]+$' AND NOT EXISTS (
         SELECT 1 FROM request_period p WHERE c.relname = 'request_' || p.period)`,
  )
  if (unused.length === 0) return
  await withOwnSession(db, (client) =>
    eachStep(
      unused.map(
        ({ name }) =>
          () =>
            dropPartition(client, 'request', name),
      ),
    ),
  )
}
