import type { Channel, MessageClass } from '@herald/domain'
import { type Runner, run } from '../store/statement.ts'

/** What waits, for people and autoscalers to look at. Counts are lower bounds: no reading may cost more as the backlog grows. */
export type Backlog = {
  open: { channel: Channel; state: string; recipients: number }[]
  /** Seconds that the oldest batch which may go has waited to be taken by a worker. */
  ages: { channel: Channel; seconds: number }[]
  tasks: { due: number; planning: number; sending: number }
  /** Seconds that the oldest due task has waited for a planner. */
  planningAge: number
}

/** Certificates of each state that are looked at, and rows of all of them together. */
const MOST_OUTLETS = 500
const MOST_ROWS = 20_000
const MOST_TASKS = 10_000

/** Hops from one certificate to the next instead of reading the rows between, as the feeder does. */
const outletsOf = (state: string) => `
  SELECT id FROM (
    WITH RECURSIVE hop AS (
      (SELECT certificate_id AS id, 1 AS n FROM batch WHERE state = '${state}' AND certificate_id IS NOT NULL
       ORDER BY certificate_id LIMIT 1)
      UNION ALL
      SELECT (SELECT certificate_id FROM batch WHERE state = '${state}' AND certificate_id > hop.id
              ORDER BY certificate_id LIMIT 1), hop.n + 1 FROM hop WHERE hop.id IS NOT NULL AND hop.n < ${MOST_OUTLETS}
    )
    SELECT id FROM hop WHERE id IS NOT NULL
  ) found`

/** A share of the rows for each certificate, so that one tenant's backlog does not hide another's. */
const rowsOf = (state: string) => `
  SELECT b.* FROM ${state}_outlet o CROSS JOIN LATERAL (
    SELECT channel, state, size, not_before FROM batch WHERE state = '${state}' AND certificate_id = o.id
    LIMIT GREATEST(20, ${MOST_ROWS} / (SELECT count(*) FROM ${state}_outlet))
  ) b`

/** The first of each lane in the order of the index is the oldest. */
const oldestReady = `
  SELECT b.channel, b.not_before FROM ready_outlet o CROSS JOIN (VALUES ('high'), ('normal')) l (lane) CROSS JOIN LATERAL (
    SELECT channel, not_before FROM batch
    WHERE state = 'ready' AND certificate_id = o.id AND node IS NULL AND lane = l.lane
    ORDER BY not_before LIMIT 1
  ) b JOIN certificate c ON c.id = o.id AND c.state <> 'closed'`

const openSql = `
WITH ready_outlet AS MATERIALIZED (${outletsOf('ready')}),
released_outlet AS MATERIALIZED (${outletsOf('released')}),
sending_outlet AS MATERIALIZED (${outletsOf('sending')}),
vendor AS MATERIALIZED (${['ready', 'released', 'sending'].map(rowsOf).join(' UNION ALL ')}),
native AS MATERIALIZED (
  SELECT b.* FROM (SELECT id FROM gateway_node ORDER BY id LIMIT ${MOST_OUTLETS}) n CROSS JOIN LATERAL (
    SELECT channel, state, size, not_before FROM batch WHERE node = n.id AND state <> 'settled' LIMIT 1000
  ) b
), waiting AS MATERIALIZED (
  SELECT channel, state, size, not_before FROM batch WHERE state IN ('paced', 'held') LIMIT ${MOST_ROWS}
), everything AS (
  SELECT * FROM vendor UNION ALL SELECT * FROM native UNION ALL SELECT * FROM waiting
), oldest AS (
  ${oldestReady}
  UNION ALL SELECT channel, not_before FROM vendor WHERE state = 'released'
  UNION ALL SELECT channel, not_before FROM native WHERE state IN ('ready', 'released')
)
SELECT channel, CASE WHEN state = 'ready' AND not_before > now() THEN 'later' ELSE state END AS state, sum(size)::bigint,
  NULL::float8 FROM everything GROUP BY 1, 2
UNION ALL
SELECT channel, NULL, NULL, extract(epoch FROM now() - min(not_before))::float8
FROM oldest WHERE not_before <= now() GROUP BY 1`

const tasksSql = `
SELECT state, count(*)::int, NULL::float8 FROM (
  SELECT state FROM task WHERE state IN ('planning', 'sending') LIMIT ${MOST_TASKS}
) t GROUP BY state
UNION ALL
SELECT 'due', count(*)::int, extract(epoch FROM now() - min(begin_at))::float8 FROM (
  SELECT begin_at FROM task WHERE state = 'accepted' AND begin_at <= now() AND NOT cancelling ORDER BY begin_at LIMIT ${MOST_TASKS}
) t`

export async function readBacklog(runner: Runner): Promise<Backlog> {
  const rows = await run<[Channel, string | null, number | null, number | null]>(
    runner,
    'backlog',
    openSql,
    [],
  )
  const states = await run<['due' | 'planning' | 'sending', number, number | null]>(
    runner,
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

/** How certificates and their governor stand, summed over tenants. */
export type Standing = {
  certificates: { channel: Channel; state: string; count: number; expiresIn: number | null }[]
  governor: {
    channel: Channel
    messageClass: MessageClass
    permits: number
    inDebt: number
    usedToday: number
  }[]
  databaseBytes: number
}

export async function readStanding(runner: Runner): Promise<Standing> {
  const certificates = await run<[Channel, string, number, number | null]>(
    runner,
    'standing-certificates',
    `SELECT channel, state, count(*)::int, extract(epoch FROM min(expires_at) - now())::float8 FROM certificate GROUP BY 1, 2`,
    [],
  )
  // A day that no vendor's zone can still be in has been used up by nobody.
  const governor = await run<[Channel, MessageClass, number, number, number]>(
    runner,
    'standing-governor',
    `SELECT c.channel, g.class, coalesce(sum(g.devices) FILTER (WHERE g.devices > 0), 0)::float8,
       count(*) FILTER (WHERE g.devices < 0 OR g.requests < 0)::int,
       coalesce(sum(g.used_today) FILTER (WHERE g.day >= (now() AT TIME ZONE 'UTC')::date), 0)::float8
     FROM governor g JOIN certificate c ON c.id = g.certificate_id GROUP BY 1, 2`,
    [],
  )
  const [size] = await run<[number]>(
    runner,
    'database-size',
    'SELECT pg_database_size(current_database())',
    [],
  )
  return {
    certificates: certificates.map(([channel, state, count, expiresIn]) => ({
      channel,
      state,
      count,
      expiresIn,
    })),
    governor: governor.map(([channel, messageClass, permits, inDebt, usedToday]) => ({
      channel,
      messageClass,
      permits,
      inDebt,
      usedToday,
    })),
    databaseBytes: size![0],
  }
}
