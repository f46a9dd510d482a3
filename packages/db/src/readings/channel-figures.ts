import type { Channel, RecentAttempts } from '@herald/domain'
import type { Database } from '../store/database.ts'
import { run } from '../store/statement.ts'

/** What was sent through a channel, by the time of sending. Gathered by workers, so some seconds may be missing after one has died. */
export type ChannelFigures = RecentAttempts & {
  /** Devices per second over the last 30 seconds. */
  rate: number
  sent: { minute: number; tenMinutes: number }
  failed: { minute: number; tenMinutes: number }
  /** The last error of the last ten minutes; `at` is Unix ms. */
  error: { code: string; text: string; at: number } | null
}

/** Runs a statement whose first parameter is the application; null for all. */
export type FigureReader = <Row extends unknown[]>(
  name: string,
  sql: string,
  values?: unknown[],
) => Promise<Row[]>

export type RecentFigures = {
  channels: Map<Channel, ChannelFigures>
  /** By certificate. */
  attempts: Map<number, RecentAttempts>
}

const PART_SECONDS = 10
/** A write that has both sets both to its time. */
const recoveredSql = 'coalesce(max(sent_at) > max(error_at), false)'

type FigureRow = [
  channel: Channel,
  rated: number,
  sent1: number,
  failed1: number,
  sent10: number,
  failed10: number,
  answered1: number,
  unanswered1: number,
  answered10: number,
  unanswered10: number,
  code: string | null,
  text: string | null,
  at: number | null,
  recovered: boolean,
]

/**
 * Rows of eleven minutes: of the application, or those of all applications, which are summed when they are written. A minute is the last
 * six parts of ten seconds, the present one included. The rate is of the last three that have ended. Attempts have no parts, so those of
 * `minute` are of the present and the last full minute.
 */
const figuresSql = `
  WITH row AS (
    SELECT * FROM channel_minute WHERE app_id = coalesce($1, '') AND minute > now() - interval '11 minutes'
  ), part AS (
    SELECT r.channel, p.sent, p.failed, r.minute + make_interval(secs => (p.n - 1) * ${PART_SECONDS}) AS at
    FROM row r CROSS JOIN LATERAL unnest(r.sent_parts, r.failed_parts) WITH ORDINALITY AS p (sent, failed, n)
  ), sums AS (
    SELECT channel,
      sum(sent) FILTER (WHERE at >= date_bin('${PART_SECONDS} seconds', now(), 'epoch') - interval '${3 * PART_SECONDS} seconds'
        AND at < date_bin('${PART_SECONDS} seconds', now(), 'epoch')) AS rated,
      sum(sent) FILTER (WHERE at > now() - interval '1 minute') AS sent1, sum(failed) FILTER (WHERE at > now() - interval '1 minute') AS failed1,
      sum(sent) FILTER (WHERE at > now() - interval '10 minutes') AS sent10, sum(failed) FILTER (WHERE at > now() - interval '10 minutes') AS failed10
    FROM part GROUP BY channel
  ), tried AS (
    SELECT channel, sum(answered) FILTER (WHERE minute > now() - interval '2 minutes') AS answered1,
      sum(unanswered) FILTER (WHERE minute > now() - interval '2 minutes') AS unanswered1, sum(answered) AS answered10, sum(unanswered) AS unanswered10,
      ${recoveredSql} AS recovered
    FROM row GROUP BY channel
  ), error AS (
    SELECT DISTINCT ON (channel) channel, error_code, error_text, error_at FROM row WHERE error_at IS NOT NULL ORDER BY channel, error_at DESC
  )
  SELECT channel, coalesce(rated, 0)::float8, coalesce(sent1, 0)::float8, coalesce(failed1, 0)::float8, coalesce(sent10, 0)::float8,
    coalesce(failed10, 0)::float8, coalesce(answered1, 0)::float8, coalesce(unanswered1, 0)::float8, answered10::float8, unanswered10::float8,
    error_code, error_text, (extract(epoch FROM error_at) * 1000)::float8, recovered
  FROM sums JOIN tried USING (channel) LEFT JOIN error USING (channel)`

/** Certificates with attempts that failed. Of all applications they are found by the index of the minute. */
const attemptsSql = (isOfAll: boolean) => `
  SELECT certificate_id, coalesce(sum(answered) FILTER (WHERE minute > now() - interval '2 minutes'), 0)::float8,
    coalesce(sum(unanswered) FILTER (WHERE minute > now() - interval '2 minutes'), 0)::float8, sum(answered)::float8, sum(unanswered)::float8,
    ${recoveredSql}
  FROM channel_minute WHERE ${isOfAll ? '$1::text IS NULL' : 'app_id = $1'} AND minute > now() - interval '11 minutes' AND certificate_id > 0
  GROUP BY 1 HAVING sum(unanswered) > 0`

export async function readFigures(read: FigureReader, isOfAll: boolean): Promise<RecentFigures> {
  const rows = await read<FigureRow>('figures', figuresSql)
  const tried = await read<[id: number, number, number, number, number, boolean]>(
    'attempts',
    attemptsSql(isOfAll),
  )
  return {
    channels: new Map(rows.map((row) => [row[0], figuresOf(row)])),
    attempts: new Map(
      tried.map(([id, answered1, unanswered1, answered10, unanswered10, recovered]) => [
        id,
        {
          minute: { answered: answered1, unanswered: unanswered1 },
          tenMinutes: { answered: answered10, unanswered: unanswered10 },
          recovered,
        },
      ]),
    ),
  }
}

function figuresOf(row: FigureRow): ChannelFigures {
  const [
    ,
    rated,
    sent1,
    failed1,
    sent10,
    failed10,
    answered1,
    unanswered1,
    answered10,
    unanswered10,
    code,
    text,
    at,
    recovered,
  ] = row
  return {
    rate: rated / (3 * PART_SECONDS),
    sent: { minute: sent1, tenMinutes: sent10 },
    failed: { minute: failed1, tenMinutes: failed10 },
    minute: { answered: answered1, unanswered: unanswered1 },
    tenMinutes: { answered: answered10, unanswered: unanswered10 },
    recovered,
    error: code === null || at === null ? null : { code, text: text ?? '', at },
  }
}

/** When something was last sent through each channel, in the day for which these rows are kept; Unix ms. */
export async function lastSent(read: FigureReader): Promise<Map<Channel, number>> {
  const rows = await read<[Channel, number]>(
    'last-sent',
    `SELECT channel, (extract(epoch FROM max(sent_at)) * 1000)::float8 FROM channel_minute
     WHERE app_id = coalesce($1, '') AND sent_at IS NOT NULL GROUP BY channel`,
  )
  return new Map(rows)
}

/** Ranges of the series, with the length of a period. */
export const seriesRanges = {
  '5m': { seconds: 300, step: PART_SECONDS },
  '1h': { seconds: 3600, step: 60 },
  '24h': { seconds: 86_400, step: 600 },
} as const
export type SeriesRange = keyof typeof seriesRanges

export type SentSeries = {
  /** Begin of the first period, Unix seconds. The last one is the present one, which is not over. */
  from: number
  /** Length of a period in seconds. */
  step: number
  /** Devices by period. Channels without any are left out. */
  channels: { channel: Channel; sent: number[]; failed: number[] }[]
}

/** Devices sent and failed by period, of an application or of all. */
export async function readSeries(
  db: Database,
  appId: string | undefined,
  range: SeriesRange,
): Promise<SentSeries> {
  const { seconds, step } = seriesRanges[range]
  const [now] = await run<[number]>(db.pool, 'series-now', 'SELECT extract(epoch FROM now())::float8', [])
  const to = (Math.floor(now![0] / step) + 1) * step
  const from = to - seconds
  const rows = await run<[Channel, number, number, number]>(
    db.pool,
    `series-${step < 60 ? 'parts' : 'minutes'}`,
    step < 60
      ? `SELECT m.channel, ((extract(epoch FROM m.minute)::float8 + (p.n - 1) * ${PART_SECONDS} - $2::float8) / $4::float8)::int, sum(p.sent)::float8, sum(p.failed)::float8
         FROM channel_minute m CROSS JOIN LATERAL unnest(m.sent_parts, m.failed_parts) WITH ORDINALITY AS p (sent, failed, n)
         WHERE m.app_id = $1 AND m.minute > to_timestamp($2::float8) - interval '1 minute' AND m.minute < to_timestamp($3::float8) GROUP BY 1, 2`
      : `SELECT m.channel, floor((extract(epoch FROM m.minute)::float8 - $2::float8) / $4::float8)::int, sum(m.sent)::float8, sum(m.failed)::float8
         FROM channel_minute m WHERE m.app_id = $1 AND m.minute >= to_timestamp($2::float8) AND m.minute < to_timestamp($3::float8) GROUP BY 1, 2`,
    [appId ?? '', from, to, step],
  )
  const channels = new Map<Channel, { channel: Channel; sent: number[]; failed: number[] }>()
  const none = () => new Array<number>(seconds / step).fill(0)
  for (const [channel, at, sent, failed] of rows) {
    if (at < 0 || at >= seconds / step || sent + failed === 0) continue
    const found = channels.get(channel) ?? { channel, sent: none(), failed: none() }
    channels.set(channel, found)
    found.sent[at] = sent
    found.failed[at] = failed
  }
  return { from, step, channels: [...channels.values()] }
}
