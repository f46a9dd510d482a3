import { isBeforeOldestTask } from '@herald/db/history'
import { timeOfTaskId } from '@herald/db/store'
import { Failure } from './codes.ts'
import { dayOf } from './output/fields.ts'
import type { RouteContext } from './route.ts'

/** Ids that Herald makes are below 2^53, so larger ones can be clamped; a double could round them beyond int64. */
export const ownId = (id: bigint) =>
  Number(id > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : id < 0n ? 0n : id)

/** The failure for a task that was not found. */
export async function unknownTask({ deps }: RouteContext, id: bigint): Promise<Failure> {
  const taskId = ownId(id)
  return new Failure(
    40401,
    (await isBeforeOldestTask(deps.db, taskId))
      ? `The task ${id} is of ${dayOf(timeOfTaskId(taskId))}; tasks that old have been removed.`
      : `The task ${id} does not exist.`,
  )
}
