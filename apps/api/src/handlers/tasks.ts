import {
  type ControlAnswer,
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
import { cutPage, DEFAULT_PAGE, int64Out, pageOf } from '../input/answers.ts'
import { int64, integer, optional, required } from '../input/fields.ts'
import { type Context, route } from '../route.ts'
import { taskScopeOf } from './scope.ts'
import { showTask, taskRecord } from './task-record.ts'

const tag = 'Push'

const counters = publicChannelNames.flatMap((channel) =>
  (['sent', 'received', 'target'] as const).map((kind) => [`${channel}_${kind}`, channel, kind] as const),
)
const meanings = {
  sent: 'Accepted by the vendor.',
  received: 'A receipt says that the device has it.',
  target: 'Devices assigned to the channel: they have a usable binding.',
}
const nativeMeanings = {
  ...meanings,
  sent: 'Written to a connection, once per device.',
  target: 'Devices assigned to the channel: an open connection, or the inbox.',
}

export const taskDetail = route({
  method: 'post',
  path: '/push/task/detail',
  tag,
  access: 'admin',
  summary: 'Query push statistics',
  description: 'Known tasks in the order asked, each once; unknown ids are left out.',
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

/** Ids of tasks are below 2^53: beyond that one is like another, and a double could round it out of int64. */
const ownId = (id: bigint) =>
  Number(id > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : id < 0n ? 0n : id)

export const taskList = route({
  method: 'post',
  path: '/push/task/list',
  tag,
  access: 'admin',
  summary: 'Tasks, newest first, with state, progress, rate and ETA',
  example: { limit: 10 },
  input: z.strictObject({
    limit: optional(integer(1, 1000)).describe('At most so many tasks; default 100.'),
    before: optional(int64).describe('Only tasks older than this one: the `next` of the page before.'),
    state: optional(z.enum(taskStates)),
  }),
  answer: pageOf(taskRecord),
  async handler(context, input) {
    const limit = input.limit ?? DEFAULT_PAGE
    const rows = await listTasks(context.deps.db, taskScopeOf(context), {
      limit: limit + 1,
      before: input.before === undefined ? undefined : ownId(input.before),
      state: input.state,
    })
    return cutPage(rows, limit, (task) => task.taskId, showTask)
  },
})

type Verb = (
  db: Context['deps']['db'],
  scope: ReturnType<typeof taskScopeOf>,
  id: bigint,
) => Promise<ControlAnswer>

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

export const taskCancel = control('cancel', 'Stop a task: what is not sent yet is cancelled', cancelTask)
export const taskPause = control('pause', 'Pause a task', pauseTask)
export const taskResume = control('resume', 'Resume a paused task', resumeTask)

export const taskFailureList = route({
  method: 'post',
  path: '/push/task/failures',
  tag,
  access: 'admin',
  summary: 'Failures of a task by channel and reason, with sample devices',
  example: { task_id: '$TASK_ID' },
  input: z.strictObject({ task_id: required(int64) }),
  answer: z.array(
    z.object({
      channel: z.string(),
      fate: z
        .string()
        .describe(
          'failed: given up; moved: went on to another channel; expired: its time ran out; cancelled: stopped before it was sent',
        ),
      reason: z.string(),
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
