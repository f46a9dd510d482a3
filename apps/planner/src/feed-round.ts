import type { Database } from '@herald/db/store'
import { pacedTasks, readyOutlets, releasePaced, releaseReady } from '@herald/db/tasks'
import { enqueue } from '@herald/plan'
import type { PushQueues } from '@herald/queue'

export type FeedDeps = {
  db: Database
  queues: PushQueues
  onQueueFailure(error: unknown, tasks?: number[]): void
}

/** Most recipients in flight per certificate or node: the queue holds a window, so that an urgent push is never far behind. */
const WINDOW = 20_000
/** Releases under way at once: ten thousand certificates must not take every connection from the other rounds. */
const AT_ONCE = 4

/**
 * One turn of releasing: a window's worth from every certificate that has ready batches, each in its turn, so that no tenant
 * can starve another; then what the buckets of tasks with a speed allow. Answers the number of batches released.
 */
export async function feedRound(deps: FeedDeps): Promise<number> {
  const outlets = await readyOutlets(deps.db)
  const paced = await pacedTasks(deps.db)
  const releases = [
    ...outlets.map((outlet) => () => releaseReady(deps.db, outlet, WINDOW)),
    ...paced.map((taskId) => () => releasePaced(deps.db, taskId)),
  ].values()
  let released = 0
  const lane = async () => {
    for (const release of releases) {
      const batches = await release()
      released += batches.length
      await enqueue(deps.queues, batches, deps.onQueueFailure)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  return released
}
