import { eachConcurrently } from '@herald/async'
import { retrying } from '@herald/db/store'
import { type ClaimedBatch, tasksById } from '@herald/db/tasks'
import { type Channel, ownReasons, publicName, type RecoveryPauses, recoveryPauses } from '@herald/domain'
import { payloadOf, type ReadCertificate } from '@herald/plan'
import type { PushJob } from '@herald/queue'
import { askGovernor, returnUnused, uncountUnsent } from './ask-governor.ts'
import { type Attempt, setRemaining } from './attempt.ts'
import { type ClaimedJob, claimJob } from './claim-job.ts'
import { keepLeases, type Leases } from './lease.ts'
import { loadTargets } from './load-targets.ts'
import { askBreaker, confirmRefusals, noteAnswers, type RecoveryDeps } from './recovery.ts'
import { sendBatch } from './send-batch.ts'
import { type SettleDeps, settleAccepted, settleAttempts } from './settle-attempts.ts'
import type { Progress } from './slots.ts'
import type { Transports } from './transports.ts'
import { createSilenceCounter } from './vendor-silence.ts'
import { isWriting } from './write-settlements.ts'

export type RunnerDeps = SettleDeps & {
  transports: Transports
  channel: Channel
  /** Name of this process. */
  worker: string
  /** Time limit of one call to the vendor. */
  timeoutMs: number
  /** Aborts when the process must end: calls in flight are given up and the results so far are written. */
  stopping?: AbortSignal
  /** For specs that cannot wait as long as the usual ones. */
  pauses?: RecoveryPauses
  log: RecoveryDeps['log']
  /** Set for each job. */
  onProgress?: Progress
}

/** Batches of one job sent concurrently; small ones would otherwise wait for each other's round trip. */
const PARALLEL_BATCHES = 32
const PARALLEL_CALLS = 4
/** One call of a channel with one request per device sends a whole batch, so it gets more time. */
const BATCH_TIME_FACTOR = 4
const PARTIAL_MS = 1000
/** How often a certificate that no key opens is tried again. */
const SEALED_WAIT_SECONDS = 60
/** For the statements before and after the calls of a probe. */
const PROBE_MARGIN_SECONDS = 10

/** Handles one job: claim, load, send, settle. Batches that it cannot finish are reclaimed when their lease expires. */
export function createRunner(deps: RunnerDeps): (job: PushJob, onProgress?: Progress) => Promise<void> {
  const recovery = { silence: createSilenceCounter(), pauses: deps.pauses ?? recoveryPauses }
  return async (job, onProgress) => {
    const claimed = await claimJob(deps.db, job, { channel: deps.channel, process: deps.worker })
    if (claimed.batches.length > 0) await runBatches({ ...deps, ...recovery, onProgress }, claimed)
  }
}

type RunDeps = RunnerDeps & RecoveryDeps

async function runBatches(deps: RunDeps, claimed: ClaimedJob): Promise<void> {
  const { batches } = claimed
  const leases = keepLeases(deps.db, batches, claimed.requestedAt, isWriting)
  try {
    let attempts = await attemptsOf(deps, batches)
    let breakerOpenFor: number | undefined
    let noteVendor = async () => {}
    const certificate = await retrying(() => deps.certificates.byId(batches[0]!.certificateId ?? 0))
    if ('problem' in certificate) {
      const { problem: reason, sealedId } = certificate
      // Postgres does not know when the right key is configured, so nothing would wake the batch.
      const result =
        sealedId === undefined
          ? ({ kind: 'rejected', reason } as const)
          : ({ kind: 'unsent', reason, wait: SEALED_WAIT_SECONDS } as const)
      for (const attempt of attempts) setRemaining(attempt, result)
    } else if (certificate.stored.state === 'closed') {
      const { stored } = certificate
      const reason = ownReasons.certificate_closed(publicName(stored.channel), stored)
      for (const attempt of attempts) setRemaining(attempt, { kind: 'unsent', reason })
    } else {
      const permission = await askBreaker(
        deps,
        attempts,
        certificate,
        sendSeconds(deps, attempts[0]!, certificate),
      )
      const { sendable, putOff } = permission
      breakerOpenFor = permission.openFor
      // At once: a probe may take a minute.
      if (putOff.length > 0) await settleAttempts(deps, putOff, breakerOpenFor)
      attempts = sendable
      if (sendable.length > 0) {
        await loadTargets(deps, sendable, certificate)
        await askGovernor(deps.db, sendable, certificate, deps.metrics)
        await sendAttempts(deps, sendable, certificate, leases, claimed)
      }
      // Calls that were given up here tell nothing about the vendor.
      const sent = deps.stopping?.aborted
        ? []
        : sendable.filter(({ batch }) => !leases.signalOf(batch).aborted)
      await confirmRefusals(deps, sendable, certificate)
      noteVendor = () => noteAnswers(deps, sent, certificate, permission)
      await returnUnused(deps.db, sendable, certificate).catch((error) =>
        deps.log.warn(
          { err: error, certificateId: certificate.stored.id },
          'unused quota could not be returned',
        ),
      )
    }
    if (attempts.length > 0) await settleAttempts(deps, attempts, breakerOpenFor)
    // After the settle: an error must not lose results, which would be sent again.
    await noteVendor().catch((error) =>
      deps.log.error(
        { err: error, certificateId: batches[0]!.certificateId },
        'the breaker could not be written',
      ),
    )
    if ('stored' in certificate)
      await uncountUnsent(deps.db, attempts, certificate).catch((error) =>
        deps.log.warn(
          { err: error, certificateId: certificate.stored.id },
          'the daily count of devices that were not sent to could not be corrected',
        ),
      )
  } finally {
    leases.end()
  }
}

/** How long the calls of a batch may take. */
function sendSeconds({ timeoutMs }: RunDeps, { batch }: Attempt, { adapter }: ReadCertificate): number {
  const calls = Math.ceil(batch.recipients.length / adapter.tokensPerCall)
  const perCall = timeoutMs * (adapter.onePerDevice ? BATCH_TIME_FACTOR : 1)
  return (Math.ceil(calls / PARALLEL_CALLS) * perCall) / 1000 + PROBE_MARGIN_SECONDS
}

async function attemptsOf(deps: RunnerDeps, batches: ClaimedBatch[]): Promise<Attempt[]> {
  const ids = [...new Set(batches.map(({ taskId }) => taskId))]
  const tasks = new Map(
    (await retrying(() => tasksById(deps.db.pool, ids))).map((task) => [task.taskId, task]),
  )
  return batches.map((batch) => ({
    batch,
    task: tasks.get(batch.taskId)!,
    results: new Map(),
    targets: [],
  }))
}

async function sendAttempts(
  deps: RunnerDeps,
  attempts: Attempt[],
  certificate: ReadCertificate,
  leases: Leases,
  claimed: ClaimedJob,
): Promise<void> {
  const { adapter, settings, stored } = certificate
  const { applicationName } = await deps.certificates.of(stored.application)
  const limits = {
    tokensPerCall: adapter.tokensPerCall,
    parallelCalls: PARALLEL_CALLS,
    timeoutMs: deps.timeoutMs * (adapter.onePerDevice ? BATCH_TIME_FACTOR : 1),
    stopping: deps.stopping,
    onCalled: (seconds: number) => deps.metrics?.called(adapter.name, seconds),
    onProgress: () => deps.onProgress?.('calling'),
  }
  const credential = { id: stored.id, version: stored.version, adapter, settings }
  await deps.transports.use(credential, async (transport) => {
    const toSend = attempts.filter(({ targets }) => targets.length > 0)
    await eachConcurrently(toSend, PARALLEL_BATCHES, async (attempt) => {
      const { batch, task } = attempt
      const ttl = task.ttl === 0 ? 0 : Math.max(1, Math.floor(batch.remaining))
      const mapped = payloadOf({ ...task, ttl }, certificate, applicationName)
      if ('unsupported' in mapped) {
        setRemaining(attempt, { kind: 'unsupported', reason: mapped.unsupported })
        return
      }
      if (batch.attempts === 1)
        deps.metrics?.firstCall(batch.channel, batch.lane, claimed.secondsSince(task, batch))
      const stop = adapter.onePerDevice ? settlePeriodically(deps, attempt) : undefined
      await sendBatch(attempt, mapped.payload, transport, limits, () => leases.signalOf(batch))
      await stop?.()
    })
  })
  deps.onProgress?.('working')
}

/** After a crash, recipients accepted since the last of these writes are sent to again. */
function settlePeriodically(deps: RunnerDeps, attempt: Attempt): () => Promise<void> {
  let working = Promise.resolve()
  const timer = setInterval(() => {
    working = working
      .then(() => settleAccepted(deps, attempt))
      .catch((error) => deps.log.error({ err: error, task: attempt.batch.taskId }, 'a partial settle failed'))
  }, PARTIAL_MS)
  return async () => {
    clearInterval(timer)
    await working
  }
}
