import { shareReads } from '@herald/async'
import { type Overview, readOverview, readSettledTotal } from '@herald/db/readings'
import type { Database } from '@herald/db/store'
import { channels, environmentNumber, publicName } from '@herald/domain'
import { z } from 'zod'
import { nullableTimestamp, seconds, secondsOrNull, timestamp } from '../output/fields.ts'
import { route } from '../route.ts'

const TOTALS_MS = 60_000

/**
 * Reads the overview so that it can be polled: a result is kept for a second, or for 20 times the duration of its read.
 * However much there is to read, that takes at most a twentieth of one connection's time.
 */
export function createOverviewReader(db: Database): (appId: string) => Promise<Overview> {
  const polled = <Value>(read: (appId: string) => Promise<Value>, minMs = 1000) =>
    shareReads({ read, maxAgeMs: (tookMs) => Math.max(minMs, 20 * tookMs), maxKeys: 5_000 })
  const scopeOf = (appId: string) => (appId === '' ? undefined : appId)
  const totals = polled((appId) => readSettledTotal(db, scopeOf(appId)), TOTALS_MS)
  return polled(async (appId) => readOverview(db, scopeOf(appId), await totals.get(appId))).get
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
      delayed: count.describe('Batches delayed by backoff, a speed limit or a pause.'),
      more: z.boolean().describe('The three counts are lower bounds.'),
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
            .object({ since: timestamp, retry_at: timestamp, reason: z.string() })
            .nullable()
            .describe('Set while the vendor does not answer.'),
          held: z.array(z.string()).describe('Parts that the vendor refuses at present.'),
        }),
      ),
      sent_10m: count.describe('Devices of tasks of the last ten minutes and of tasks in progress.'),
      failed_10m: count,
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
      return {
        channel: publicName(channel),
        waiting: queue?.waiting ?? 0,
        active: queue?.active ?? 0,
        delayed: queue?.delayed ?? 0,
        more: queue?.more ?? false,
        oldest_seconds: queue?.oldestSeconds ?? null,
      }
    }),
    channels: channels.map((channel) => {
      const certificates = found.certificates.filter((certificate) => certificate.channel === channel)
      return {
        channel: publicName(channel),
        certificates: certificates.map(
          ({ id, appId, environment, expiresAt, silentSince, retryAt, silence, ...rest }) => ({
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
                : { since: seconds(silentSince), retry_at: seconds(retryAt), reason: silence ?? '' },
            held: rest.held,
          }),
        ),
        sent_10m: found.recent.get(channel)?.sent ?? 0,
        failed_10m: found.recent.get(channel)?.failed ?? 0,
      }
    }),
    native: found.native,
    tasks_open: found.tasksOpen,
    accepted_last_minute: found.acceptedLastMinute,
  }
}
