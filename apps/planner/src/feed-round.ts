import { eachConcurrently } from '@herald/async'
import type { Database } from '@herald/db/store'
import { pacedTasks, readyDestinations, releasePaced, releaseReady } from '@herald/db/tasks'
import { enqueue } from '@herald/plan'
import type { PushQueues } from '@herald/queue'
import { windowOf } from './feed-window.ts'

export type FeedDeps = {
  db: Database
  queues: PushQueues
  onQueueFailure(error: unknown, tasks?: number[]): void
}

/** Concurrent releases: ten thousand certificates must not take all connections from the other rounds. */
const PARALLEL_RELEASES = 4

/**
 * Releases up to a window from every certificate with ready batches, so that no tenant can starve another; then what the
 * speed limit of each task allows. Returns the number of released batches.
 */
export async function feedRound(deps: FeedDeps): Promise<number> {
  const destinations = await readyDestinations(deps.db)
  const paced = await pacedTasks(deps.db)
  const releases = [
    ...destinations.map((to) => () => releaseReady(deps.db, to, windowOf(to, destinations.length))),
    ...paced.map((taskId) => () => releasePaced(deps.db, taskId)),
  ]
  let released = 0
  await eachConcurrently(releases, PARALLEL_RELEASES, async (release) => {
    const batches = await release()
    released += batches.length
    await enqueue(deps.queues, batches, deps.onQueueFailure)
  })
  return released
}
