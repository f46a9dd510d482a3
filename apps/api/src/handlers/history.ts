import {
  deviceMessages,
  exportTask,
  type FoundDevice,
  findRecipientDevices,
  MAX_PERSON_DEVICES,
  pathsInTask,
  type Recipient,
} from '@herald/db/history'
import { z } from 'zod'
import { Failure } from '../codes.ts'
import { deviceGuid, int64, integer, name, optional, pushToken, required } from '../input/fields.ts'
import { int64Out, nullableTimestamp, pageOf, secondsOrNull } from '../output/fields.ts'
import { type Lines, type RouteContext, route } from '../route.ts'
import { taskScopeOf } from '../scope.ts'
import { ownId, unknownTask } from '../task-ids.ts'

const recipientFields = {
  push_token: optional(pushToken),
  device_guid: optional(deviceGuid),
  alias: optional(name(1024)).describe('All devices with this alias.'),
  user_id: optional(int64).describe('All devices of this user.'),
}
type RecipientInput = { push_token?: string; device_guid?: string; alias?: string; user_id?: bigint }

function recipientOf(input: RecipientInput): { by: Recipient; name: string } {
  const { push_token, device_guid, alias, user_id } = input
  const given: { by: Recipient; name: string }[] = []
  if (push_token !== undefined) given.push({ by: { pushToken: push_token }, name: 'this push_token' })
  if (device_guid !== undefined)
    given.push({ by: { guid: device_guid }, name: `the device_guid ${JSON.stringify(device_guid)}` })
  if (alias !== undefined) given.push({ by: { alias }, name: `the alias ${JSON.stringify(alias)}` })
  if (user_id !== undefined) given.push({ by: { userId: user_id }, name: `the user_id ${user_id}` })
  if (given.length !== 1)
    throw new Failure(40002, 'Exactly one of push_token, device_guid, alias and user_id is needed.')
  return given[0]!
}

async function devicesFor(context: RouteContext, input: RecipientInput): Promise<FoundDevice[]> {
  const { by, name } = recipientOf(input)
  const devices = await findRecipientDevices(context.deps.db, taskScopeOf(context), by)
  if (devices.length === 0) throw new Failure(40401, `No device of this application has ${name}.`)
  if (devices.length > MAX_PERSON_DEVICES)
    throw new Failure(40002, `More than ${MAX_PERSON_DEVICES} devices have ${name}; ask about one of them.`)
  return devices
}

const fate = z
  .enum(['pending', 'sent', 'failed', 'moved', 'expired', 'cancelled'])
  .describe('moved: the next channel was tried. pending: not decided yet.')
const step = {
  channel: z.string(),
  fate,
  code: z.string().nullable().describe('As in task/failures; null if there is nothing to explain.'),
  reason: z.string().nullable().describe('The same in English.'),
  at: nullableTimestamp.describe(
    'When it was recorded; null while it is pending, and where that is unknown.',
  ),
}
const receiptFields = {
  received_at: nullableTimestamp.describe('When its receipt arrived; null if none did.'),
  clicked_at: nullableTimestamp.describe('When the user opened it, as the app reported.'),
}
const deviceFields = { device_id: int64Out, device_guid: z.string() }

export const taskDevice = route({
  method: 'post',
  path: '/push/task/device',
  tag: 'Push',
  access: 'admin',
  summary: 'Show the result of a push on a device, or on the devices of a person',
  description: `Takes exactly one of push_token, device_guid, alias and user_id; an alias or a user may have up to ${MAX_PERSON_DEVICES} devices. The channels are listed in the order in which they were tried. A device that is no recipient of the task has an empty path; so has a device that got its current user or alias after the task began, unless the device itself was asked about.`,
  example: { task_id: '$TASK_ID', push_token: '$PUSH_TOKEN' },
  input: z.strictObject({ task_id: required(int64), ...recipientFields }),
  answer: z.object({
    list: z.array(
      z.object({
        ...deviceFields,
        user_id: int64Out.nullable(),
        alias: z.string().nullable(),
        path: z.array(
          z.object({
            ...step,
            next_attempt_at: nullableTimestamp.describe(
              'When a pending message is tried again; null if that depends on the vendor, the device or the operator.',
            ),
          }),
        ),
        ...receiptFields,
      }),
    ),
  }),
  async handler(context, { task_id, ...who }) {
    const devices = await devicesFor(context, who)
    const paths = await pathsInTask(context.deps.db, taskScopeOf(context), ownId(task_id), devices)
    if (!paths) throw await unknownTask(context, task_id)
    return {
      list: paths.map(({ deviceId, guid, userId, alias, path, receivedAt, clickedAt }) => ({
        device_id: deviceId,
        device_guid: guid,
        user_id: userId === null ? null : BigInt(userId),
        alias,
        path: path.map(({ channel, fate, code, reason, at, nextAt }) => ({
          channel,
          fate,
          code,
          reason,
          at: secondsOrNull(at),
          next_attempt_at: secondsOrNull(nextAt),
        })),
        received_at: secondsOrNull(receivedAt),
        clicked_at: secondsOrNull(clickedAt),
      })),
    }
  },
})

export const deviceMessageList = route({
  method: 'post',
  path: '/admin/device/messages',
  tag: 'Devices',
  access: 'admin',
  summary: 'List the messages of a device or of a person, newest first',
  description: `Takes exactly one of push_token, device_guid, alias and user_id; an alias or a user may have up to ${MAX_PERSON_DEVICES} devices. One entry per task and device, with the channel that decided: the one that sent the message, otherwise the last one; task/device shows the others. Asked by alias or user, it leaves out what a device got before it had that alias or user. The list goes back as far as tasks are kept. A page may have fewer entries than \`limit\`, or none: only \`next: null\` is the end.`,
  example: { push_token: '$PUSH_TOKEN', limit: 10 },
  input: z.strictObject({
    ...recipientFields,
    limit: optional(integer(1, 1000)).describe('Maximum number of tasks (default 100).'),
    before: optional(int64).describe(
      'Return only messages of tasks older than this one: `next` of the previous page.',
    ),
  }),
  answer: pageOf(
    z.object({
      task_id: int64Out,
      ...deviceFields,
      title: z.string().nullable(),
      campaign: z.string().nullable(),
      ...step,
      ...receiptFields,
    }),
  ),
  async handler(context, { limit = 100, before, ...who }) {
    const devices = await devicesFor(context, who)
    const { messages, next } = await deviceMessages(context.deps.db, taskScopeOf(context), devices, {
      limit,
      before: before === undefined ? undefined : ownId(before),
    })
    return {
      list: messages.map((message) => ({
        task_id: message.taskId,
        device_id: message.deviceId,
        device_guid: message.deviceGuid,
        title: message.title,
        campaign: message.campaign,
        channel: message.channel,
        fate: message.fate,
        code: message.code,
        reason: message.reason,
        at: secondsOrNull(message.at),
        received_at: secondsOrNull(message.receivedAt),
        clicked_at: secondsOrNull(message.clickedAt),
      })),
      next,
    }
  },
})

const sums = z.record(
  z.string(),
  z.object({
    target: z.int(),
    sent: z.int(),
    failed: z.int(),
    moved: z.int(),
    expired: z.int(),
    cancelled: z.int(),
    pending: z.int(),
    received: z.int(),
    clicked: z.int(),
  }),
)

export const taskExport = route({
  method: 'get',
  path: '/push/task/export',
  tag: 'Push',
  access: 'admin',
  lines: true,
  summary: 'Export the result of a task for every device',
  description:
    'A stream of JSON objects, one per line (`application/x-ndjson`): one line per device and channel, all of one moment. The last line has only `sums`, `counters`, `equal` and `lines`; a stream without it was cut off and is incomplete. Failures before the first line are answered with the usual envelope. An application may read two exports at a time; a caller that reads nothing for two minutes is cut off, and every stream after 15 minutes.',
  failures: [42901],
  example: { task_id: '$TASK_ID' },
  input: z.strictObject({ task_id: required(int64) }),
  answer: z.union([
    z.object({
      device_id: int64Out,
      device_guid: z.string().nullable().describe('Null if the device was removed.'),
      user_id: int64Out.nullable(),
      alias: z.string().nullable(),
      ...step,
      ...receiptFields,
    }),
    z.object({
      sums: sums.describe('The last line: the sums of all lines by channel.'),
      counters: sums.describe('The counters of the task at the same moment.'),
      equal: z
        .boolean()
        .describe(
          'Whether both are equal. They differ for tasks that were sent before Herald kept these records, and by devices of people who were erased.',
        ),
      lines: z.int().describe('Number of lines before this one.'),
    }),
  ]),
  async handler(context, { task_id }): Promise<Lines> {
    const leave = context.deps.admission.exports.enter(context.appId)
    try {
      const lines = await exportTask(context.deps.db, taskScopeOf(context), ownId(task_id))
      if (!lines) throw await unknownTask(context, task_id)
      return then(lines, leave)
    } catch (error) {
      leave()
      throw error
    }
  },
})

async function* then(lines: Lines, leave: () => void): Lines {
  try {
    yield* lines
  } finally {
    leave()
  }
}
