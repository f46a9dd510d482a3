import { eachConcurrently } from '@herald/async'
import type { StoredCallback } from '@herald/db/tasks'
import type { CertificateCache } from '@herald/plan'
import type { Logger } from '@herald/telemetry'
import type { StoredCallbacks } from './stored-callbacks.ts'

const SWEEP_MS = 5_000
/** While it is quiet; a callback that was left waits for the end of its lease in any case. */
const QUIET_SWEEPS = 6
/** Rows per statement; a callback may have 4 MiB. */
const ROWS = 5
const MAX_ATTEMPTS = 20

/** Periodically applies callbacks that a process left or did not finish. */
export function startCallbackSweep(deps: {
  certificates: CertificateCache
  stored: StoredCallbacks
  log: Logger
  isQuiet?(): boolean
}) {
  const { certificates, stored, log, isQuiet = () => false } = deps

  async function applyAgain(callback: StoredCallback): Promise<void> {
    const certificate = await certificates.byId(callback.certificateId)
    const removed = 'problem' in certificate && certificate.removed
    if (removed || callback.attempts > MAX_ATTEMPTS) {
      const about = { callback: callback.id, certificateId: callback.certificateId }
      if (removed) log.warn(about, 'dropped a vendor callback: its certificate was removed')
      else log.error(about, `dropped a vendor callback that failed ${MAX_ATTEMPTS} times`)
      await stored.forget(callback.id)
      return
    }
    if ('problem' in certificate) return
    const { adapter, settings } = certificate
    const read = adapter.readCallback?.({ ...callback, now: callback.arrivedAt }, settings)
    await stored.apply(callback.id, certificate, read?.ok ? read.receipts : [], callback.arrivedAt)
  }

  async function sweep(): Promise<number> {
    const left = await stored.lease(ROWS)
    // At the same time, so that their receipts are counted by one statement.
    await eachConcurrently(left, ROWS, applyAgain)
    return left.length
  }

  let sweeping: Promise<unknown> = Promise.resolve()
  let skipped = 0
  let isStopped = false
  const timer = setInterval(() => {
    if (isQuiet() && ++skipped < QUIET_SWEEPS) return
    skipped = 0
    sweeping = sweeping
      .then(async () => {
        while (!isStopped && (await sweep()) === ROWS) {}
      })
      .catch((error) => log.warn({ err: error }, 'could not sweep vendor callbacks'))
  }, SWEEP_MS)
  timer.unref()

  return {
    sweep,
    async stop(): Promise<void> {
      // What is left may be many rows.
      isStopped = true
      clearInterval(timer)
      await sweeping
    },
  }
}
