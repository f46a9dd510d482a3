import { countRoutes, MAX_COUNTED } from '@herald/plan'
import { z } from 'zod'
import { optional } from '../input/fields.ts'
import { audience } from '../notify/audience.ts'
import { checkNow } from '../notify/check-now.ts'
import { checkLiveActivity } from '../notify/live-activity.ts'
import { message } from '../notify/message-schema.ts'
import { newTask } from '../notify/new-task.ts'
import { setting } from '../notify/setting-schema.ts'
import { MIB, route } from '../route.ts'
import { taskScopeOf } from '../scope.ts'

/** Every channel can carry it. */
const plainText = message.parse({ title: 'Herald' })

export const audienceCount = route({
  method: 'post',
  path: '/push/audience/count',
  tag: 'Push',
  access: 'admin',
  bodyLimit: MIB,
  // A long ext may exceed what a vendor takes.
  verbatim: 'message.ext',
  summary: 'Count the devices of an audience by channel',
  description: `Takes the body of notify; the message is optional (default: a plain text). Each device is counted on the channel that it would get now: the decision is that of a push. Exact up to ${MAX_COUNTED.toLocaleString('en')} devices. Sends nothing. Two such calls of an application run at a time, up to 50 more wait.`,
  input: z.strictObject({ audience, setting, message: optional(message) }).superRefine(checkLiveActivity),
  answer: z.object({
    devices: z.int().describe('Devices of the audience, without disabled ones.'),
    by_channel: z.record(z.string(), z.int()).describe('Channels without devices are left out.'),
    unreachable: z.int().describe('Devices without a usable channel.'),
    exact: z.boolean().describe('False: there may be more devices, and all numbers are lower bounds.'),
  }),
  failures: [40003, 40004, 42901],
  example: { audience: { tag: ['vip'] }, setting: { distribution_strategy: 'ospush_only' } },
  async handler(context, input, [ext] = []) {
    const { deps } = context
    const wanted = { ...input, message: input.message ?? plainText }
    const task = newTask(taskScopeOf(context), context.application, wanted, ext)
    await checkNow(task, undefined)
    const leave = await deps.admission.counts.enter(context.appId)
    const { byChannel, ...counted } = await countRoutes(deps, task).finally(leave)
    return { ...counted, by_channel: byChannel }
  },
})
