import type { Database } from '@herald/db/store'
import { batchName, type ClaimedBatch, renewBundles, renewLeases } from '@herald/db/tasks'
import { letters } from '@herald/domain'
import { LEASE_SECONDS } from './claim-job.ts'

const RENEW_EVERY_MS = 8_000
/** A lease that was not renewed for this long may belong to another worker. */
const TRUSTED_MS = (LEASE_SECONDS - 5) * 1000

export type Leases = {
  /** Aborts when the lease is lost. Returns an aborted signal if the lease may have expired while the process was frozen. */
  signalOf(batch: ClaimedBatch): AbortSignal
  /** Aborts when all leases are lost, for a call with the recipients of many batches. */
  signalOfAll(): AbortSignal
  isLost(batch: ClaimedBatch): boolean
  end(): void
}

async function renewAll(db: Database, batches: readonly ClaimedBatch[]): Promise<Set<string>> {
  const singles = batches.flatMap(({ taskId, bundle }) => (bundle ? [{ taskId, bundle }] : []))
  const others = batches.filter(({ bundle }) => !bundle)
  const alive = others.length > 0 ? await renewLeases(db, others, LEASE_SECONDS) : new Set<string>()
  if (singles.length > 0)
    for (const taskId of await renewBundles(db, singles, LEASE_SECONDS)) alive.add(batchName(taskId, 0))
  return alive
}

const isSettledSingle = ({ bundle, status }: ClaimedBatch) =>
  bundle !== undefined && status !== letters.pending

/** Made when a signal is asked for: most batches have one recipient and are sent with others in one call. */
const abortOf = new WeakMap<ClaimedBatch, AbortController>()
const lost = new WeakSet<ClaimedBatch>()

/** Ends the sending of a batch whose settle found that another worker has it by now. */
export function loseLease(batch: ClaimedBatch, reason = 'the lease was lost'): void {
  lost.add(batch)
  abortOf.get(batch)?.abort(new Error(reason))
}

/**
 * Renews the leases of claimed batches while they are sent. A batch whose lease is lost, or was not renewed for TRUSTED_MS, is
 * aborted, because another worker may be sending it. `renewedAt` is the `performance.now()` at which the claim was requested;
 * `isWriting` returns whether a settle of the batch is in progress.
 */
export function keepLeases(
  db: Database,
  batches: readonly ClaimedBatch[],
  renewedAt: number,
  isWriting: (batch: ClaimedBatch) => boolean,
): Leases {
  const all = new AbortController()
  let lastRenewal = renewedAt
  let renewing = false

  const renew = async () => {
    renewing = true
    const askedAt = performance.now()
    // What is settled of a bundle needs no lease any more.
    const asked = batches
      .filter(({ bundle, status }) => !bundle || status === letters.pending)
      .map((batch) => ({ batch, version: batch.version, bundle: batch.bundle }))
    try {
      const alive = await renewAll(
        db,
        asked.map(({ batch }) => batch),
      )
      lastRenewal = askedAt
      for (const { batch, version, bundle } of asked) {
        // A concurrent settle has raised the version, or is about to: the next round uses the new one.
        const isChanged = batch.version !== version || batch.bundle !== bundle || isWriting(batch)
        if (!alive.has(batchName(batch.taskId, batch.id)) && !isChanged && !isSettledSingle(batch))
          loseLease(batch)
      }
      if (asked.length > 0 && asked.every(({ batch }) => lost.has(batch)))
        all.abort(new Error('the leases were lost'))
    } catch {
      // The next round tries again; `abortExpired` ends the batches if none succeeds.
    } finally {
      renewing = false
    }
  }
  // Compares clocks instead of waiting for a reply: a frozen process or a hanging statement gets none in time.
  const abortExpired = () => {
    if (performance.now() - lastRenewal < TRUSTED_MS) return
    for (const batch of batches) loseLease(batch, 'the lease could not be renewed')
    all.abort(new Error('the leases could not be renewed'))
  }
  // A timer of its own, because the rounds of renewals would notice it up to RENEW_EVERY_MS later, after the lease has ended.
  let expiry: NodeJS.Timeout
  const watchExpiry = () => {
    abortExpired()
    const left = lastRenewal + TRUSTED_MS - performance.now()
    if (left > 0) expiry = setTimeout(watchExpiry, Math.ceil(left))
  }
  watchExpiry()
  const timer = setInterval(() => {
    if (!renewing) renew()
  }, RENEW_EVERY_MS)
  return {
    signalOf(batch) {
      abortExpired()
      let abort = abortOf.get(batch)
      if (!abort) {
        abort = new AbortController()
        abortOf.set(batch, abort)
        if (lost.has(batch)) abort.abort(new Error('the lease was lost'))
      }
      return abort.signal
    },
    signalOfAll() {
      abortExpired()
      return all.signal
    },
    isLost(batch) {
      abortExpired()
      return lost.has(batch)
    },
    end() {
      clearInterval(timer)
      clearTimeout(expiry)
    },
  }
}
