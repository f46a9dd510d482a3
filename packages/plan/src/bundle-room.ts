import type { Database } from '@herald/db/store'
import { countWaitingBundles, MAX_WAITING_BUNDLES } from '@herald/db/tasks'

const READ_EVERY_MS = 500

/**
 * Returns whether further bundles may wait for the feeder. Uses the last known number without waiting, so all processes together may
 * exceed the maximum by what they write in half a second.
 */
export function createBundleRoom(db: Database): () => boolean {
  let isFull = false
  /** The end of the last reading. */
  let readAt = Number.NEGATIVE_INFINITY
  function read(): void {
    // One reading at a time: a slow one must not take the connections of the commits.
    readAt = Number.POSITIVE_INFINITY
    countWaitingBundles(db)
      .then(
        (count) => {
          isFull = count >= MAX_WAITING_BUNDLES
        },
        // The commit that asks will fail too.
        () => {},
      )
      .finally(() => {
        readAt = performance.now()
      })
  }
  // The first reading looks for the days with open work, which takes a second if a year is kept: not while pushes are accepted.
  read()
  return () => {
    if (performance.now() - readAt >= READ_EVERY_MS) read()
    return !isFull
  }
}
