import { findByRequestId } from '@herald/db/tasks'
import type { NewTask } from '@herald/domain'
import { explain } from '@herald/plan'
import { z } from 'zod'
import { MIB } from '../body-size.ts'
import { Failure } from '../codes.ts'
import { int64Out } from '../input/answers.ts'
import { optional, pushToken, required } from '../input/fields.ts'
import { audience } from '../notify/audience.ts'
import { isPicture, message } from '../notify/message-schema.ts'
import { newTask } from '../notify/new-task.ts'
import { setting } from '../notify/setting-schema.ts'
import { type Context, route } from '../route.ts'
import { ownDevice } from './own-device.ts'
import { taskScopeOf } from './scope.ts'

const shared = {
  method: 'post',
  access: 'admin',
  bodyLimit: MIB,
  verbatim: 'message.ext',
  failures: [40003, 40004],
} as const

export const notify = route({
  ...shared,
  path: '/push/notify',
  tag: 'Push',
  summary: 'Send a push notification',
  description:
    'Answers when the task is committed. The same `setting.request_id` again answers the first task’s id and pushes nothing.',
  input: z.strictObject({ audience, setting, message }),
  answer: z.object({ task_id: int64Out }),
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
  async handler(context, input, ext) {
    const { deps } = context
    const task = newTask(taskScopeOf(context), input, ext)
    // Before the checks that depend on the clock: a repeated request must not fail because time has passed.
    if (task.requestId !== undefined) {
      const known = await findByRequestId(deps.db, context.appId, task.requestId)
      if (known !== undefined) return answer(context, known, false)
    }
    await checkNow(context, task)
    const { taskId, fresh } = await deps.acceptor.accept(task)
    return answer(context, taskId, fresh)
  },
})

export const explainPush = route({
  ...shared,
  path: '/push/explain',
  tag: 'Push',
  summary: 'Which channel a device would get for a notification, and why',
  description: 'Takes the body of notify and a push token; the audience may be left out. Sends nothing.',
  input: z.strictObject({ audience: optional(audience), setting, message, push_token: required(pushToken) }),
  example: { message: { title: 'Order shipped' }, push_token: '$PUSH_TOKEN' },
  answer: z.object({
    channel: z.string().nullable().describe('Null when no channel can take the device.'),
    reason: z.string(),
    others: z.array(z.object({ channel: z.string(), reason: z.string() })),
  }),
  async handler(context, input, ext) {
    const { deps } = context
    const wanted = { ...input, audience: input.audience ?? ({ kind: 'all' } as const) }
    const task = newTask(taskScopeOf(context), wanted, ext)
    await checkNow(context, task)
    const { deviceId } = await ownDevice(context, input.push_token)
    return explain(deps, task, deviceId)
  },
})

/** The line that ties a request to its task: from here on the task's id is what logs, counters and callers know. */
function answer({ deps, appId, requestId }: Context, taskId: number, fresh: boolean) {
  deps.meters.accepted(fresh)
  deps.log.info(
    { requestId, task: taskId, app: appId },
    fresh ? 'a task was accepted' : 'a request_id was used again',
  )
  return { task_id: taskId }
}

async function checkNow({ deps }: Context, { message }: NewTask): Promise<void> {
  if (message.showEnd !== undefined && message.showEnd * 1000 <= Date.now())
    throw new Failure(40002, 'message.show_end_time must be in the future.')
  if (deps.probe && message.attachmentUrl !== undefined && isPicture(message.attachmentUrl)) {
    const problem = await deps.probe(message.attachmentUrl)
    if (problem) throw new Failure(40002, `message.attachment_url ${problem}.`)
  }
}
