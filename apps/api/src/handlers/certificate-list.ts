import { certificatesOf, governorOf } from '@herald/db/certificates'
import { environmentNumber, providerOf, publicName } from '@herald/domain'
import { z } from 'zod'
import { mask, maskExtra } from '../certificates/mask.ts'
import { callsBack, receiptUrlOf } from '../certificates/receipt-url.ts'
import { dayOf, nullableTimestamp, secondsOrNull } from '../output/fields.ts'
import { route } from '../route.ts'

const WARN_MS = 30 * 86_400_000

const certificateView = z.object({
  provider: z.int(),
  channel: z.string(),
  environment: z.int(),
  name: z.string(),
  app_id: z.string(),
  app_key: z.string(),
  app_secret: z.string(),
  certificate: z.string(),
  extra: z.record(z.string(), z.unknown()),
  state: z.enum(['open', 'closed', 'suspect']),
  last_error: z.string().nullable(),
  last_error_at: nullableTimestamp,
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
  warnings: z.array(z.string()).describe('Problems that need attention.'),
})

export const certificateList = route({
  method: 'get',
  path: '/admin/push/certificate/list',
  tag: 'Certificates',
  access: 'admin',
  groupRefused: true,
  summary: 'List certificates',
  description: 'With state, last error, expiry and callback URL. Secrets are masked.',
  input: z.strictObject({}),
  answer: z.array(certificateView),
  async handler({ deps, appId }) {
    const [certificates, governors] = await Promise.all([
      certificatesOf(deps.db, deps.sealer, appId),
      governorOf(deps.db, appId),
    ])
    return certificates.map((stored) => {
      const callbackUrl = receiptUrlOf(deps, stored)
      return {
        provider: providerOf(stored.channel),
        channel: publicName(stored.channel),
        environment: environmentNumber(stored.environment),
        name: stored.name,
        app_id: stored.appId,
        app_key: stored.appKey,
        app_secret: mask(stored.appSecret),
        certificate: mask(stored.certificate),
        extra: maskExtra(stored.extra),
        state: stored.state,
        last_error: stored.lastError ?? null,
        last_error_at: secondsOrNull(stored.lastErrorAt),
        expires_at: secondsOrNull(stored.expiresAt),
        callback_url: callbackUrl ?? null,
        usage: governors
          .filter(({ certificateId }) => certificateId === stored.id)
          .map(({ messageClass, day, used, devices }) => ({
            message_class: messageClass,
            day,
            devices: used,
            permits: devices,
          })),
        warnings: [
          ...expiryWarning(stored.expiresAt, Date.now()),
          ...(callsBack(deps, stored) ? callbackWarning(deps.publicUrl, callbackUrl) : []),
        ],
      }
    })
  },
})

function expiryWarning(expiresAt: number | undefined, now: number): string[] {
  if (expiresAt === undefined || expiresAt - now > WARN_MS) return []
  const day = dayOf(expiresAt)
  return [expiresAt <= now ? `The certificate expired on ${day}.` : `The certificate expires on ${day}.`]
}

function callbackWarning(publicUrl: string | undefined, callbackUrl: string | undefined): string[] {
  if (callbackUrl !== undefined) return []
  return [
    publicUrl === undefined
      ? 'HERALD_PUBLIC_URL is not set, so no receipts are requested.'
      : 'HERALD_PUBLIC_URL is too long: the callback URL would exceed 128 bytes, so no receipts are requested.',
  ]
}
