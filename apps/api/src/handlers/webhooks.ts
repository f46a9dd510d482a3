import { randomUUID } from 'node:crypto'
import {
  type ListedWebhook,
  listEntries,
  listWebhooks,
  MAX_WEBHOOKS,
  noteTest,
  type Position,
  positionAfter,
  positionAt,
  removeWebhook,
  replayWebhook,
  saveWebhook,
  webhookTarget,
} from '@herald/db/events'
import { SealBroken } from '@herald/db/store'
import { noteEventsRead } from '@herald/db/tenants'
import { eventNames } from '@herald/domain'
import { newWebhookSecret } from '@herald/outbound'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { Failure } from '../codes.ts'
import { int64, integer, name, optional, required } from '../input/fields.ts'
import { int64Out, nullableTimestamp, seconds, secondsOrNull, timestamp } from '../output/fields.ts'
import { route } from '../route.ts'
import { ownId } from '../task-ids.ts'

const shared = { tag: 'Events', access: 'admin', groupRefused: true } as const
const unknown = (id: bigint) => new Failure(40401, `The webhook ${id} does not exist.`)
const known = eventNames.join(', ')
/** Entries of a list of events, which may name one several times. */
const MAX_EVENTS = 100

export const putWebhook = route({
  ...shared,
  method: 'put',
  path: '/admin/webhook',
  summary: 'Save a webhook: where events of the application are sent',
  description: `Without \`webhook_id\` the webhook of this name is changed, or added; an application may have ${MAX_WEBHOOKS}. A new one gets the events from now on. Saving a suspended webhook (state \`rested\`) resumes it. Events of devices are sent only for tasks with \`setting.events\` and for the tasks of a campaign that a webhook names.`,
  example: {
    name: 'example',
    url: 'https://hooks.example.com/herald',
    events: ['task.finished', 'device.failed'],
    campaign: 'spring',
  },
  input: z.strictObject({
    webhook_id: optional(int64).describe('Changes this webhook, also its name.'),
    name: required(name(128)),
    url: required(name(2048)).describe(
      'https or http address. It must be public, which is checked again with every request; redirects are not followed.',
    ),
    events: required(
      z
        .array(z.enum(eventNames, { error: `must be one of ${known}` }))
        .min(1)
        .max(MAX_EVENTS),
    ),
    campaign: optional(name(64)).describe(
      'Only events of tasks with this `setting.campaign`; events that belong to no task are not sent.',
    ),
    rotate_secret: optional(z.boolean()).describe('Replaces the secret of an existing webhook.'),
  }),
  answer: z.object({
    webhook_id: int64Out,
    secret: z
      .string()
      .optional()
      .describe(
        'Signs the requests (Standard Webhooks). Returned only once: for a new webhook and with rotate_secret.',
      ),
  }),
  failures: [40901],
  async handler(context, input) {
    const { deps, appId } = context
    const problem = await deps.webhooks.problemOf(input.url)
    if (problem) throw new Failure(40002, `url ${problem}.`)
    const saved = await saveWebhook(
      deps.db,
      deps.sealer,
      appId,
      {
        webhookId: input.webhook_id === undefined ? undefined : ownId(input.webhook_id),
        name: input.name,
        url: input.url,
        events: [...new Set(input.events)],
        campaign: input.campaign,
        newSecret: newWebhookSecret(),
        rotateSecret: input.rotate_secret,
      },
      byOf(context),
    )
    if (saved === 'missing') throw unknown(input.webhook_id!)
    if (saved === 'taken') throw new Failure(40901, 'Another webhook has this name.')
    if (saved === 'too many')
      throw new Failure(40002, `The application has ${MAX_WEBHOOKS} webhooks, which is the limit.`)
    deps.sessions.forgetApplication(appId)
    return { webhook_id: saved.webhookId, ...(saved.secret !== undefined && { secret: saved.secret }) }
  },
})

const states = ['active', 'failing', 'rested'] as const

export const webhookList = route({
  ...shared,
  method: 'get',
  path: '/admin/webhook/list',
  summary: 'List webhooks with their state and backlog',
  input: z.strictObject({}),
  answer: z.array(
    z.object({
      webhook_id: int64Out,
      name: z.string(),
      url: z.string(),
      events: z.array(z.string()),
      campaign: z.string().nullable(),
      state: z
        .enum(states)
        .describe(
          '`failing`: the last request failed and is repeated; `rested`: the webhook is suspended, and nothing is sent to it. Saving it, a successful test or a replay resumes it.',
        ),
      failing_since: nullableTimestamp,
      rest_reason: z.string().nullable(),
      rested_at: nullableTimestamp,
      next_at: nullableTimestamp.describe('When a failed request is repeated.'),
      backlog: z.int().describe('Entries that wait to be sent.'),
      backlog_exact: z.boolean().describe('False: there may be more.'),
      backlog_since: nullableTimestamp.describe('When the oldest of them happened.'),
      last_status: z.int().nullable().describe('HTTP status of the last answer; null if there was none.'),
      last_error: z.string().nullable().describe('Why the last request failed.'),
      last_answer_at: nullableTimestamp,
      sent: z
        .int()
        .describe(
          'Entries that were sent since the webhook was added; an entry that was sent twice counts twice.',
        ),
      created_at: timestamp,
    }),
  ),
  handler: async ({ deps, appId }) => (await listWebhooks(deps.db, appId)).map(show),
})

function show(webhook: ListedWebhook) {
  const isFailing = webhook.failingSince !== null
  return {
    webhook_id: webhook.webhookId,
    name: webhook.name,
    url: webhook.url,
    events: webhook.events,
    campaign: webhook.campaign,
    state: webhook.restedAt ? ('rested' as const) : isFailing ? ('failing' as const) : ('active' as const),
    failing_since: secondsOrNull(webhook.failingSince),
    rest_reason: webhook.restReason,
    rested_at: secondsOrNull(webhook.restedAt),
    next_at: secondsOrNull(webhook.nextAt),
    backlog: webhook.backlog,
    backlog_exact: webhook.backlogExact,
    backlog_since: secondsOrNull(webhook.backlogSince),
    last_status: webhook.lastStatus,
    last_error: webhook.lastError,
    last_answer_at: secondsOrNull(webhook.lastAnswerAt),
    sent: webhook.sent,
    created_at: seconds(webhook.createdAt),
  }
}

export const webhookTest = route({
  ...shared,
  method: 'post',
  path: '/admin/webhook/test',
  summary: 'Send a test event to a webhook now',
  description:
    'Sends one entry of the type `webhook.test`, signed like all others, and returns the answer. A success resumes a webhook that is suspended (state `rested`) or waits to repeat a request.',
  example: { webhook_id: '$WEBHOOK_ID' },
  input: z.strictObject({ webhook_id: required(int64) }),
  answer: z.object({
    ok: z.boolean().describe('The server answered with 2xx.'),
    status: z.int().nullable(),
    error: z.string().nullable(),
  }),
  async handler(context, { webhook_id: id }) {
    const { deps, appId } = context
    const target = await webhookTarget(deps.db, deps.sealer, appId, ownId(id)).catch((error: unknown) => {
      if (error instanceof SealBroken)
        throw new Failure(40002, 'The secret of the webhook cannot be opened; save it with rotate_secret.')
      throw error
    })
    if (!target) throw unknown(id)
    const at = new Date()
    const entry = { id: `test-${randomUUID()}`, type: 'webhook.test', at: seconds(at) }
    const body = JSON.stringify({ type: 'herald.events', timestamp: at.toISOString(), data: [entry] })
    const { status, error } = await deps.webhooks.post({
      ...target,
      id: `msg_${entry.id}`,
      body: Buffer.from(body),
    })
    const ok = status !== undefined && status >= 200 && status <= 299
    const problem = ok ? undefined : (error ?? `status ${status}`)
    await noteTest(deps.db, appId, ownId(id), { ok, status, error: problem }, byOf(context))
    return { ok, status: status ?? null, error: problem ?? null }
  },
})

export const webhookReplay = route({
  ...shared,
  method: 'post',
  path: '/admin/webhook/replay',
  summary: 'Send the events since a time or an event once more to a webhook',
  description:
    'Entries have the same ids as before, requests have others. Resumes a suspended webhook (state `rested`). A time in the future, or that of now, skips what waits. Events are kept as long as tasks.',
  example: { webhook_id: '$WEBHOOK_ID', from: 1_767_225_600 },
  input: z.strictObject({
    webhook_id: required(int64),
    from: required(z.union([integer(0, 100_000_000_000), name(32)])).describe(
      'Unix time in seconds, or the id of the first entry.',
    ),
  }),
  answer: z.object({ replayed: z.literal(true) }),
  async handler(context, { webhook_id: id, from }) {
    const { deps, appId } = context
    const position = typeof from === 'number' ? positionAt(from * 1000) : before(positionOf(from, 'from'))
    if (!(await replayWebhook(deps.db, appId, ownId(id), position, byOf(context)))) throw unknown(id)
    return { replayed: true as const }
  },
})

export const webhookRemove = route({
  ...shared,
  method: 'post',
  path: '/admin/webhook/remove',
  summary: 'Remove a webhook',
  description: 'What waits for it is not sent. The events stay in the stream.',
  example: { webhook_id: '$WEBHOOK_ID' },
  input: z.strictObject({ webhook_id: required(int64) }),
  answer: z.object({ removed: z.literal(true) }),
  async handler(context, { webhook_id: id }) {
    const { deps, appId } = context
    if (!(await removeWebhook(deps.db, appId, ownId(id), byOf(context)))) throw unknown(id)
    deps.sessions.forgetApplication(appId)
    return { removed: true as const }
  },
})

export const eventList = route({
  ...shared,
  method: 'post',
  path: '/admin/event/list',
  summary: 'Read the stream of events',
  description:
    'The events that webhooks get, for servers that cannot be called, in the same order and with the same ids. Without `after` from the oldest one that is kept. Call again with `after` = `next`; an empty list means that nothing has happened since. From the first call on, until 30 days after the last, all new tasks have `task.finished` and `task.cancelled`, also without a webhook. Further fields of an entry depend on its type: see docs/events.md.',
  example: { limit: 100 },
  input: z.strictObject({
    after: optional(name(32)).describe('The id of the last entry that was read.'),
    limit: optional(integer(1, 1000)).describe('Maximum number of entries (default 100).'),
  }),
  answer: z.object({
    list: z.array(
      z
        .looseObject({
          id: z.string(),
          type: z.string(),
          at: timestamp,
          task_id: int64Out.optional(),
          campaign: z.string().optional(),
          channel: z.string().optional(),
          device_guid: z.string().optional().describe('Absent if the device no longer exists.'),
          user_id: int64Out.optional(),
          username: z.string().optional(),
          alias: z.string().optional(),
          code: z.string().optional(),
          reason: z.string().optional(),
        })
        .describe('Further fields depend on the type: see docs/events.md.'),
    ),
    next: z.string().nullable().describe('`after` of the next call; null if nothing was ever read.'),
  }),
  async handler({ deps, appId, application }, { after, limit = 100 }) {
    const from = after === undefined ? { event: 0, part: 0 } : positionOf(after, 'after')
    // So that the next push has its events, without waiting until the change of the row is noticed.
    if (await noteEventsRead(deps.db, application)) deps.sessions.forgetApplication(appId)
    const { list, last } = await listEntries(deps.db, appId, from, limit)
    return { list: list.map((text) => JSON.parse(text)), next: last ?? after ?? null }
  },
})

function positionOf(id: string, field: string): Position {
  const position = positionAfter(id)
  if (!position) throw new Failure(40002, `${field} must be the id of an entry.`)
  return position
}

const before = ({ event, part }: Position): Position => ({ event, part: part - 1 })
