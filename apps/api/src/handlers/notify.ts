import { findByRequestId } from '@herald/db/tasks'
import { ownReasons, type Reason } from '@herald/domain'
import { explain } from '@herald/plan'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { optional, pushToken, required } from '../input/fields.ts'
import { audience } from '../notify/audience.ts'
import { checkNow, dependsOnNow } from '../notify/check-now.ts'
import { checkLiveActivity } from '../notify/live-activity.ts'
import { message } from '../notify/message-schema.ts'
import { newTask } from '../notify/new-task.ts'
import { notifyBody, readNotifyBody } from '../notify/notify-body.ts'
import { setting } from '../notify/setting-schema.ts'
import { int64Out, reasonFields } from '../output/fields.ts'
import { MIB, type RouteContext, route } from '../route.ts'
import { ownDevice, taskScopeOf } from '../scope.ts'

const shared = {
  method: 'post',
  access: 'admin',
  bodyLimit: MIB,
  verbatim: 'message.ext',
  failures: [40003, 40004, 42901],
} as const

export const notify = route({
  ...shared,
  path: '/push/notify',
  tag: 'Push',
  summary: 'Send a push notification',
  description:
    'Returns when the task is committed. A repeated `setting.request_id` returns the id of the first task with `repeated`, and pushes nothing.',
  input: notifyBody,
  read: readNotifyBody,
  answer: z.object({
    task_id: int64Out,
    repeated: z
      .literal(true)
      .optional()
      .describe('Present when request_id was used before: nothing was pushed, whatever this request says.'),
  }),
  example: {
    audience: { tag: ['vip'] },
    setting: { request_id: 'example-1', ttl: 3600 },
    message: {
      title: 'Order shipped',
      body: 'Parcel 1024 is on its way',
      ext: { order: 1024 },
      android: {
        click_action: 'intent',
        intent: 'intent:#Intent;component=com.example.app/com.example.app.OrderActivity;S.order=1024;end',
      },
    },
  },
  async handler(context, input, [ext] = []) {
    const { deps } = context
    const task = newTask(taskScopeOf(context), context.application, input, ext, byOf(context))
    // The commit finds a repeated request by itself. Only one with checks whose result may change with time is looked up before: it
    // must not fail because time has passed. A look-up costs one statement per call, as much as all the rest of it in the API.
    if (task.requestId !== undefined && dependsOnNow(task, deps.probe)) {
      const known = await findByRequestId(deps.db, context.appId, task.requestId)
      if (known !== undefined) return answer(context, known, false)
    }
    await checkNow(task, deps.probe)
    const { taskId, fresh } = await deps.acceptor.accept(task)
    return answer(context, taskId, fresh)
  },
})

export const explainPush = route({
  ...shared,
  path: '/push/explain',
  tag: 'Push',
  summary: 'Explain which channel a notification would take for a device',
  description: 'Takes the body of notify and a push token; the audience is optional. Sends nothing.',
  input: z
    .strictObject({ audience: optional(audience), setting, message, push_token: required(pushToken) })
    .superRefine(checkLiveActivity),
  example: { message: { title: 'Order shipped' }, push_token: '$PUSH_TOKEN' },
  answer: z.object({
    channel: z.string().nullable().describe('Null if no channel can reach the device.'),
    ...reasonFields,
    others: z.array(
      z.object({
        channel: z.string(),
        ...reasonFields,
        notes: z.array(z.string()).describe('As above, for a vendor that could take the message.'),
      }),
    ),
    notes: z
      .array(z.string())
      .describe(
        'About the selected vendor, in English: what it does not carry of the message, what it cuts or leaves out because there is no room, what it refuses at present, and since when it does not answer.',
      ),
  }),
  async handler(context, input, [ext] = []) {
    const { deps } = context
    const wanted = { ...input, audience: input.audience ?? ({ kind: 'all' } as const) }
    const task = newTask(taskScopeOf(context), context.application, wanted, ext)
    await checkNow(task, deps.probe)
    const { deviceId, enabled } = await ownDevice(context, input.push_token)
    if (!enabled) return { ...shown(null, ownReasons.device_disabled), others: [], notes: [] }
    const { channel, reason, others, notes } = await explain(deps, task, deviceId)
    return {
      ...shown(channel, reason),
      others: others.map((other) => ({ ...shown(other.channel, other.reason), notes: other.notes })),
      notes,
    }
  },
})

function shown<Name extends string | null>(channel: Name, { code, text }: Reason) {
  return { channel, code, reason: text }
}

/** Logs which request created the task; all later log lines have only the task's id. */
function answer({ deps, appId, requestId }: RouteContext, taskId: number, fresh: boolean) {
  deps.meters.accepted(fresh)
  deps.log.info(
    { requestId, task: taskId, app: appId },
    fresh ? 'task accepted' : 'request_id repeated; returned the existing task',
  )
  return { task_id: taskId, ...(!fresh && { repeated: true as const }) }
}
