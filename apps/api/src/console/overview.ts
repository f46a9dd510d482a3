import { shareReads } from '@herald/async'
import {
  type Overview,
  queueCauses,
  readOverview,
  readSeries,
  readSettledTotal,
  type SentSeries,
  type SeriesRange,
  seriesRanges,
} from '@herald/db/readings'
import type { Database } from '@herald/db/store'
import {
  channelState,
  channelStates,
  channels,
  environmentNumber,
  failingShare,
  isFailing,
  publicName,
} from '@herald/domain'
import { z } from 'zod'
import { optional } from '../input/fields.ts'
import { nullableTimestamp, seconds, secondsOrNull, timestamp } from '../output/fields.ts'
import { route } from '../route.ts'

const TOTALS_MS = 60_000

/**
 * Reads the overview so that it can be polled: a result is kept for a second, or for 20 times the duration of its read.
 * However much there is to read, that takes at most a twentieth of one connection's time.
 */
export function createOverviewReader(db: Database): (appId: string) => Promise<Overview> {
  const totals = polled((appId) => readSettledTotal(db, scopeOf(appId)), TOTALS_MS)
  return polled(async (appId) => readOverview(db, scopeOf(appId), await totals.get(appId))).get
}

const polled = <Value>(read: (key: string) => Promise<Value>, minMs = 1000) =>
  shareReads({ read, maxAgeMs: (tookMs) => Math.max(minMs, 20 * tookMs), maxKeys: 5_000 })
const scopeOf = (appId: string) => (appId === '' ? undefined : appId)

/** Reads series in the same way. Long periods change slowly, so they are kept longer. */
export function createSeriesReader(db: Database): (appId: string, range: SeriesRange) => Promise<SentSeries> {
  const readers = new Map(
    Object.entries(seriesRanges).map(([range, { step }]) => [
      range,
      polled((appId) => readSeries(db, scopeOf(appId), range as SeriesRange), Math.min(step * 100, 10_000)),
    ]),
  )
  return (appId, range) => readers.get(range)!.get(appId)
}

const count = z.int()

const overviewRecord = z.object({
  at: z.number().describe('Time of the reading: Unix time in seconds, with a fraction.'),
  sent_total: count.describe(
    'Of tasks accepted in the last 24 hours, from a full hour; the same for the next two.',
  ),
  received_total: count,
  failed_total: count,
  queues: z.array(
    z.object({
      channel: z.string(),
      waiting: count.describe('Batches ready to be sent.'),
      active: count.describe('Batches being sent.'),
      delayed: count.describe('Batches that wait for anything else.'),
      causes: z
        .array(z.object({ cause: z.enum(queueCauses), devices: count, batches: count }))
        .describe(
          'All batches by what they wait for: `waiting` a worker, `active` being sent, `refused` credentials that the vendor refuses, `silent` a vendor that does not answer, `retry` their next attempt, `speed` the limit of their task, `paused` a task that is paused or cancelled.',
        ),
      more: z.boolean().describe('The counts are lower bounds.'),
      oldest_seconds: z.number().nullable().describe('Age of the oldest waiting batch.'),
    }),
  ),
  channels: z.array(
    z.object({
      channel: z.string(),
      certificates: z.array(
        z.object({
          id: count,
          app_id: z.string(),
          environment: z.int(),
          region: z.string().nullable().describe('Null: the vendor’s usual one.'),
          name: z.string(),
          state: z.enum(['open', 'closed', 'suspect']),
          reason: z.string().nullable(),
          expires_at: nullableTimestamp,
          throttled: z.boolean().describe('The backlog exceeds the rate limit.'),
          breaker: z
            .object({ since: timestamp, retry_at: timestamp, code: z.string(), reason: z.string() })
            .nullable()
            .describe('Set while the vendor does not answer.'),
          worked_at: nullableTimestamp.describe(
            'When the vendor last accepted the present credentials, to the hour; null: not since they were saved.',
          ),
          held: z.array(z.string()).describe('Parts that the vendor refuses at present.'),
          failing: z
            .boolean()
            .describe(
              'The vendor decided about less than half of the attempts of the last minute, or of the last ten.',
            ),
        }),
      ),
      state: z
        .enum(channelStates)
        .describe(
          '`failing`: the vendor decides about less than half of the attempts; `refused`: it refuses all credentials; `unused`: nothing was sent for a day.',
        ),
      rate: z.number().describe('Devices per second over the last 30 seconds.'),
      sent_1m: count.describe('Devices, by the time of sending.'),
      failed_1m: count,
      sent_10m: count,
      failed_10m: count,
      failing_share: z
        .number()
        .nullable()
        .describe(
          'Share of the attempts of the last ten minutes that the vendor did not decide: it did not answer, asked to slow down or refused the credentials. One attempt per device. Null without attempts.',
        ),
      last_error: z
        .object({ code: z.string(), reason: z.string(), at: timestamp })
        .nullable()
        .describe('Within the last ten minutes; dead tokens do not count.'),
      last_sent_at: nullableTimestamp.describe('Within the last day.'),
    }),
  ),
  native: z.object({
    online: count,
    estimated: z.boolean().describe('`online` is extrapolated from a sample.'),
    gateways: count,
  }),
  tasks_open: count,
  accepted_last_minute: count,
})

export const overview = route({
  method: 'get',
  path: '/console/overview',
  tag: 'Console',
  access: 'console',
  groupRefused: true,
  summary: 'Overview: rates, queues, channels, connections',
  input: z.strictObject({}),
  answer: overviewRecord,
  handler: async ({ deps, appId }) => shown(await deps.overview(appId)),
})

function shown(found: Overview): z.input<typeof overviewRecord> {
  return {
    at: found.at / 1000,
    sent_total: found.total.sent,
    received_total: found.total.received,
    failed_total: found.total.failed,
    queues: channels.map((channel) => {
      const queue = found.queues.get(channel)
      const causes = queueCauses.flatMap((cause) => {
        const counted = queue?.causes.get(cause)
        return counted ? [{ cause, ...counted }] : []
      })
      const batches = (isOf: (cause: string) => boolean) =>
        causes.reduce((sum, one) => sum + (isOf(one.cause) ? one.batches : 0), 0)
      return {
        channel: publicName(channel),
        waiting: batches((cause) => cause === 'waiting'),
        active: batches((cause) => cause === 'active'),
        delayed: batches((cause) => cause !== 'waiting' && cause !== 'active'),
        causes,
        more: queue?.more ?? false,
        oldest_seconds: queue?.oldestSeconds ?? null,
      }
    }),
    channels: channels.map((channel) => shownChannel(found, channel)),
    native: found.native,
    tasks_open: found.tasksOpen,
    accepted_last_minute: found.acceptedLastMinute,
  }
}

type ShownChannel = z.input<typeof overviewRecord>['channels'][number]

function shownChannel(found: Overview, channel: (typeof channels)[number]): ShownChannel {
  const figures = found.figures.channels.get(channel)
  const certificates = found.certificates
    .filter((certificate) => certificate.channel === channel)
    .map(
      ({
        id,
        appId,
        environment,
        expiresAt,
        silentSince,
        retryAt,
        silence,
        silenceCode,
        workedAt,
        ...rest
      }) => {
        const attempts = found.figures.attempts.get(id)
        return {
          id,
          app_id: appId,
          environment: environmentNumber(environment),
          region: rest.region,
          name: rest.name,
          state: rest.state,
          reason: rest.reason,
          expires_at: secondsOrNull(expiresAt),
          throttled: rest.throttled,
          breaker:
            silentSince === null || retryAt === null
              ? null
              : {
                  since: seconds(silentSince),
                  retry_at: seconds(retryAt),
                  code: silenceCode ?? '',
                  reason: silence ?? '',
                },
          worked_at: secondsOrNull(workedAt),
          held: rest.held,
          failing: attempts !== undefined && isFailing(attempts),
        }
      },
    )
  const lastSent = found.lastSent.get(channel) ?? null
  return {
    channel: publicName(channel),
    certificates,
    state: channelState({
      certificates,
      isFailing: figures !== undefined && isFailing(figures),
      wasUsed: lastSent !== null || figures !== undefined,
    }),
    rate: Math.round((figures?.rate ?? 0) * 10) / 10,
    sent_1m: figures?.sent.minute ?? 0,
    failed_1m: figures?.failed.minute ?? 0,
    sent_10m: figures?.sent.tenMinutes ?? 0,
    failed_10m: figures?.failed.tenMinutes ?? 0,
    failing_share: (figures && failingShare(figures.tenMinutes)) ?? null,
    last_error: figures?.error
      ? { code: figures.error.code, reason: figures.error.text, at: seconds(figures.error.at) }
      : null,
    last_sent_at: secondsOrNull(lastSent),
  }
}

const seriesRecord = z.object({
  from: timestamp.describe('Start of the first period. The last one is the present one, which is not over.'),
  step: count.describe('Length of a period in seconds.'),
  channels: z.array(
    z.object({
      channel: z.string(),
      sent: z.array(count).describe('Devices by period, by the time of sending.'),
      failed: z.array(count),
    }),
  ),
})

const ranges = Object.keys(seriesRanges) as [SeriesRange, ...SeriesRange[]]

export const series = route({
  method: 'get',
  path: '/console/series',
  tag: 'Console',
  access: 'console',
  groupRefused: true,
  summary: 'Devices sent and failed over time, by channel',
  input: z.strictObject({
    range: optional(z.enum(ranges)).describe(
      'Periods of 10 seconds, a minute or ten minutes (default 1h). Longer ranges are in POST /push/stats.',
    ),
  }),
  answer: seriesRecord,
  handler: async ({ deps, appId }, { range }) => {
    const { channels: found, ...periods } = await deps.series(appId, range ?? '1h')
    return {
      ...periods,
      channels: found.map(({ channel, ...counts }) => ({ channel: publicName(channel), ...counts })),
    }
  },
})
