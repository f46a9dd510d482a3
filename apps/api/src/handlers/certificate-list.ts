import {
  breakersOf,
  certificatesOf,
  certificateUse,
  governorOf,
  holdsOf,
  shownHealth,
} from '@herald/db/certificates'
import { environmentNumber, isNever, providerOf, publicName } from '@herald/domain'
import { z } from 'zod'
import { mask, maskExtra } from '../certificates/mask.ts'
import { receiptUrlOf } from '../certificates/receipt-url.ts'
import { warningsOf } from '../certificates/warnings.ts'
import { nullableTimestamp, secondsOrNull, timestamp } from '../output/fields.ts'
import { route } from '../route.ts'

const certificateView = z.object({
  provider: z.int(),
  channel: z.string(),
  environment: z.int(),
  region: z.string().nullable().describe('Null for vendors without regions.'),
  name: z.string(),
  app_id: z.string(),
  app_key: z.string(),
  app_secret: z.string(),
  certificate: z.string(),
  extra: z.record(z.string(), z.unknown()),
  state: z
    .enum(['open', 'closed', 'suspect'])
    .describe(
      'closed: the vendor refuses the credentials; nothing is sent until a probe, a check or a save opens it again. suspect: the vendor reports most tokens as invalid; none is removed.',
    ),
  last_error: z.string().nullable().describe('What the vendor said last, of a certificate that is not open.'),
  last_error_at: nullableTimestamp,
  first_refused_at: nullableTimestamp.describe(
    'When the vendor first refused the credentials, without accepting a request since.',
  ),
  closed_at: nullableTimestamp,
  next_probe_at: nullableTimestamp.describe(
    'When Herald checks a closed certificate again; null: it is not probed.',
  ),
  probes: z.int().describe('Number of failed probes since it was closed.'),
  breaker: z
    .object({
      since: timestamp,
      retry_at: timestamp.describe('When one batch is tried.'),
      code: z.string().describe('Code of the reason, as in /push/task/failures.'),
      reason: z.string(),
    })
    .nullable()
    .describe('Set while the vendor does not answer.'),
  holds: z
    .array(
      z.object({
        scope: z.string().describe('The part, such as `class service` or `quota marketing`.'),
        kind: z.enum(['rejected', 'quota']),
        code: z.string(),
        reason: z.string(),
        since: timestamp,
        until: timestamp,
        active: z.boolean().describe('False: it has ended within the last day.'),
      }),
    )
    .describe(
      'Parts of the certificate that the vendor refuses or whose quota is used up. All other messages are sent.',
    ),
  check_error: z
    .string()
    .nullable()
    .describe('Why the last check failed; null after one that succeeded, or a save.'),
  check_error_at: nullableTimestamp,
  worked_at: nullableTimestamp.describe(
    'When the vendor last accepted a message or a check with these credentials, to the hour; null: not since they were saved.',
  ),
  expires_at: nullableTimestamp,
  callback_url: z.string().nullable(),
  usage: z
    .array(
      z.object({
        message_class: z.enum(['service', 'marketing']),
        day: z.string().describe('Day of the last send, in the time zone of the vendor’s quota.'),
        devices: z.int().describe('Devices sent to on that day.'),
        permits: z
          .number()
          .describe('Devices that could be sent to at the last request; negative: over the limit.'),
      }),
    )
    .describe('State of the rate and quota limits, by message class.'),
  warnings: z
    .array(z.string())
    .describe(
      'What needs attention, in English: failed check, silent vendor, refused parts, expiry, settings.',
    ),
})

export const certificateList = route({
  method: 'get',
  path: '/admin/push/certificate/list',
  tag: 'Certificates',
  access: 'admin',
  groupRefused: true,
  summary: 'List certificates',
  description: 'With state, what the vendor refuses, expiry, callback URL and warnings. Secrets are masked.',
  input: z.strictObject({}),
  answer: z.array(certificateView),
  async handler({ deps, appId }) {
    const [certificates, governors, breakers, holds, use, read] = await Promise.all([
      certificatesOf(deps.db, deps.sealer, appId),
      governorOf(deps.db, appId),
      breakersOf(deps.db, appId),
      holdsOf(deps.db, appId),
      certificateUse(deps.db, appId),
      // The settings, without parsing the keys of every certificate again.
      deps.certificates.of(appId),
    ])
    const now = Date.now()
    return certificates.map((stored) => {
      const health = shownHealth(
        { ...stored, breaker: breakers.get(stored.id), holds: holds.get(stored.id) ?? [] },
        now,
      )
      return {
        provider: providerOf(stored.channel),
        channel: publicName(stored.channel),
        environment: environmentNumber(stored.environment),
        region: stored.region ?? null,
        name: stored.name,
        app_id: stored.appId,
        app_key: stored.appKey,
        app_secret: mask(stored.appSecret),
        certificate: mask(stored.certificate),
        extra: maskExtra(stored.extra),
        state: stored.state,
        last_error: stored.lastError ?? null,
        last_error_at: secondsOrNull(stored.lastErrorAt),
        first_refused_at: secondsOrNull(stored.refusedAt),
        closed_at: secondsOrNull(stored.closedAt),
        next_probe_at:
          stored.probeAt === undefined || isNever(stored.probeAt) ? null : secondsOrNull(stored.probeAt),
        probes: stored.probes,
        ...health,
        holds: [...health.holds],
        worked_at: secondsOrNull(use.get(stored.id)),
        expires_at: secondsOrNull(stored.expiresAt),
        callback_url: receiptUrlOf(deps, stored) ?? null,
        usage: governors
          .filter(({ certificateId }) => certificateId === stored.id)
          .map(({ messageClass, day, used, devices }) => ({
            message_class: messageClass,
            day,
            devices: used,
            permits: devices,
          })),
        warnings: warningsOf(deps, stored, { health, read: read.byId(stored.id), now }),
      }
    })
  },
})
