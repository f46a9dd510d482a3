import {
  certificateAt,
  removeCertificate,
  type StoredCertificate,
  saveCertificate,
} from '@herald/db/certificates'
import { publicName } from '@herald/domain'
import { z } from 'zod'
import { Failure } from '../codes.ts'
import { dayOf, nullableTimestamp, secondsOrNull } from '../input/answers.ts'
import { integerText, optional, providerNames, required, text } from '../input/fields.ts'
import { route } from '../route.ts'
import { note } from './audit.ts'
import {
  adapterOf,
  environmentNames,
  place,
  placeOf,
  readSettings,
  unconfigured,
} from './certificate-place.ts'
import { receiptUrlOf } from './receipt-url.ts'

const tag = 'Certificates'
const field = optional(text(32_768))

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
    environment: optional(integerText(0, 1)).describe(environmentNames),
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
      expires_at: secondsOrNull(saved.expiresAt),
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
