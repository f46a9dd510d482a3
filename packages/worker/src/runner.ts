import { eachConcurrently } from '@herald/async'
import { retrying } from '@herald/db/store'
import { type ClaimedBatch, tasksById } from '@herald/db/tasks'
import type { Channel } from '@herald/domain'
import { ownReasons, publicName } from '@herald/domain'
import { payloadOf, type ReadCertificate } from '@herald/plan'
import type { PushJob } from '@herald/queue'
import { askGovernor, returnUnused } from './ask-governor.ts'
import { type Attempt, setRemaining } from './attempt.ts'
import { type ClaimedJob, claimJob } from './claim-job.ts'
import { keepLeases, type Leases } from './lease.ts'
import { loadTargets } from './load-targets.ts'
import { sendBatch } from './send-batch.ts'
import { type SettleDeps, settleAccepted, settleAttempts } from './settle-attempts.ts'
import type { Transports } from './transports.ts'
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
}

/** Batches of one job sent concurrently; small ones would otherwise wait for each other's round trip. */
const PARALLEL_BATCHES = 32
const PARALLEL_CALLS = 4
/** One call of a channel with one request per device sends a whole batch, so it gets more time. */
const BATCH_TIME_FACTOR = 4
const PARTIAL_MS = 1000

/** Handles one job: claim, load, send, settle. Batches that it cannot finish are reclaimed when their lease expires. */
export function createRunner(deps: RunnerDeps): (job: PushJob) => Promise<void> {
  return async (job) => {
    const claimed = await claimJob(deps.db, job, { channel: deps.channel, process: deps.worker })
    if (claimed.batches.length > 0) await runBatches(deps, claimed)
  }
}

async function runBatches(deps: RunnerDeps, claimed: ClaimedJob): Promise<void> {
  const { batches } = claimed
  const leases = keepLeases(deps.db, batches, claimed.requestedAt, isWriting)
  try {
    const attempts = await attemptsOf(deps, batches)
    const certificate = await retrying(() => deps.certificates.byId(batches[0]!.certificateId ?? 0))
    if ('problem' in certificate) {
      for (const attempt of attempts) setRemaining(attempt, { kind: 'rejected', reason: certificate.problem })
    } else if (certificate.stored.state === 'closed') {
      const { channel, lastError } = certificate.stored
      const reason = ownReasons.certificate_closed(publicName(channel), lastError)
      for (const attempt of attempts) setRemaining(attempt, { kind: 'misconfigured', reason })
    } else {
      await loadTargets(deps, attempts, certificate)
      await askGovernor(deps.db, attempts, certificate, deps.metrics)
      await sendAttempts(deps, attempts, certificate, leases, claimed)
      await returnUnused(deps.db, attempts, certificate).catch((error) =>
        deps.log.warn(
          { err: error, certificateId: certificate.stored.id },
          'unused quota could not be returned',
        ),
      )
    }
    await settleAttempts(deps, attempts, 'stored' in certificate ? certificate.stored.version : undefined)
  } finally {
    leases.end()
  }
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
