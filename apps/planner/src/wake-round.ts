import type { Database } from '@herald/db/store'
import { certificatesToWake, pacedTasksToWake, wakeBatches, wakePaced } from '@herald/db/tasks'

export type WakeDeps = {
  db: Database
  /** Where the search among the batches of a task with a speed limit continues, by task. */
  searched: Map<number, number>
}

/**
 * Makes batches due again that waited for their certificate, when it is open and its breaker is not. Runs again and again, because a
 * batch may begin to wait just after its certificate was opened. Returns whether there may be more to do.
 */
export async function wakeRound({ db, searched }: WakeDeps): Promise<boolean> {
  let more = false
  for (const certificateId of await certificatesToWake(db))
    more = (await wakeBatches(db, certificateId)).more || more
  const paced = await pacedTasksToWake(db)
  for (const taskId of searched.keys()) if (!paced.includes(taskId)) searched.delete(taskId)
  for (const taskId of paced)
    searched.set(taskId, (await wakePaced(db, taskId, searched.get(taskId) ?? 0)) ?? 0)
  return more
}
