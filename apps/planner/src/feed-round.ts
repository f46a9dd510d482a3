import { eachConcurrently } from '@herald/async'
import type { ReleasedBatch } from '@herald/db/ledger'
import type { Database } from '@herald/db/store'
import { pacedTasks, readyDestinations, releasePaced, releaseReady } from '@herald/db/tasks'
import { enqueue, isLittle } from '@herald/plan'
import type { PushQueues } from '@herald/queue'
import { windowOf } from './feed-window.ts'

export type FeedDeps = {
  db: Database
  queues: PushQueues
  onQueueFailure(error: unknown, tasks?: number[]): void
}

/** Concurrent releases: ten thousand certificates must not take all connections from the other rounds. */
const PARALLEL_RELEASES = 4
/** Batches that wait for those of other certificates: a few jobs per channel, so that the first do not wait for a long round. */
const ENQUEUED_TOGETHER = 256

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
  // What little certificates have is enqueued together, so that they share jobs.
  let little: ReleasedBatch[] = []
  const add = (batches: readonly ReleasedBatch[]) => enqueue(deps.queues, batches, deps.onQueueFailure)
  try {
    await eachConcurrently(releases, PARALLEL_RELEASES, async (release) => {
      const batches = await release()
      released += batches.length
      if (!isLittle(batches)) return add(batches)
      little.push(...batches)
      if (little.length < ENQUEUED_TOGETHER) return
      const enough = little
      little = []
      await add(enough)
    })
  } finally {
    // Also after an error: they are released, and only the sweep would enqueue them.
    await add(little)
  }
  return released
}
