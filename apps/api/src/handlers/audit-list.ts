import { type AuditPlace, type AuditRecord, listAudit } from '@herald/db/readings'
import { z } from 'zod'
import type { ApiDeps } from '../deps.ts'
import { integer, name, optional } from '../input/fields.ts'
import { timestamp } from '../output/fields.ts'
import { route } from '../route.ts'

const place = z
  .string()
  .regex(/^\d{1,16}-\d{1,16}$/, { error: 'must be `next` of the previous page' })
  .transform((text): AuditPlace => {
    const [micros, id] = text.split('-').map(Number) as [number, number]
    return { micros, id }
  })
const time = integer(0, 9_000_000_000)

const answer = z.object({
  list: z.array(
    z.object({
      id: z.string(),
      at: timestamp,
      actor: z
        .string()
        .describe(
          'admin, admin of group 5, admin as user 7, user 7, operator, nobody (a refused sign-in), herald.',
        ),
      action: z.string(),
      address: z.string().nullable().describe('Where the call came from; null for Herald’s own changes.'),
      detail: z.record(z.string(), z.unknown()).describe('What it concerns; never a secret.'),
    }),
  ),
  next: z.string().nullable(),
})

const input = z.strictObject({
  from: optional(time).describe('Unix time in seconds: the first second that is listed.'),
  to: optional(time).describe('Unix time in seconds: the first second that is no longer listed.'),
  actor: optional(name(256)).describe('Exactly as in the entries, such as admin.'),
  action: optional(name(64)).describe('Exactly as in the entries, such as task.cancel.'),
  before: optional(place).describe('Return only older entries: `next` of the previous page.'),
  limit: optional(integer(1, 1000)).describe('Maximum number of entries (default 100).'),
})

const shared = { method: 'post', tag: 'Applications', example: { limit: 10 }, input, answer } as const
const paging = 'A page may have fewer entries than `limit`, or none: only `next: null` is the end.'

export const auditList = route({
  ...shared,
  path: '/admin/audit/list',
  access: 'admin',
  groupRefused: true,
  summary: 'List who did what, newest first',
  description: `An entry is committed together with the change that it describes; that of a read secret before the response. A push is listed as \`push.notify\` for as long as its task is kept, all other entries for a year or longer. Refused sign-ins that say the same are one entry per minute, with \`count\`; beyond 100 entries per minute the rest is counted in one. ${paging}`,
  handler: ({ deps, appId }, input) => pageOf(deps, appId, input),
})

export const installationAudit = route({
  ...shared,
  path: '/admin/app/audit',
  access: 'operator',
  summary: 'List what concerns no application, newest first',
  description: `Sign-ins of the operator, wrong operator keys, and sign-ins to applications that do not exist. ${paging}`,
  handler: ({ deps }, input) => pageOf(deps, undefined, input),
})

async function pageOf(
  { db }: Pick<ApiDeps, 'db'>,
  appId: string | undefined,
  search: z.output<typeof input>,
) {
  const { list, next } = await listAudit(db, appId, {
    from: msOf(search.from),
    to: msOf(search.to),
    actor: search.actor,
    action: search.action,
    before: search.before,
    limit: search.limit ?? 100,
  })
  return { list: list.map(show), next: next ? textOf(next) : null }
}

const msOf = (seconds: number | undefined) => (seconds === undefined ? undefined : seconds * 1000)
const textOf = ({ micros, id }: AuditPlace) => `${micros}-${id}`

function show(record: AuditRecord) {
  const { actor, action, address, detail } = record
  return {
    id: textOf(record),
    at: Math.floor(record.micros / 1_000_000),
    actor,
    action,
    address: address ?? null,
    detail,
  }
}
