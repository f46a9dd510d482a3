import type { Database } from '@herald/db/store'
import { expireUnplanned, type PlanningFailed } from '@herald/db/tasks'

const POSTPONE_MS = 10_000
const WAIT_MS = 500

/** Remembers tasks that could not be planned. Otherwise they would be retried at once, and the tasks of all applications would wait. */
export type Postponed = {
  /** The tasks to leave out now. */
  ids(): number[]
  /** Leaves the task out for a while; after its deadline, for good. */
  add(failure: PlanningFailed): Promise<void>
  /** Leaves the task out for a moment: it waits for another one. */
  wait(taskId: number): void
}

export function createPostponed(deps: {
  db: Database
  now?: () => number
  onPlanningFailed(error: PlanningFailed, expired: boolean): void
}): Postponed {
  const now = deps.now ?? (() => performance.now())
  const until = new Map<number, number>()
  return {
    ids() {
      for (const [taskId, end] of until) if (end <= now()) until.delete(taskId)
      return [...until.keys()]
    },
    wait(taskId) {
      until.set(taskId, now() + WAIT_MS)
    },
    async add(failure) {
      until.set(failure.taskId, now() + POSTPONE_MS)
      deps.onPlanningFailed(failure, await expireUnplanned(deps.db, failure.taskId))
    },
  }
}
