import {
  type ControlResult,
  cancelTask,
  listTasks,
  pauseTask,
  resumeTask,
  taskDetails,
  taskFailures,
} from '@herald/db/tasks'
import { publicChannelNames, taskStates } from '@herald/domain'
import { z } from 'zod'
import { Failure } from '../codes.ts'
import { int64, integer, optional, required } from '../input/fields.ts'
import { int64Out, pageOf, readPage, reasonFields } from '../output/fields.ts'
import { showTask, taskRecord } from '../output/task-record.ts'
import { type RouteContext, route } from '../route.ts'
import { taskScopeOf } from '../scope.ts'

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

/** Task ids are below 2^53, so larger ones can be clamped; a double could round them beyond int64. */
const ownId = (id: bigint) =>
  Number(id > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : id < 0n ? 0n : id)

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
    state: optional(z.enum(taskStates)),
  }),
  answer: pageOf(taskRecord),
  handler(context, { limit, state, before: id }) {
    const before = id === undefined ? undefined : ownId(id)
    return readPage(
      { limit },
      (page) => listTasks(context.deps.db, taskScopeOf(context), { limit: page.limit, before, state }),
      (task) => task.taskId,
      showTask,
    )
  },
})

type Verb = (
  db: RouteContext['deps']['db'],
  scope: ReturnType<typeof taskScopeOf>,
  id: bigint,
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
      const answer = await change(context.deps.db, taskScopeOf(context), task_id)
      if (answer === 'unknown') throw new Failure(40401, `The task ${task_id} does not exist.`)
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
  summary: 'List the failures of a task by channel and reason, with sample devices',
  example: { task_id: '$TASK_ID' },
  input: z.strictObject({ task_id: required(int64) }),
  answer: z.array(
    z.object({
      channel: z.string(),
      fate: z
        .string()
        .describe(
          'failed: given up; moved: sent through another channel; expired: the TTL elapsed; cancelled: the task was cancelled before it was sent',
        ),
      ...reasonFields,
      code: reasonFields.code
        .nullable()
        .describe('As in explain; null for failures recorded by a version of Herald without codes.'),
      count: z.int(),
      samples: z.array(z.object({ device_id: int64Out, device_guid: z.string().nullable() })),
    }),
  ),
  async handler(context, { task_id }) {
    const groups = await taskFailures(context.deps.db, taskScopeOf(context), task_id)
    if (!groups) throw new Failure(40401, `The task ${task_id} does not exist.`)
    return groups.map(({ samples, ...group }) => ({
      ...group,
      samples: samples.map(({ deviceId, deviceGuid }) => ({ device_id: deviceId, device_guid: deviceGuid })),
    }))
  },
})
