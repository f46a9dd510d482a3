import { type Channel, publicName } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { daysOf, inDays, inRange, textWithin } from '../store/days.ts'
import { firstTaskIdAt } from '../store/partitions.ts'
import { inUncheckedTransaction, run } from '../store/statement.ts'
import { inScopeSql, type TaskScope } from '../tasks/tasks.ts'
import { changedDays, countsOfSql, periodSql, summedCounts } from './stat-sums.ts'

const statCounts = ['target', 'sent', 'failed', 'received', 'clicked', 'unreachable'] as const
export type StatCounts = Record<(typeof statCounts)[number], number>

export type StatsQuery = {
  /** Unix ms, multiples of SUM_SECONDS; the periods begin at `from`, `from` + `length` and so on. */
  from: number
  to: number
  length: number
  channel?: Channel
  campaign?: string
}

export type Stats = {
  /** One entry per period, also those without tasks. */
  periods: (StatCounts & { at: number })[]
  /** By public name of the channel; a device that moved on is a target of each channel that was tried. */
  channels: (Omit<StatCounts, 'unreachable'> & { channel: string })[]
  total: StatCounts
}

const none = (): StatCounts => ({ target: 0, sent: 0, failed: 0, received: 0, clicked: 0, unreachable: 0 })

/**
 * Sums the counters of the tasks that began in [from, to), by period and channel, in one snapshot: the sums of older tasks, the changes
 * that were noted since, and the counters of the tasks of the last hour or two.
 */
export async function readStats(db: Database, scope: TaskScope, query: StatsQuery): Promise<Stats> {
  const { from, to, length } = query
  const rows = await inUncheckedTransaction(
    db,
    async (runner) => {
      const [head] = await run<[number]>(runner, 'stat-head', 'SELECT summed FROM stat_head', [])
      const summed = head![0]
      const noted = await changedDays(runner, summed, MAX_DAYS)
      return run<[period: number, channel: Channel | '', ...counts: number[]]>(
        runner,
        undefined,
        textWithin(daysOf(noted), statsSql(query, summed)),
        [scope.appId, scope.groupId ?? null, query.channel ?? null, query.campaign ?? null],
      )
    },
    // One snapshot for both. With the values known Postgres sees whether the application has many tasks.
    `BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL jit = off`,
  )
  const periods = Array.from({ length: Math.ceil((to - from) / length) }, (_, n) => ({
    at: from + n * length,
    ...none(),
  }))
  const channels = new Map<string, StatCounts & { channel: string }>()
  const total = none()
  for (const [period, channel, ...values] of rows) {
    const { moved, ...counts } = Object.fromEntries(
      summedCounts.map((name, i) => [name, values[i]!]),
    ) as StatCounts & { moved: number }
    // A device that moved is a target of both channels; it is counted once.
    const once = { ...counts, target: query.channel === undefined ? counts.target - moved : counts.target }
    add(periods[period]!, once)
    add(total, once)
    if (channel === '') continue
    const name = publicName(channel)
    const sums = channels.get(name) ?? { channel: name, ...none() }
    channels.set(name, sums)
    add(sums, counts)
  }
  return {
    periods,
    channels: [...channels.values()].map(({ unreachable: _, ...sums }) => sums),
    total,
  }
}

function add(sums: StatCounts, more: StatCounts): void {
  for (const name of statCounts) sums[name] += more[name]
}

/** Ids of tasks that began before `to` are below it: they are drawn before. The server's clock may be set back a little. */
const MARGIN_MS = 3_600_000
/** More days than are kept. */
const MAX_DAYS = 1000

/** `inDays` are the days of the notes. */
function statsSql({ from, to, length }: StatsQuery, summed: number): string {
  const time = (ms: number) => `to_timestamp(${ms / 1000})`
  const between = (column: string) => `${column} >= ${time(from)} AND ${column} < ${time(to)}`
  // Of a task, or of the sums of tasks.
  const asked = `${inScopeSql('t', '$1', '$2')} AND ($4::text IS NULL OR t.campaign = $4)`
  const wanted = `${asked} AND ${between('t.begin_at')}`
  const recent = { from: summed, upto: Math.max(summed, firstTaskIdAt(to + MARGIN_MS)) }
  const counts = summedCounts.join(', ')
  return `WITH t AS MATERIALIZED (
    SELECT t.id, t.state, t.bundle, t.unreachable, ${periodSql('t.begin_at')} AS at FROM task t WHERE ${wanted} AND ${inRange(recent)('t.id')}
  ), counts AS (
    SELECT at, channel, ${counts} FROM stat_sum t WHERE ${asked} AND ${between('t.at')}
    UNION ALL
    SELECT ${periodSql('t.begin_at')}, c.channel, ${summedCounts.map((name) => `c.${name}`).join(', ')}
    FROM stat_change c JOIN task t ON t.id = c.task_id AND ${inDays('t.id')} WHERE c.task_id < ${summed} AND ${wanted}
    UNION ALL
    ${countsOfSql('t.at', recent)}
  )
  SELECT floor((extract(epoch FROM at) - ${from / 1000}) / ${length / 1000})::int, channel,
    ${summedCounts.map((name) => `sum(${name})::bigint`).join(', ')}
  FROM counts WHERE $3::text IS NULL OR channel = $3 GROUP BY 1, 2 ORDER BY 1, 2`
}
