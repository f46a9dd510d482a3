import { applicationOfTask } from '@herald/db/readings'
import { z } from 'zod'
import { int64, required } from '../input/fields.ts'
import { route } from '../route.ts'
import { ownId } from '../task-ids.ts'

/** Links of older releases name a task and no application. */
export const taskApplication = route({
  method: 'get',
  path: '/console/task',
  tag: 'Console',
  access: 'console',
  groupRefused: true,
  summary: 'Application of a task',
  input: z.strictObject({ task_id: required(int64) }),
  answer: z.object({
    app_id: z.string().nullable().describe('Null: the task does not exist, or is not the caller’s.'),
  }),
  async handler({ deps, appId }, { task_id }) {
    const owner = await applicationOfTask(deps.db, ownId(task_id))
    // A blank appId is the operator's, for all applications.
    return { app_id: owner === undefined || (appId !== '' && owner !== appId) ? null : owner }
  },
})
