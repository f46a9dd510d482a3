import { waitingRecipients } from '@herald/db/history'
import type { By } from '@herald/db/ledger'
import {
  type ControlResult,
  cancelTask,
  listTasks,
  pauseTask,
  resumeTask,
  taskDetails,
  taskFailures,
} from '@herald/db/tasks'
import { publicChannelNames, publicName, shownTaskStates } from '@herald/domain'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { Failure } from '../codes.ts'
import { int64, integer, name, optional, required } from '../input/fields.ts'
import {
  int64Out,
  nullableTimestamp,
  pageOf,
  readPage,
  reasonFields,
  secondsOrNull,
} from '../output/fields.ts'
import { showTask, taskRecord } from '../output/task-record.ts'
import { type RouteContext, route } from '../route.ts'
import { taskScopeOf } from '../scope.ts'
import { ownId, unknownTask } from '../task-ids.ts'

const tag = 'Push'

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
  description: 'With state, progress, rate and estimated time left.',
  example: { limit: 10 },
  input: z.strictObject({
    limit: optional(integer(1, 1000)).describe('Maximum number of tasks (default 100).'),
    before: optional(int64).describe('Return only tasks older than this one: `next` of the previous page.'),
    state: optional(z.enum(shownTaskStates)).describe('As in the answer.'),
    campaign: optional(name(64)).describe('Return only tasks with this `setting.campaign`.'),
    task_ids: optional(z.array(int64).max(1000)).describe(
      'Return only these tasks; unknown ids are omitted.',
    ),
  }),
  answer: pageOf(taskRecord),
  handler(context, { limit, state, campaign, task_ids, before: id }) {
    const before = id === undefined ? undefined : ownId(id)
    const taskIds = task_ids?.map(ownId)
    return readPage(
      { limit },
      (page) =>
        listTasks(context.deps.db, taskScopeOf(context), {
          limit: page.limit,
          before,
          state,
          campaign,
          taskIds,
        }),
      (task) => task.taskId,
      showTask,
    )
  },
})

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
      if (answer === 'finished') throw new Failure(40902, `The task ${task_id} has ended.`)
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
