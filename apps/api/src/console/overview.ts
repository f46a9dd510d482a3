import type { Overview } from '@herald/db/readings'
import { environmentNumber } from '@herald/db/store'
import { channels, publicName } from '@herald/domain'
import { z } from 'zod'
import { nullableTimestamp, secondsOrNull } from '../input/answers.ts'
import { route } from '../route.ts'

const count = z.int()

const overviewRecord = z.object({
  at: z.number().describe('When the figures were read: Unix time in seconds, with a fraction.'),
  sent_total: count.describe('Of tasks accepted within 24 hours, from a full hour on; so are the other two.'),
  received_total: count,
  failed_total: count,
  queues: z.array(
    z.object({
      channel: z.string(),
      waiting: count.describe('Batches that could be sent now.'),
      active: count.describe('Batches being sent.'),
      delayed: count.describe('Batches held back by backoff, a speed or a pause.'),
      more: z.boolean().describe('There are more: the three figures are the least there is.'),
      oldest_seconds: z.number().nullable().describe('Age of the batch that waits longest.'),
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
          name: z.string(),
          state: z.enum(['open', 'closed', 'suspect']),
          reason: z.string().nullable(),
          expires_at: nullableTimestamp,
          throttled: z.boolean().describe('More waits than its rate lets through.'),
        }),
      ),
      sent_10m: count.describe('Devices of tasks of the last ten minutes and of tasks under way.'),
      failed_10m: count,
    }),
  ),
  native: z.object({
    online: count,
    estimated: z.boolean().describe('`online` is a share of all connections, counted on some of them.'),
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
  summary: 'What goes on: rates, queues, channels, connections',
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
          ({ id, appId, environment, name, state, reason, expiresAt, throttled }) => ({
            id,
            app_id: appId,
            environment: environmentNumber(environment),
            name,
            state,
            reason,
            expires_at: secondsOrNull(expiresAt),
            throttled,
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
