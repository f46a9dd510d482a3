import { type Certificate, CertificateProblem, type ChannelAdapter } from '@herald/channels'
import {
  type CertificatePlace,
  certificateAt,
  certificatesOf,
  governorOf,
  noteCertificateError,
  removeCertificate,
  reopenCertificate,
  type StoredCertificate,
  saveCertificate,
  taskMemory,
  vendorSession,
} from '@herald/db'
import { channelOfProvider, providerOf, publicName, type VendorChannel } from '@herald/domain'
import { callbackUrlOf } from '@herald/plan'
import { z } from 'zod'
import { Failure } from '../codes.ts'
import type { ApiDeps } from '../deps.ts'
import { nullableTimestamp } from '../input/answers.ts'
import { environment, integerText, optional, provider, required, text } from '../input/fields.ts'
import { type Context, route } from '../route.ts'
import { note } from './audit.ts'
import { mask, maskExtra } from './certificate-mask.ts'

const tag = 'Certificates'
const providerNames = '1 APNs, 2 Huawei, 3 Xiaomi, 4 Meizu, 5 vivo, 6 OPPO, 7 FCM, 8 Honor'
const place = {
  provider: required(provider).describe(providerNames),
  environment: optional(environment).describe('0 = development, 1 = production; default 1.'),
}
const field = optional(text(32_768))

function placeOf(context: Context, input: { provider: number; environment?: number }): CertificatePlace {
  return {
    application: context.appId,
    channel: channelOfProvider(input.provider)!,
    environment: input.environment === 0 ? 'development' : 'production',
  }
}

function unconfigured({ channel, environment }: CertificatePlace): Failure {
  return new Failure(40401, `There is no ${environment} certificate for ${publicName(channel)}.`)
}

export const readCertificate = route({
  method: 'get',
  path: '/push/certificate',
  tag,
  access: 'anyone',
  groupRefused: true,
  summary: 'Get a push certificate',
  description:
    'An admin gets all five fields. A user gets app_secret and certificate as "", but for OPPO the client secret that its SDK needs.',
  input: z.strictObject({
    provider: required(integerText(1, 8)).describe(providerNames),
    environment: optional(integerText(0, 1)).describe('0 = development, 1 = production; default 1.'),
  }),
  answer: z.object({
    app_id: z.string(),
    app_key: z.string(),
    app_secret: z.string(),
    certificate: z.string(),
    name: z.string(),
  }),
  example: { provider: '2' },
  async handler(context, input) {
    const { deps, caller } = context
    const wanted = placeOf(context, input)
    const stored = await certificateAt(deps.db, deps.sealer, wanted)
    if (!stored) throw unconfigured(wanted)
    const { appId: app_id, appKey: app_key, appSecret: app_secret, certificate, name } = stored
    if (caller.role === 'admin') return { app_id, app_key, app_secret, certificate, name }
    return { app_id, app_key, app_secret: clientSecret(stored), certificate: '', name }
  },
})

/** OPPO's client SDK registers with a secret of its own; the master secret never leaves the server. */
function clientSecret({ channel, extra }: StoredCertificate): string {
  const secret = channel === 'oppo' ? extra.client_app_secret : undefined
  return typeof secret === 'string' ? secret : ''
}

export const putCertificate = route({
  method: 'put',
  path: '/admin/push/certificate',
  tag,
  access: 'admin',
  groupRefused: true,
  summary: 'Save the certificate of a provider and environment',
  description:
    'One record per provider and environment. Saving opens a channel again that the vendor’s refusal closed.',
  input: z.strictObject({
    ...place,
    name: optional(text(128)),
    app_id: field,
    app_key: field,
    app_secret: field,
    certificate: field,
    extra: optional(z.record(z.string(), z.unknown())),
  }),
  example: {
    provider: 2,
    environment: 0,
    name: 'Example',
    app_id: '100000001',
    app_secret: 'example-secret',
  },
  answer: z.object({
    provider: z.int(),
    environment: z.int(),
    expires_at: nullableTimestamp,
    callback_url: z.string().nullable(),
  }),
  async handler(context, input) {
    const { deps } = context
    const where = placeOf(context, input)
    const adapter = adapterOf(context, where.channel)
    const certificate = {
      ...where,
      name: input.name ?? '',
      appId: input.app_id ?? '',
      appKey: input.app_key ?? '',
      appSecret: input.app_secret ?? '',
      certificate: input.certificate ?? '',
      extra: plain(input.extra ?? {}),
    }
    const settings = readSettings(adapter, { ...certificate, id: 0 })
    const expiresAt = adapter.expiresAt?.(settings)
    if (expiresAt !== undefined && expiresAt <= Date.now())
      throw new Failure(40002, `The certificate expired on ${dayOf(expiresAt)}; save a renewed one.`)
    const saved = await saveCertificate(deps.db, deps.sealer, { ...certificate, expiresAt })
    deps.certificates.forget(context.appId)
    await note(context, 'certificate.save', {
      channel: publicName(where.channel),
      environment: where.environment,
      version: saved.version,
    })
    return {
      provider: input.provider,
      environment: input.environment ?? 1,
      expires_at: unixSeconds(saved.expiresAt),
      callback_url: receiptUrlOf(deps, saved) ?? null,
    }
  },
})

/** Exact integers of the reader have no place in `extra`: its numbers are limits. */
function plain(extra: Record<string, unknown>): Record<string, unknown> {
  return JSON.parse(
    JSON.stringify(extra, (_key, value) => (typeof value === 'bigint' ? Number(value) : value)),
  )
}

function adapterOf({ deps }: Context, channel: VendorChannel): ChannelAdapter {
  const adapter = deps.adapters[channel]
  if (!adapter) throw new Failure(40002, `provider: ${publicName(channel)} is not part of this installation.`)
  return adapter
}

function readSettings(adapter: ChannelAdapter, certificate: Certificate): unknown {
  try {
    return adapter.readSettings(certificate)
  } catch (error) {
    if (error instanceof CertificateProblem) throw new Failure(40002, `${error.message.replace(/\.$/, '')}.`)
    throw error
  }
}

function unixSeconds(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.floor(ms / 1000)
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

const WARN_MS = 30 * 86_400_000

export const certificateList = route({
  method: 'get',
  path: '/admin/push/certificate/list',
  tag,
  access: 'admin',
  groupRefused: true,
  summary: 'Certificates, secrets masked, with state, last error, expiry and callback URL',
  input: z.strictObject({}),
  answer: z.array(
    z.object({
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
            day: z.string().describe('The day of the last send, where the vendor counts its quota.'),
            devices: z.int().describe('Devices counted on that day.'),
            permits: z
              .number()
              .describe('Devices that could be sent to at once when it was last asked; negative: in debt.'),
          }),
        )
        .describe('What the governor of the limits stands at, by message class.'),
      warnings: z.array(z.string()).describe('What the operator should look after.'),
    }),
  ),
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
        environment: stored.environment === 'production' ? 1 : 0,
        name: stored.name,
        app_id: stored.appId,
        app_key: stored.appKey,
        app_secret: mask(stored.appSecret),
        certificate: mask(stored.certificate),
        extra: maskExtra(stored.extra),
        state: stored.state,
        last_error: stored.lastError ?? null,
        last_error_at: unixSeconds(stored.lastErrorAt),
        expires_at: unixSeconds(stored.expiresAt),
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

/** APNs and FCM never call back: an address would only mislead. */
const callsBack = (deps: ApiDeps, { channel }: StoredCertificate) =>
  deps.adapters[channel]?.readCallback !== undefined

function receiptUrlOf(deps: ApiDeps, stored: StoredCertificate): string | undefined {
  return callsBack(deps, stored) ? callbackUrlOf(stored, deps.publicUrl) : undefined
}

function expiryWarning(expiresAt: number | undefined, now: number): string[] {
  if (expiresAt === undefined || expiresAt - now > WARN_MS) return []
  const day = dayOf(expiresAt)
  return [expiresAt <= now ? `The certificate expired on ${day}.` : `The certificate expires on ${day}.`]
}

function callbackWarning(publicUrl: string | undefined, callbackUrl: string | undefined): string[] {
  if (callbackUrl !== undefined) return []
  return [
    publicUrl === undefined
      ? 'HERALD_PUBLIC_URL is not set, so no receipts are asked for.'
      : 'HERALD_PUBLIC_URL is too long: with it the callback URL exceeds 128 bytes, so no receipts are asked for.',
  ]
}

const CHECK_MS = 20_000

export const checkCertificate = route({
  method: 'post',
  path: '/admin/push/certificate/check',
  tag,
  access: 'admin',
  groupRefused: true,
  summary: 'Ask the vendor whether a certificate is good',
  description: 'A good answer opens a closed channel at once.',
  example: { provider: 2 },
  input: z.strictObject(place),
  answer: z.object({
    ok: z.boolean(),
    problem: z.string().nullable(),
    temporary: z.boolean().describe('The vendor could not be asked just now; the certificate may be good.'),
  }),
  async handler(context, input) {
    const { deps } = context
    const where = placeOf(context, input)
    const adapter = adapterOf(context, where.channel)
    const stored = await certificateAt(deps.db, deps.sealer, where)
    if (!stored) throw unconfigured(where)
    const result = await askVendor(context, adapter, stored)
    if (result.ok) {
      await reopenCertificate(deps.db, stored.id)
      deps.certificates.forget(context.appId)
      return { ok: true, problem: null, temporary: false }
    }
    if (!result.temporary) await noteCertificateError(deps.db, stored.id, result.problem)
    return { ok: false, problem: result.problem, temporary: result.temporary }
  },
})

async function askVendor({ deps }: Context, adapter: ChannelAdapter, stored: StoredCertificate) {
  const transport = adapter.open(readSettings(adapter, stored), {
    ...deps.vendor,
    now: Date.now,
    session: (key, mint, stale) => vendorSession(deps.db, deps.sealer, stored.id, key, mint, stale),
    taskMemory: (taskId, key, make) => taskMemory(deps.db, taskId, stored.id, key, make),
  })
  try {
    return await transport.check(AbortSignal.timeout(CHECK_MS))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { ok: false as const, problem: `The vendor could not be asked: ${reason}`, temporary: true }
  } finally {
    await transport.close()
  }
}

export const dropCertificate = route({
  method: 'post',
  path: '/admin/push/certificate/remove',
  tag,
  access: 'admin',
  groupRefused: true,
  summary: 'Remove the certificate of a provider and environment',
  example: { provider: 2, environment: 0 },
  input: z.strictObject(place),
  answer: z.object({ removed: z.literal(true) }),
  async handler(context, input) {
    const where = placeOf(context, input)
    if (!(await removeCertificate(context.deps.db, where))) throw unconfigured(where)
    context.deps.certificates.forget(context.appId)
    await note(context, 'certificate.remove', {
      channel: publicName(where.channel),
      environment: where.environment,
    })
    return { removed: true as const }
  },
})
