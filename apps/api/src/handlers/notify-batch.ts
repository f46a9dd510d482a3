import { z } from 'zod'
import { Failure } from '../codes.ts'
import { required } from '../input/fields.ts'
import { acceptList } from '../notify/accept-list.ts'
import { notifyBody } from '../notify/notify-body.ts'
import { schemaOf } from '../openapi/schemas.ts'
import { int64Out } from '../output/fields.ts'
import { MIB, route } from '../route.ts'

const MAX_LIST = 1000

export const notifyBatch = route({
  method: 'post',
  path: '/push/notify/batch',
  tag: 'Push',
  access: 'admin',
  bodyLimit: 4 * MIB,
  checksText: true,
  verbatim: 'list[].message.ext',
  summary: `Send up to ${MAX_LIST} push notifications, each with its own audience and text`,
  description:
    'Each entry is a body of POST /push/notify and becomes a task of its own. An entry that succeeded has `task_id`; one that failed has `code` and `message` and does not affect the others. Give each entry a `setting.request_id`: if the response is lost, or an entry gets code 50001 or 50301, send the list again, and nothing is pushed twice. Of several entries with the same request id the first one counts.',
  // Only documents the entries: one that is wrong must not fail the others.
  input: z.strictObject({
    list: required(z.array(z.unknown().meta(schemaOf(notifyBody, 'input'))).max(MAX_LIST)),
  }),
  answer: z.object({
    list: z
      .array(
        z.union([
          z.object({
            task_id: int64Out,
            repeated: z.literal(true).optional().describe('As in the answer to a single call.'),
          }),
          z.object({ code: z.int().describe('As in the answer to a single call.'), message: z.string() }),
        ]),
      )
      .describe('One entry for each entry of the request, in order.'),
  }),
  failures: [42901],
  example: {
    list: [
      {
        audience: { alias: ['user-1024'] },
        setting: { request_id: 'example-list-1' },
        message: { title: 'Order shipped', body: 'Parcel 1024 is on its way' },
      },
      {
        audience: { alias: ['user-1025'] },
        setting: { request_id: 'example-list-2' },
        message: { title: 'Order shipped', body: 'Parcel 1025 is on its way' },
      },
    ],
  },
  async handler(context, input, exts = []) {
    const results = await acceptList(context, input.list, exts)
    const { deps, appId, requestId } = context
    const tasks = results.flatMap((result) => (result instanceof Failure ? [] : [result]))
    const repeated = tasks.filter(({ fresh }) => !fresh).length
    if (tasks.length > repeated) deps.meters.accepted(true, tasks.length - repeated)
    if (repeated > 0) deps.meters.accepted(false, repeated)
    // One line: all later log lines have only the task's id.
    deps.log.info(
      { requestId, app: appId, entries: results.length, tasks: tasks.map(({ taskId }) => taskId) },
      'list of pushes accepted',
    )
    return {
      list: results.map((result) =>
        result instanceof Failure
          ? { code: result.code, message: result.message }
          : { task_id: result.taskId, ...(!result.fresh && { repeated: true as const }) },
      ),
    }
  },
})
