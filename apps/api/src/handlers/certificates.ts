import { type Card, cards } from '@herald/channels/cards'
import {
  certificateAt,
  noteCheckedCertificate,
  readCertificate as readWithEntry,
  removeCertificate,
  type StoredCertificate,
  saveCertificate,
} from '@herald/db/certificates'
import { cardOf, publicName, regionOfExtra } from '@herald/domain'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { askCandidate } from '../certificates/ask-candidate.ts'
import { checkAnswer } from '../certificates/check-answer.ts'
import { keptField, refuseMasks, withKeptFields } from '../certificates/kept-fields.ts'
import {
  adapterOf,
  checkUpload,
  environmentNames,
  place,
  placeInRegion,
  placeOf,
  readSettings,
  regionNotice,
  unconfigured,
  vendorsWithRegions,
} from '../certificates/place.ts'
import { receiptUrlOf } from '../certificates/receipt-url.ts'
import { warningsOfSaved } from '../certificates/warnings.ts'
import { Failure } from '../codes.ts'
import { integerText, optional, providerInQuery, region, text } from '../input/fields.ts'
import { dayOf, nullableTimestamp, secondsOrNull } from '../output/fields.ts'
import { route } from '../route.ts'

const tag = 'Certificates'
const field = optional(text(32_768))
const withClientSecret = cards.flatMap((card: Card) => (card.clientSecret ? [card.title.en] : [])).join(', ')

export const readCertificate = route({
  method: 'get',
  path: '/push/certificate',
  tag,
  access: 'anyone',
  groupRefused: true,
  summary: 'Get a push certificate',
  description: `An admin gets all five fields. A user gets app_secret and certificate as "", except app_secret for ${withClientSecret}: the client secret that its SDK needs.`,
  input: z.strictObject({
    provider: providerInQuery,
    environment: optional(integerText(0, 1)).describe(environmentNames),
    region: optional(region).describe(regionNotice),
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
    const isAdmin = caller.role === 'admin'
    const stored = isAdmin
      ? await readWithEntry(deps.db, deps.sealer, wanted, byOf(context))
      : await certificateAt(deps.db, deps.sealer, wanted)
    if (!stored) throw unconfigured(wanted)
    const { appId: app_id, appKey: app_key, appSecret: app_secret, certificate, name } = stored
    if (isAdmin) return { app_id, app_key, app_secret, certificate, name }
    return { app_id, app_key, app_secret: clientSecret(stored), certificate: '', name }
  },
})

/** Some client SDKs register with a secret of their own; users must not get the one that sends. */
function clientSecret({ channel, extra }: StoredCertificate): string {
  const { clientSecret: key } = cardOf(channel)
  const secret = key === undefined ? undefined : extra[key]
  return typeof secret === 'string' ? secret : ''
}

export const putCertificate = route({
  method: 'put',
  path: '/admin/push/certificate',
  tag,
  access: 'admin',
  groupRefused: true,
  summary: 'Save the certificate of a provider and environment',
  description: `One record per provider and environment, and per region for ${vendorsWithRegions}: \`extra.region\` \`cn\` (default) or \`intl\`. Saving replaces the record of the same place, and opens a channel that was closed because the vendor refused its credentials. With \`check\` the vendor is asked first; what it refuses is not saved, and the record that works stays as it is.`,
  input: z.strictObject({
    ...place,
    name: optional(text(128)),
    app_id: field,
    app_key: field,
    app_secret: field,
    certificate: field,
    extra: optional(z.record(z.string(), z.unknown())),
    keep: optional(
      z.array(z.string().regex(keptField, { error: 'must be the name of a field' })).max(64),
    ).describe(
      'Fields that keep the value of the saved record, such as `app_secret` or `extra.callback_secret`. All others are replaced.',
    ),
    check: optional(z.boolean()).describe(
      'Ask the vendor first, and save only if it accepts the credentials (default false).',
    ),
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
    channel: z.string(),
    environment: z.int(),
    region: z.string().nullable(),
    expires_at: nullableTimestamp,
    callback_url: z.string().nullable(),
    warnings: z.array(z.string()).describe('What these settings will cause, in English.'),
    saved: z.boolean().describe('False: the vendor did not accept the credentials, and nothing was changed.'),
    check: checkAnswer.nullable().describe('What the vendor said; null if it was not asked.'),
  }),
  failures: [42901],
  async handler(context, input) {
    const { deps } = context
    const where = placeOf(context, input)
    const adapter = adapterOf(context, where.channel)
    const given = {
      ...where,
      name: input.name ?? '',
      appId: input.app_id ?? '',
      appKey: input.app_key ?? '',
      appSecret: input.app_secret ?? '',
      certificate: input.certificate ?? '',
      extra: plain(input.extra ?? {}),
    }
    refuseMasks(given)
    const keep = input.keep ?? []
    const target = { ...where, region: regionOfExtra(where.channel, given.extra) }
    const known = keep.length > 0 ? await certificateAt(deps.db, deps.sealer, target) : undefined
    if (keep.length > 0 && !known) throw unconfigured(target)
    const certificate = known ? withKeptFields(given, known, keep) : given
    const expiresAt = await checkUpload(context, adapter, { ...certificate, id: 0 })
    if (expiresAt !== undefined && expiresAt <= Date.now())
      throw new Failure(40002, `The certificate expired on ${dayOf(expiresAt)}; upload a renewed one.`)
    const candidate = input.check
      ? await askCandidate(
          adapter,
          readSettings(adapter, { ...certificate, id: 0 }),
          target,
          deps.transportDeps(0),
        )
      : undefined
    const shownPlace = {
      provider: input.provider,
      channel: publicName(where.channel),
      environment: input.environment ?? 1,
    }
    if (candidate && !candidate.answer.ok)
      return {
        ...shownPlace,
        region: target.region ?? null,
        expires_at: secondsOrNull(expiresAt),
        callback_url: null,
        warnings: [],
        saved: false,
        check: candidate.answer,
      }
    const saved = await saveCertificate(deps.db, deps.sealer, { ...certificate, expiresAt }, byOf(context))
    if (saved.wasClosed) deps.meters.reopened(where.channel)
    if (candidate) {
      await noteCheckedCertificate(deps.db, saved.id, saved.version)
      // Without them the next push asks for new ones.
      await candidate.keepSessions(deps.transportDeps(saved.id)).catch(() => {})
    }
    deps.certificates.forget(context.appId)
    return {
      ...shownPlace,
      region: saved.region ?? null,
      expires_at: secondsOrNull(saved.expiresAt),
      callback_url: receiptUrlOf(deps, saved) ?? null,
      warnings: await warningsOfSaved(deps, saved),
      saved: true,
      check: candidate?.answer ?? null,
    }
  },
})

/** `extra` is stored as plain JSON; its numbers are limits and need no bigint. */
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
  input: z.strictObject(placeInRegion),
  answer: z.object({ removed: z.literal(true) }),
  async handler(context, input) {
    const where = placeOf(context, input)
    const removed = await removeCertificate(context.deps.db, context.deps.sealer, where, byOf(context))
    if (!removed) throw unconfigured(where)
    context.deps.certificates.forget(context.appId)
    return { removed: true as const }
  },
})
