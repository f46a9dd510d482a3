import type { Database } from '@herald/db/store'
import { countWaitingBundles, MAX_WAITING_BUNDLES } from '@herald/db/tasks'

const READ_EVERY_MS = 500

/**
 * Returns whether further bundles may wait for the feeder. Uses the last known number without waiting, so all processes together may
 * exceed the maximum by what they write in half a second.
 */
export function createBundleRoom(db: Database): () => boolean {
  let isFull = false
  let readAt = Number.NEGATIVE_INFINITY
  return () => {
    const now = performance.now()
    if (now - readAt >= READ_EVERY_MS) {
      readAt = now
      countWaitingBundles(db).then(
        (count) => {
          isFull = count >= MAX_WAITING_BUNDLES
        },
        // The commit that asks will fail too.
        () => {},
      )
    }
    return !isFull
  }
}
