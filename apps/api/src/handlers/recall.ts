import { isInDoubt } from '@herald/db/store'
import { addRecall, findByRequestId, recallable } from '@herald/db/tasks'
import { eventLevel, replaceFields } from '@herald/domain'
import { z } from 'zod'
import { byOf } from '../audit.ts'
import { Failure } from '../codes.ts'
import { int64, name, optional, required } from '../input/fields.ts'
import { checkNow } from '../notify/check-now.ts'
import { type MessageFields, message } from '../notify/message-schema.ts'
import { messageOf } from '../notify/new-task.ts'
import { recallPlan, refusalOf, replacementOf, withdrawalOf } from '../notify/recall-plan.ts'
import { int64Out } from '../output/fields.ts'
import { MIB, type RouteContext, route } from '../route.ts'
import { taskScopeOf } from '../scope.ts'

const does = z.enum(['withdraw', 'replace', 'none'])

export const taskRecall = route({
  method: 'post',
  path: '/push/task/recall',
  tag: 'Push',
  access: 'admin',
  bodyLimit: MIB,
  verbatim: 'replace.ext',
  summary: 'Take a push back, or put another message in its place',
  description:
    'Cancels what the task has not sent yet. Then a task of its own withdraws the message from the devices that it was sent to or, with `replace`, sends them a message with the same replace key. It has counters like any task: `target` counts the devices that the first task was sent to, on the channels that can do it; the devices of the other channels are `unreachable`. `sent` counts those for which the vendor accepted the call. No device gets it on another channel. With `dry_run` nothing is changed, and the response tells what each channel can do. A Live Activity can neither be recalled nor be put in the place of a message: POST /push/notify sends its next event. A recall may be repeated: the second one does the same again. With the same `request_id` it does nothing, and the response has the task of the first.',
  input: z.strictObject({
    task_id: required(int64),
    replace: optional(message).describe(
      'The message to show instead. Without it, the first message is withdrawn where the vendor can. It gets the collapse key of the first message and does not change the badge unless `badge` is set. Refused (40002): `type` cmd, `show_begin_time`, `collapse_key`, the collapse id of `ios`, `ios.live_activity`.',
    ),
    request_id: optional(name(128)).describe(
      'As in notify: a repeated one returns the id of the first task and does nothing.',
    ),
    dry_run: optional(z.boolean()).describe('True: only tell what each channel can do.'),
  }),
  answer: z.object({
    task_id: int64Out.nullable().describe('The task of the recall; null with dry_run.'),
    repeated: z
      .literal(true)
      .optional()
      .describe('Present when request_id was used before: nothing was done.'),
    channels: z
      .array(
        z.object({
          channel: z.string(),
          devices: z
            .int()
            .describe(
              'Devices that the task was sent to so far; without `replace` also those whose message waits in their inbox.',
            ),
          can: does.describe('A channel that can withdraw can also replace.'),
          does: does.describe('What this recall does.'),
          reason: z.string().nullable().describe('Why it does nothing.'),
        }),
      )
      .describe('The channels that the task was sent through, and nativepush if messages wait in inboxes.'),
  }),
  failures: [40004, 40401, 40903, 42901],
  example: { task_id: '$TASK_ID', dry_run: true },
  async handler(context, input, [ext] = []) {
    const { deps, appId } = context
    const scope = taskScopeOf(context)
    const first = await recallable(deps.db, scope, input.task_id)
    if (!first) throw new Failure(40401, `The task ${input.task_id} does not exist.`)
    if (first.message.recall)
      throw new Failure(
        40903,
        `The task ${input.task_id} is a recall; recall the task ${first.message.recall.taskId} again instead.`,
      )
    const requestId = input.dry_run ? undefined : input.request_id
    // Looked up before the checks: a repeated call must not fail because time has passed.
    const known = requestId === undefined ? undefined : await findByRequestId(deps.db, appId, requestId)
    if (input.replace && known === undefined) await check(input.replace, ext, context)
    const stored = input.replace ? replacementOf(first, messageOf(input.replace, ext)) : withdrawalOf(first)
    const plan = recallPlan(first, stored, await deps.certificates.of(appId))
    const channels = plan.map((one) => ({ ...one, reason: one.reason ?? null }))
    if (input.dry_run) return { task_id: null, channels }
    if (known !== undefined) return { task_id: known, repeated: true as const, channels }
    const refusal = refusalOf(first.taskId, plan, input.replace === undefined)
    if (refusal) throw new Failure(40903, refusal)
    const { actor, address } = byOf(context)
    const { taskId, fresh } = await addRecall(deps.db, scope, first, stored, {
      actor,
      detail: { address: address ?? null, replace: input.replace !== undefined },
      requestId,
      events: eventLevel(context.application.wantedEvents ?? [], {}),
    }).catch(orInDoubt)
    if (!fresh) return { task_id: taskId, repeated: true as const, channels }
    deps.meters.accepted(true)
    deps.log.info(
      { requestId: context.requestId, task: taskId, recalls: first.taskId, app: appId },
      'recall accepted',
    )
    return { task_id: taskId, channels }
  },
})

async function check(fields: MessageFields, ext: string | undefined, { deps }: RouteContext): Promise<void> {
  const ownKey = 'must be blank: that of the first message is used'
  const refused: [isRefused: boolean, field: string, why: string][] = [
    [fields.type === 'cmd', 'type', 'must not be cmd: such a message shows nothing'],
    [fields.show_begin_time !== undefined, 'show_begin_time', 'must be blank: a recall is sent at once'],
    [fields.collapse_key !== undefined, 'collapse_key', ownKey],
    [
      fields.ios?.live_activity !== undefined,
      'ios.live_activity',
      'must be blank: a Live Activity takes the place of no message',
    ],
  ]
  for (const [object, field] of replaceFields) {
    const given: Record<string, unknown> | undefined = fields[object]
    refused.push([given?.[field] !== undefined, `${object}.${field}`, ownKey])
  }
  for (const [isRefused, field, why] of refused)
    if (isRefused) throw new Failure(40002, `replace.${field} ${why}.`)
  await checkNow({ message: messageOf(fields, ext) }, deps.probe)
}

function orInDoubt(error: unknown): never {
  if (!isInDoubt(error)) throw error
  throw new Failure(
    50001,
    'The database connection was lost while the recall was being written, so it may have begun; repeat the call: with the same request_id nothing is done twice.',
  )
}
