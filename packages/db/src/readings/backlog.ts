import type { Channel, MessageClass } from '@herald/domain'
import { readyOrder } from '../ledger/batch-rows.ts'
import { countLettersSql } from '../ledger/bundled-tasks.ts'
import type { Database } from '../store/database.ts'
import { inDays, searchWithin } from '../store/days.ts'
import { batchDays, openDays } from '../store/open-days.ts'
import { fields, type Runner, run } from '../store/statement.ts'

/** Waiting work, for dashboards and autoscalers. Counts are lower bounds, because a reading must not cost more as the backlog grows. */
export type Backlog = {
  open: { channel: Channel; state: string; recipients: number }[]
  /** How long the oldest due batch has waited for a worker. */
  ages: { channel: Channel; seconds: number }[]
  tasks: { due: number; planning: number; sending: number }
  /** How long the oldest due task has waited for a planner, in seconds. */
  planningAge: number
}

/** Limits per reading: certificates per state, batches of all of them together, tasks. */
const MAX_CERTIFICATES = 500
const MAX_ROWS = 20_000
const MAX_TASKS = 10_000

/** Jumps in the index from one certificate to the next instead of reading the rows between, as the feeder does. */
const certificatesIn = (state: string) => `
  SELECT id FROM (
    WITH RECURSIVE next_certificate AS (
      (SELECT certificate_id AS id, 1 AS n FROM batch WHERE ${inDays('task_id')} AND state = '${state}' AND certificate_id IS NOT NULL
       ORDER BY certificate_id LIMIT 1)
      UNION ALL
      SELECT (SELECT certificate_id FROM batch WHERE ${inDays('task_id')} AND state = '${state}' AND certificate_id > c.id
              ORDER BY certificate_id LIMIT 1), c.n + 1 FROM next_certificate c WHERE c.id IS NOT NULL AND c.n < ${MAX_CERTIFICATES}
    )
    SELECT id FROM next_certificate WHERE id IS NOT NULL
  ) found`

/** Each certificate gets a share of the rows, so that one application's backlog does not hide another's. */
const rowsOf = (state: string) => `
  SELECT b.* FROM ${state}_certificate o CROSS JOIN LATERAL (
    SELECT channel, state, size, not_before FROM batch WHERE ${inDays('task_id')} AND state = '${state}' AND certificate_id = o.id
    LIMIT GREATEST(20, ${MAX_ROWS} / (SELECT count(*) FROM ${state}_certificate))
  ) b`

/** The first row of each lane in the index is the oldest. */
const oldestReady = `
  SELECT b.channel, b.not_before FROM ready_certificate o CROSS JOIN (VALUES ('high'), ('normal')) l (lane) CROSS JOIN LATERAL (
    SELECT channel, not_before FROM batch
    WHERE ${inDays('task_id')} AND state = 'ready' AND certificate_id = o.id AND node IS NULL AND lane = l.lane
    ORDER BY ${readyOrder} LIMIT 1
  ) b JOIN certificate c ON c.id = o.id AND c.state <> 'closed'`

/** Not of the rows above, which are some of them, in any order: the age must show a wait of single pushes whose number is not counted. */
const oldestReleased = `
  SELECT b.channel, b.not_before FROM released_certificate o CROSS JOIN LATERAL (
    SELECT channel, not_before FROM batch WHERE ${inDays('task_id')} AND state = 'released' AND certificate_id = o.id
    ORDER BY released_at LIMIT 1
  ) b`

const openSql = `
WITH ready_certificate AS MATERIALIZED (${certificatesIn('ready')}),
released_certificate AS MATERIALIZED (${certificatesIn('released')}),
sending_certificate AS MATERIALIZED (${certificatesIn('sending')}),
vendor AS MATERIALIZED (${['ready', 'released', 'sending'].map(rowsOf).join(' UNION ALL ')}),
native AS MATERIALIZED (
  SELECT b.* FROM (SELECT id FROM gateway_node ORDER BY id LIMIT ${MAX_CERTIFICATES}) n CROSS JOIN LATERAL (
    SELECT channel, state, size, not_before FROM batch WHERE ${inDays('task_id')} AND node = n.id AND state <> 'settled' LIMIT 1000
  ) b
), waiting AS MATERIALIZED (
  SELECT channel, state, size, not_before FROM batch WHERE ${inDays('task_id')} AND state IN ('paced', 'held') LIMIT ${MAX_ROWS}
), bundles AS MATERIALIZED (
  SELECT channel, state, ${countLettersSql('status', '.')} AS size, released_at AS not_before FROM bundle
  WHERE ${inDays('task_id')} AND state <> 'settled' LIMIT ${MAX_ROWS}
), everything AS (
  SELECT * FROM vendor UNION ALL SELECT * FROM native UNION ALL SELECT * FROM waiting UNION ALL SELECT * FROM bundles
), oldest AS (
  ${oldestReady}
  UNION ALL ${oldestReleased}
  UNION ALL SELECT channel, not_before FROM native WHERE state IN ('ready', 'released')
  UNION ALL SELECT channel, not_before FROM bundles WHERE state = 'released'
)
SELECT channel, CASE WHEN state = 'ready' AND not_before > now() THEN 'later' ELSE state END AS state, sum(size)::bigint,
  NULL::float8 FROM everything GROUP BY 1, 2
UNION ALL
SELECT channel, NULL, NULL, extract(epoch FROM now() - min(not_before))::float8
FROM oldest WHERE not_before <= now() GROUP BY 1`

const tasksSql = `
SELECT state, sum(n)::int, NULL::float8 FROM (
  (SELECT state, 1 AS n FROM task WHERE ${inDays('id')} AND state IN ('planning', 'sending') AND finished_at IS NULL LIMIT ${MAX_TASKS})
  UNION ALL
  (SELECT 'sending', ${countLettersSql('status', '.')} FROM bundle WHERE ${inDays('task_id')} AND state <> 'settled' LIMIT ${MAX_TASKS})
) t GROUP BY state
UNION ALL
SELECT 'due', count(*)::int, extract(epoch FROM now() - min(begin_at))::float8 FROM (
  SELECT begin_at FROM task WHERE ${inDays('id')} AND state = 'accepted' AND begin_at <= now() AND NOT cancelling ORDER BY begin_at LIMIT ${MAX_TASKS}
) t`

export async function readBacklog(db: Database): Promise<Backlog> {
  const rows = await searchWithin<[Channel, string | null, number | null, number | null]>(
    db,
    await batchDays(db),
    'backlog',
    openSql,
    [],
  )
  const states = await searchWithin<['due' | 'planning' | 'sending', number, number | null]>(
    db,
    await openDays(db),
    'backlog-tasks',
    tasksSql,
    [],
  )
  const tasks = { due: 0, planning: 0, sending: 0 }
  for (const [state, count] of states) tasks[state] = count
  return {
    open: rows.flatMap(([channel, state, recipients]) =>
      state === null ? [] : [{ channel, state, recipients: recipients ?? 0 }],
    ),
    ages: rows.flatMap(([channel, state, , seconds]) =>
      state === null ? [{ channel, seconds: seconds ?? 0 }] : [],
    ),
    tasks,
    planningAge: states.find(([state]) => state === 'due')?.[2] ?? 0,
  }
}

/** Certificates and governors of all applications. */
export type SystemStats = {
  certificates: { channel: Channel; state: string; count: number; expiresIn: number | null }[]
  /** Open breakers, and holds that have not ended; every channel with a certificate has a row. */
  troubles: { channel: Channel; breakers: number; rejected: number; quota: number }[]
  governor: {
    channel: Channel
    messageClass: MessageClass
    permits: number
    inDebt: number
    usedToday: number
  }[]
}

const certificateStats = fields<SystemStats['certificates'][number]>({
  channel: 'channel',
  state: 'state',
  count: 'count(*)::int',
  expiresIn: 'extract(epoch FROM min(expires_at) - now())::float8',
})
const troubleStats = fields<SystemStats['troubles'][number]>({
  channel: 'c.channel',
  breakers: 'count(DISTINCT r.certificate_id)::int',
  rejected: `count(*) FILTER (WHERE h.kind = 'rejected')::int`,
  quota: `count(*) FILTER (WHERE h.kind = 'quota')::int`,
})
const governorStats = fields<SystemStats['governor'][number]>({
  channel: 'c.channel',
  messageClass: 'g.class',
  permits: 'coalesce(sum(g.devices) FILTER (WHERE g.devices > 0), 0)::float8',
  inDebt: 'count(*) FILTER (WHERE g.devices < 0 OR g.requests < 0)::int',
  // Quota of a day that has ended in every time zone is not counted.
  usedToday: `coalesce(sum(g.used_today) FILTER (WHERE g.day >= (now() AT TIME ZONE 'UTC')::date), 0)::float8`,
})

export async function readSystemStats(runner: Runner): Promise<SystemStats> {
  const certificates = `SELECT ${certificateStats.sql} FROM certificate GROUP BY 1, 2`
  const troubles = `SELECT ${troubleStats.sql} FROM certificate c LEFT JOIN breaker r ON r.certificate_id = c.id
    LEFT JOIN certificate_hold h ON h.certificate_id = c.id AND h.until > now() GROUP BY 1`
  const governor = `SELECT ${governorStats.sql} FROM governor g JOIN certificate c ON c.id = g.certificate_id GROUP BY 1, 2`
  return {
    certificates: (await run(runner, 'stats-certificates', certificates, [])).map(certificateStats.read),
    troubles: (await run(runner, 'stats-troubles', troubles, [])).map(troubleStats.read),
    governor: (await run(runner, 'stats-governor', governor, [])).map(governorStats.read),
  }
}

/** Postgres asks the size of each file, of which every day that is kept has about a hundred. */
export async function readDatabaseBytes(runner: Runner): Promise<number> {
  const [row] = await run<[number]>(
    runner,
    'database-size',
    'SELECT pg_database_size(current_database())',
    [],
  )
  return row![0]
}
