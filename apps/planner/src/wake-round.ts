import type { Database } from '@herald/db/store'
import { certificatesToWake, pacedTasksToWake, wakeBatches, wakePaced } from '@herald/db/tasks'
import { newTurn, step, type Turn } from './turn.ts'

/** Which certificates and tasks with a speed limit the next round looks at. */
export type WakeTurns = {
  certificates: Turn
  tasks: Turn
  /** Where the search among the batches of a task with a speed limit continues, by task. */
  searched: Map<number, number>
}

export const newWakeTurns = (): WakeTurns => ({
  certificates: newTurn(),
  tasks: newTurn(),
  searched: new Map(),
})

/**
 * Makes batches due again that waited for their certificate, when it is open and its breaker is not. Runs again and again, because a
 * batch may begin to wait just after its certificate was opened. Returns whether a certificate has more of them.
 */
export async function wakeRound(db: Database, turns: WakeTurns): Promise<boolean> {
  const { certificates, tasks, searched } = turns
  let more = false
  for (const certificateId of await step(certificates, (after) => certificatesToWake(db, after)))
    more = (await wakeBatches(db, certificateId)).more || more
  const from = tasks.after
  const paced = new Set(await step(tasks, (after) => pacedTasksToWake(db, after)))
  const upTo = tasks.after || Number.POSITIVE_INFINITY
  for (const taskId of searched.keys())
    if (taskId > from && taskId <= upTo && !paced.has(taskId)) searched.delete(taskId)
  for (const taskId of paced)
    searched.set(taskId, (await wakePaced(db, taskId, searched.get(taskId) ?? 0)) ?? 0)
  return more
}
