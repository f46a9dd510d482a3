import { batchName, type ClaimedBatch, type Database, renewLeases } from '@herald/db'

export const LEASE_SECONDS = 30
const RENEW_EVERY_MS = 8_000

/**
 * Keeps the leases of claimed batches alive while they are sent. A batch whose lease is lost, or could not be proved alive
 * for most of a lease, is aborted: somebody else may be sending it.
 */
export function keepLeases(db: Database, batches: readonly ClaimedBatch[]) {
  const aborts = new Map(batches.map((batch) => [batchName(batch.taskId, batch.id), new AbortController()]))
  let provedAt = Date.now()

  const renew = async () => {
    const askedAt = Date.now()
    const asked = batches.map((batch) => ({ batch, version: batch.version }))
    try {
      const alive = await renewLeases(db, batches, LEASE_SECONDS)
      provedAt = askedAt
      for (const { batch, version } of asked) {
        const name = batchName(batch.taskId, batch.id)
        // A settle in between raised the version; the next round asks with the new one.
        if (!alive.has(name) && batch.version === version)
          aborts.get(name)!.abort(new Error('the lease was lost'))
      }
    } catch {
      if (Date.now() - provedAt < (LEASE_SECONDS - 5) * 1000) return
      for (const abort of aborts.values()) abort.abort(new Error('the lease could not be renewed'))
    }
  }
  const timer = setInterval(renew, RENEW_EVERY_MS)
  return {
    signalOf: (batch: ClaimedBatch) => aborts.get(batchName(batch.taskId, batch.id))!.signal,
    end: () => clearInterval(timer),
  }
}
