import type { Database } from '@herald/db/store'
import { batchName, type ClaimedBatch, renewLeases } from '@herald/db/tasks'

export const LEASE_SECONDS = 30
const RENEW_EVERY_MS = 8_000
/** A lease not proved alive for so long may be somebody else's by now. */
const TRUSTED_MS = (LEASE_SECONDS - 5) * 1000

export type Leases = {
  /** Aborts when the lease is lost; aborted already when it may have run out, though nobody was awake to notice. */
  signalOf(batch: ClaimedBatch): AbortSignal
  end(): void
}

/**
 * Keeps the leases of claimed batches alive while they are sent. A batch whose lease is lost, or could not be proved alive
 * for most of a lease, is aborted: somebody else may be sending it. `provedAt` is the monotonic time at which the claim was
 * asked for; `isWriting` tells whether a settle of the batch is under way.
 */
export function keepLeases(
  db: Database,
  batches: readonly ClaimedBatch[],
  provedAt: number,
  isWriting: (batch: ClaimedBatch) => boolean,
): Leases {
  const aborts = new Map(batches.map((batch) => [batchName(batch.taskId, batch.id), new AbortController()]))
  let proved = provedAt
  let renewing = false

  const renew = async () => {
    renewing = true
    const askedAt = performance.now()
    const asked = batches.map((batch) => ({ batch, version: batch.version }))
    try {
      const alive = await renewLeases(db, batches, LEASE_SECONDS)
      proved = askedAt
      for (const { batch, version } of asked) {
        const name = batchName(batch.taskId, batch.id)
        // A settle in between raised the version, perhaps unheard yet; the next round asks with the new one.
        if (!alive.has(name) && batch.version === version && !isWriting(batch))
          aborts.get(name)!.abort(new Error('the lease was lost'))
      }
    } catch {
      // The next round asks again, and `distrust` ends it if none succeeds.
    } finally {
      renewing = false
    }
  }
  // By the clock and not by the answer: a process that was frozen, or a statement that hangs, hears nothing in time.
  const distrust = () => {
    if (performance.now() - proved < TRUSTED_MS) return
    for (const abort of aborts.values()) abort.abort(new Error('the lease could not be renewed'))
  }
  const timer = setInterval(() => {
    distrust()
    if (!renewing) renew()
  }, RENEW_EVERY_MS)
  return {
    signalOf(batch) {
      distrust()
      return aborts.get(batchName(batch.taskId, batch.id))!.signal
    },
    end: () => clearInterval(timer),
  }
}
