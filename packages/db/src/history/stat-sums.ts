import { inRangeOfBundles } from '../ledger/bundled-tasks.ts'
import type { Database } from '../store/database.ts'
import { dayOfId, daysOf, type IdRange, inDays, inRange, textWithin, WINDOW_DAYS } from '../store/days.ts'
import { firstTaskIdAt, IDS_PER_DAY, IDS_PER_MS, readExtent } from '../store/partitions.ts'
import { inTransaction, type Runner, run } from '../store/statement.ts'

/** Length of a period of `stat_sum`: days of every time zone begin with one. */
export const SUM_SECONDS = 900
export const summedCounts = [
  'target',
  'sent',
  'failed',
  'moved',
  'received',
  'clicked',
  'unreachable',
] as const

/** Tasks are summed when their ids are older than this: their commits are over, and the server's clock may be set back a little. */
const SETTLED_MS = 3_600_000
/** Ids of one step: an hour. */
const STEP_MS = 3_600_000
/** Changes of one step, and the number of days that they are of. */
const CHANGES = 20_000
const CHANGE_DAYS = 8

/**
 * `stat_head.xid` from a move of `noted` until the transaction after it. An xid that is not drawn yet is treated the same: it is of another
 * server, from which the database was restored.
 */
const NOT_DRAWN = "'18446744073709551615'::xid8"

/** The quarter of an hour of a time. */
export const periodSql = (time: string) =>
  `to_timestamp(floor(extract(epoch FROM ${time}) / ${SUM_SECONDS}) * ${SUM_SECONDS})`

const keys = ['app_id', 'at', 'channel', 'campaign', 'group_id'] as const
const taskColumns = `t.app_id, ${periodSql('t.begin_at')} AS at, coalesce(t.campaign, '') AS campaign, coalesce(t.group_id, 0) AS group_id`

function addSumsSql(from: string): string {
  return `INSERT INTO stat_sum AS s (${[...keys, ...summedCounts].join(', ')})
    SELECT ${keys.join(', ')}, ${summedCounts.map((name) => `sum(${name})`).join(', ')} FROM (${from}) added
    GROUP BY ${keys.join(', ')} ORDER BY ${keys.join(', ')}
    ON CONFLICT (${keys.join(', ')}) DO UPDATE SET ${summedCounts.map((name) => `${name} = s.${name} + excluded.${name}`).join(', ')}`
}

/** The counters of the tasks of a step `t` (id, state, bundle, unreachable and `columns`), with ids in the range. Each bundle is looked up once. */
export function countsOfSql(columns: string, range: IdRange): string {
  const [within, withinBundles] = [inRange(range), inRangeOfBundles(range)]
  return `SELECT ${columns}, c.channel, c.target, c.sent, c.failed, c.moved, c.received, c.clicked, 0 AS unreachable
    FROM t JOIN counter c ON c.task_id = t.id AND ${within('c.task_id')}
    UNION ALL
    SELECT ${columns}, b.channel, 1, (substr(b.status, m.n::int, 1) = 's')::int, 0, 0, 0, 0, 0
    FROM (SELECT DISTINCT bundle AS id FROM t WHERE state = 'bundled') named CROSS JOIN LATERAL (
      SELECT b.channel, b.status, b.tasks FROM bundle b WHERE b.task_id = named.id AND ${withinBundles('b.task_id')} OFFSET 0
    ) b CROSS JOIN LATERAL unnest(b.tasks) WITH ORDINALITY AS m (id, n)
    JOIN t ON t.id = m.id AND t.bundle = named.id AND t.state = 'bundled'
    UNION ALL
    SELECT ${columns}, '', 0, 0, 0, 0, 0, 0, t.unreachable FROM t WHERE t.unreachable <> 0`
}

/**
 * One step of summing up the counters of older tasks. First `noted` is moved: from the commit on triggers note each change of a counter of
 * the tasks below it. The next transaction writes its own xid: all that read the former head have a lower one. When these have ended, the
 * counters of the tasks are summed, and the notes that the same snapshot contains are deleted: they are in the counters already. Later
 * notes are added to the sums. Returns whether more can be done at once. One process at a time; others return false. By the clock of Postgres,
 * by which ids are drawn, unless a spec gives `now`: tasks that get ids below `noted` later would be missing in the sums for good.
 */
export function sumStats(db: Database, now?: number): Promise<boolean> {
  return inTransaction(db, async (runner) => {
    const [head] = await run<
      [noted: number, summed: number, hasMoved: boolean, isAlone: boolean, time: number]
    >(
      runner,
      undefined,
      `SELECT noted, summed, xid >= pg_snapshot_xmax(pg_current_snapshot()), xid < pg_snapshot_xmin(pg_current_snapshot()),
         floor(extract(epoch FROM now()) * 1000)::float8 FROM stat_head FOR UPDATE SKIP LOCKED`,
      [],
    )
    if (!head) return false
    const [noted, summed, hasMoved, isAlone, time] = head
    const folded = await addChanges(runner, summed)
    // Before the next tasks are summed, other transactions have to end.
    if (summed >= noted) return (await moveNoted(runner, noted, now ?? time)) || folded
    if (hasMoved) await run(runner, undefined, 'UPDATE stat_head SET xid = pg_current_xact_id()', [])
    if (!isAlone) return hasMoved || folded
    await sumNext(runner, summed, noted)
    return true
  })
}

/** The end of the days that a statement may read from this id on: it locks every table and index of its days. */
const windowEnd = (id: number) => (dayOfId(id) + WINDOW_DAYS) * IDS_PER_DAY

/** Returns whether there are more days than one call reads, as in a database that has not been summed yet. */
async function moveNoted(runner: Runner, noted: number, now: number): Promise<boolean> {
  const end = Math.max(0, firstTaskIdAt(now - SETTLED_MS))
  let upto = end
  if (windowEnd(noted) < end) {
    const { first, before } = await readExtent(runner)
    upto = Math.min(end, windowEnd(before > 0 ? noted : Math.max(noted, first)))
  }
  const moved = await run(
    runner,
    undefined,
    `UPDATE stat_head SET noted = ${upto}, xid = ${NOT_DRAWN}
     WHERE noted < ${upto} AND (${upto < end} OR EXISTS (SELECT 1 FROM task WHERE ${inRange({ from: noted, upto })('id')})) RETURNING 1`,
    [],
  )
  return upto < end && moved.length > 0
}

async function sumNext(runner: Runner, summed: number, noted: number): Promise<void> {
  // Without reading the hours that have no tasks one by one.
  const end = Math.min(noted, windowEnd(summed))
  const [first] = await run<[number]>(
    runner,
    undefined,
    `SELECT id FROM task WHERE id >= ${summed} AND id < ${end} ORDER BY id LIMIT 1`,
    [],
  )
  const from = first?.[0] ?? end
  const upto = Math.min(end, from + STEP_MS * IDS_PER_MS)
  const within = inRange({ from, upto })
  await run(
    runner,
    undefined,
    `WITH noted AS (
       DELETE FROM stat_change WHERE ${within('task_id')}
     ), t AS MATERIALIZED (
       SELECT t.id, t.state, t.bundle, t.unreachable, ${taskColumns} FROM task t WHERE ${within('t.id')}
     ), sums AS (
       ${addSumsSql(countsOfSql('t.app_id, t.at, t.campaign, t.group_id', { from, upto }))}
     )
     UPDATE stat_head SET summed = ${upto}`,
    [],
  )
}

/** Adds notes about tasks that are in the sums. Those of tasks that retention has removed since are dropped. */
async function addChanges(runner: Runner, summed: number): Promise<boolean> {
  const ids = await changedDays(runner, summed, CHANGE_DAYS)
  if (ids.length === 0) return false
  const rows = await run<[number]>(runner, undefined, textWithin(daysOf(ids), addChangesSql(summed)), [])
  return rows[0]![0] >= CHANGES || ids.length === CHANGE_DAYS
}

function addChangesSql(summed: number): string {
  return `WITH gone AS (
       DELETE FROM stat_change WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM stat_change WHERE task_id < ${summed} AND ${inDays('task_id')} LIMIT ${CHANGES})) RETURNING *
     ), sums AS (
       ${addSumsSql(`SELECT ${taskColumns}, c.channel, ${summedCounts.map((name) => `c.${name}`).join(', ')}
         FROM gone c JOIN task t ON t.id = c.task_id AND ${inDays('t.id')}`)}
     )
     SELECT count(*)::int FROM gone`
}

/** The first ids of the days of the oldest notes about tasks below `upto`, at most `max` of them. Reads one note per day. */
export async function changedDays(runner: Runner, upto: number, max: number): Promise<number[]> {
  const first = (from: string) =>
    `(SELECT task_id / ${IDS_PER_DAY} FROM stat_change WHERE task_id >= ${from} AND task_id < ${upto} ORDER BY task_id LIMIT 1)`
  const rows = await run<[number]>(
    runner,
    undefined,
    `WITH RECURSIVE changed (day) AS (
       SELECT ${first('0')}
       UNION ALL SELECT ${first(`(day + 1) * ${IDS_PER_DAY}`)} FROM changed WHERE day IS NOT NULL
     )
     SELECT day FROM changed WHERE day IS NOT NULL LIMIT ${max}`,
    [],
  )
  return rows.map(([day]) => day * IDS_PER_DAY)
}
