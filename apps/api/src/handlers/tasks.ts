import { waitingRecipients } from '@herald/db/history'
import type { By } from '@herald/db/ledger'
import {
  type ControlResult,
  cancelTask,
  findByRequestId,
  pauseTask,
  resumeTask,
  searchTasks,
  taskChannels,
  taskDetails,
  taskFailures,
  taskRequest,
} from '@herald/db/tasks'
import { publicChannelNames, publicName, shownTaskStates } from '@herald/domain'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { Failure } from '../codes.ts'
import { int64, integer, name, optional, required, text } from '../input/fields.ts'
import { requestBody } from '../notify/request-body.ts'
import {
  int64Out,
  nullableTimestamp,
  pageOf,
  readPage,
  reasonFields,
  seconds,
  secondsOrNull,
  timestamp,
} from '../output/fields.ts'
import { showTask, taskRecord } from '../output/task-record.ts'
import { type RouteContext, route } from '../route.ts'
import { taskScopeOf } from '../scope.ts'
import { ownId, unknownTask } from '../task-ids.ts'

const tag = 'Push'

/** Unix time in seconds, at most the end of the year 9999. */
const time = integer(0, 253_402_300_799)

const counters = publicChannelNames.flatMap((channel) =>
  (['sent', 'received', 'target'] as const).map((kind) => [`${channel}_${kind}`, channel, kind] as const),
)
const meanings = {
  sent: 'Accepted by the vendor.',
  received: 'Devices for which a receipt arrived.',
  target: 'Devices assigned to the channel because they have a usable binding.',
}
const nativeMeanings = {
  ...meanings,
  sent: 'Written to a connection, counted once per device.',
  target: 'Devices assigned to the channel, with an open connection or through the inbox.',
}

export const taskDetail = route({
  method: 'post',
  path: '/push/task/detail',
  tag,
  access: 'admin',
  summary: 'Query push statistics',
  description: 'Returns known tasks in the requested order, without duplicates; unknown ids are omitted.',
  example: { list: ['$TASK_ID'] },
  input: z.strictObject({ list: required(z.array(int64).max(1000)).describe('Task IDs.') }),
  answer: z.array(
    z.object({
      task_id: int64Out,
      ...Object.fromEntries(
        counters.map(([field, channel, kind]) => [
          field,
          int64Out.describe((channel === 'nativepush' ? nativeMeanings : meanings)[kind]),
        ]),
      ),
    }),
  ),
  async handler(context, { list }) {
    const details = await taskDetails(context.deps.db, taskScopeOf(context), [...new Set(list)])
    return details.map(({ taskId, counters: found }) => {
      const record: Record<string, number> = { task_id: taskId }
      for (const [field, channel, kind] of counters) record[field] = found[channel]?.[kind] ?? 0
      return record as { task_id: number }
    })
  },
})

export const taskList = route({
  method: 'post',
  path: '/push/task/list',
  tag,
  access: 'admin',
  summary: 'List tasks, newest first',
  description:
    'With state, progress, rate and estimated time left. With `title`, `actor`, `min_target` or `broadcasts` a page may have fewer tasks than `limit` although `next` is not null: a call compares at most 20,000 tasks.',
  example: { limit: 10 },
  input: z.strictObject({
    limit: optional(integer(1, 1000)).describe('Maximum number of tasks (default 100).'),
    before: optional(int64).describe('Return only tasks older than this one: `next` of the previous page.'),
    state: optional(z.enum(shownTaskStates)).describe('As in the answer.'),
    campaign: optional(name(64)).describe('Return only tasks with this `setting.campaign`.'),
    task_ids: optional(z.array(int64).max(1000)).describe(
      'Return only these tasks; unknown ids are omitted.',
    ),
    request_id: optional(name(128)).describe(
      'Return only the task that used this `setting.request_id`: tells after a lost response whether the push was accepted.',
    ),
    from: optional(time).describe('Return only tasks accepted at this Unix time or later.'),
    to: optional(time).describe('Return only tasks accepted before this Unix time.'),
    title: optional(text(256)).describe('Return only tasks with this text in their title, in any case.'),
    actor: optional(name(256)).describe('Return only tasks of this sender, exactly as in the answer.'),
    min_target: optional(integer(1, 1_000_000_000)).describe(
      'Return only tasks with at least this number of targets.',
    ),
    broadcasts: optional(z.boolean()).describe(
      'True: return only tasks for all devices or for tags, for more than 64 devices, or with a start time.',
    ),
  }),
  answer: pageOf(taskRecord),
  async handler(context, { limit, task_ids, request_id, before: id, from, to, min_target, ...filter }) {
    const before = id === undefined ? undefined : ownId(id)
    const taskIds = await selectedIds(context, task_ids, request_id)
    let edge: number | undefined
    const page = await readPage(
      { limit },
      async (wanted) => {
        const { list, next } = await searchTasks(context.deps.db, taskScopeOf(context), {
          ...filter,
          limit: wanted.limit,
          before,
          taskIds,
          from: from === undefined ? undefined : from * 1000,
          to: to === undefined ? undefined : to * 1000,
          minTarget: min_target,
          broadcasts: filter.broadcasts || undefined,
        })
        edge = next
        return list
      },
      (task) => task.taskId,
      showTask,
    )
    return { ...page, next: page.next ?? edge ?? null }
  },
})

export const taskChannelList = route({
  method: 'post',
  path: '/push/task/channels',
  tag,
  access: 'admin',
  summary: 'List all counters of a task by channel',
  description:
    'On each channel target = sent + failed + moved + expired + cancelled + pending. A device that moved to another channel is a target of both, so the devices of the task are the sum of target - moved.',
  example: { task_id: '$TASK_ID' },
  input: z.strictObject({ task_id: required(int64) }),
  answer: z.array(
    z.object({
      channel: z.string(),
      target: z.int(),
      sent: z.int(),
      received: z.int(),
      clicked: z.int(),
      failed: z.int(),
      moved: z.int().describe('Sent through another channel instead.'),
      expired: z.int(),
      cancelled: z.int(),
      pending: z.int(),
    }),
  ),
  async handler(context, { task_id }) {
    const found = await taskChannels(context.deps.db, taskScopeOf(context), task_id)
    if (!found) throw await unknownTask(context, task_id)
    return found
  },
})

export const taskRequestRead = route({
  method: 'post',
  path: '/push/task/request',
  tag,
  access: 'admin',
  summary: 'Show message, audience, settings and sender of a task',
  example: { task_id: '$TASK_ID' },
  input: z.strictObject({ task_id: required(int64) }),
  answer: z.object({
    task_id: int64Out,
    created_at: timestamp,
    group_id: int64Out
      .nullable()
      .describe('Set if it was sent to the devices of a group only, by the header.'),
    actor: z.string().nullable().describe('As in the audit.'),
    address: z.string().nullable().describe('The address from which the call came.'),
    body: z
      .string()
      .nullable()
      .describe(
        'JSON of `audience`, `setting` and `message`, as POST /push/notify takes it, so that large numbers keep their digits. Settings that the caller left out have the values that were used; there is no `request_id`. Null for a recall.',
      ),
    tokens_lost: z
      .int()
      .describe('Push tokens of the audience that are not in `body`, because no device has them any more.'),
  }),
  async handler(context, { task_id }) {
    const { db, pushTokens } = context.deps
    const task = await taskRequest(db, pushTokens, taskScopeOf(context), task_id)
    if (!task) throw await unknownTask(context, task_id)
    return {
      task_id,
      created_at: seconds(task.createdAt),
      group_id: task.groupId,
      actor: task.actor,
      address: task.address,
      body: requestBody(task) ?? null,
      tokens_lost: task.tokensLost,
    }
  },
})

/** Undefined: all tasks. */
async function selectedIds(
  { deps, appId }: RouteContext,
  ids: bigint[] | undefined,
  requestId: string | undefined,
): Promise<number[] | undefined> {
  const named = ids?.map(ownId)
  if (requestId === undefined) return named
  const sent = await findByRequestId(deps.db, appId, requestId)
  return sent === undefined || named?.includes(sent) === false ? [] : [sent]
}

type Verb = (
  db: RouteContext['deps']['db'],
  scope: ReturnType<typeof taskScopeOf>,
  id: bigint,
  by: By,
) => Promise<ControlResult>

function control(verb: 'cancel' | 'pause' | 'resume', summary: string, change: Verb) {
  return route({
    method: 'post',
    path: `/push/task/${verb}`,
    tag,
    access: 'admin',
    summary,
    input: z.strictObject({ task_id: required(int64) }),
    answer: z.object({ task_id: int64Out }),
    failures: [40902],
    example: { task_id: '$TASK_ID' },
    async handler(context, { task_id }) {
      const answer = await change(context.deps.db, taskScopeOf(context), task_id, byOf(context))
      if (answer === 'unknown') throw await unknownTask(context, task_id)
      if (answer === 'finished')
        throw new Failure(40902, `The task ${task_id} has ended or is being cancelled.`)
      return { task_id }
    },
  })
}

export const taskCancel = control('cancel', 'Cancel what a task has not sent yet', cancelTask)
export const taskPause = control('pause', 'Pause a task', pauseTask)
export const taskResume = control('resume', 'Resume a paused task', resumeTask)

export const taskFailureList = route({
  method: 'post',
  path: '/push/task/failures',
  tag,
  access: 'admin',
  summary: 'List why devices of a task failed or wait, by channel and reason, with sample devices',
  description:
    'Failures come first, by the number of devices, then what waits. The fates `failed`, `moved`, `expired` and `cancelled` are final on their channel; `waiting` and `held` are the state at the time of the call.',
  example: { task_id: '$TASK_ID' },
  input: z.strictObject({ task_id: required(int64) }),
  answer: z.array(
    z.object({
      channel: z.string(),
      fate: z
        .string()
        .describe(
          'failed: given up; moved: sent through another channel; expired: the TTL elapsed; cancelled: the task was cancelled before it was sent; waiting: not sent yet; held: not sent because the task is paused',
        ),
      ...reasonFields,
      code: reasonFields.code
        .nullable()
        .describe('As in explain; null for failures recorded by a version of Herald without codes.'),
      count: z.int(),
      since: nullableTimestamp.describe(
        'Since when the vendor refuses the credentials or does not answer; null for other reasons.',
      ),
      next_attempt_at: nullableTimestamp.describe(
        'When the first of those that wait are tried again; null if that depends on the vendor, the device or the operator, and for failures.',
      ),
      samples: z.array(z.object({ device_id: int64Out, device_guid: z.string().nullable() })),
    }),
  ),
  async handler(context, { task_id }) {
    const groups = await taskFailures(context.deps.db, taskScopeOf(context), task_id)
    if (!groups) throw await unknownTask(context, task_id)
    const waiting = await waitingRecipients(context.deps.db, ownId(task_id))
    return [
      ...groups.map(({ samples, ...group }) => ({
        ...group,
        since: null,
        next_attempt_at: null,
        samples: samples.map(showSample),
      })),
      ...waiting.map(({ channel, fate, reason, count, since, nextAt, samples }) => ({
        channel: publicName(channel),
        fate,
        code: reason.code,
        reason: reason.text,
        count,
        since: secondsOrNull(since),
        next_attempt_at: secondsOrNull(nextAt),
        samples: samples.map(showSample),
      })),
    ]
  },
})

function showSample({ deviceId, deviceGuid }: { deviceId: number; deviceGuid: string | null }) {
  return { device_id: deviceId, device_guid: deviceGuid }
}
