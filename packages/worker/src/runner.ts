import { randomUUID } from 'node:crypto'
import { retrying } from '@herald/db/store'
import { type ClaimedBatch, claimBatches, tasksById } from '@herald/db/tasks'
import { payloadOf, type ReadCertificate } from '@herald/plan'
import type { PushJob } from '@herald/queue'
import { askGovernor, returnUnused } from './ask-governor.ts'
import { type Attempt, answerRest } from './attempt.ts'
import { keepLeases, LEASE_SECONDS, type Leases } from './lease.ts'
import { loadRecipients } from './load-recipients.ts'
import { sendBatch } from './send-batch.ts'
import { type SettleDeps, settleAttempts, settlePartly } from './settle-attempts.ts'
import type { Transports } from './transports.ts'
import { isWriting } from './write-settlements.ts'

export type RunnerDeps = SettleDeps & {
  transports: Transports
  /** Name of this process among the workers. */
  worker: string
  /** Time limit of one call to the vendor. */
  timeoutMs: number
  /** Fires when the process must end: what is under way is given up and written down as it stands. */
  stopping?: AbortSignal
}

/** Batches of one job under way at once; tiny ones would otherwise wait for each other's round trip. */
const PARALLEL_BATCHES = 32
const PARALLEL_CALLS = 4
/** One call of a one-request-a-device channel carries a whole batch, so it gets more time. */
const BATCH_TIME_FACTOR = 4
const PARTIAL_MS = 1000

/** Handles one job: claim, load, send, settle. What it cannot finish is left to the lease and the feeder. */
export function createRunner(deps: RunnerDeps): (job: PushJob) => Promise<void> {
  return async (job) => {
    let askedAt = 0
    const lease = { seconds: LEASE_SECONDS, worker: `${deps.worker} ${randomUUID()}` }
    const batches = await retrying(() => {
      askedAt = performance.now()
      return claimBatches(deps.db.pool, job.batches, lease)
    })
    if (batches.length > 0) await runBatches(deps, batches, askedAt)
  }
}

async function runBatches(deps: RunnerDeps, batches: ClaimedBatch[], askedAt: number): Promise<void> {
  const leases = keepLeases(deps.db, batches, askedAt, isWriting)
  const claimed = performance.now()
  try {
    const attempts = await attemptsOf(deps, batches)
    const certificate = await retrying(() => deps.certificates.byId(batches[0]!.certificateId ?? 0))
    if ('problem' in certificate) {
      for (const attempt of attempts) answerRest(attempt, { kind: 'rejected', reason: certificate.problem })
    } else if (certificate.stored.state === 'closed') {
      const reason = certificate.stored.lastError ?? 'the certificate is closed'
      for (const attempt of attempts) answerRest(attempt, { kind: 'misconfigured', reason })
    } else {
      await loadRecipients(deps, attempts, certificate)
      await askGovernor(deps.db, attempts, certificate, deps.metrics)
      await sendAll(deps, attempts, certificate, leases, claimed)
      await returnUnused(deps.db, attempts, certificate).catch((error) =>
        deps.log.warn(
          { err: error, certificateId: certificate.stored.id },
          'a quota could not be given back',
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
    answers: new Map(),
    recipients: [],
  }))
}

async function sendAll(
  deps: RunnerDeps,
  attempts: Attempt[],
  certificate: ReadCertificate,
  leases: Leases,
  claimed: number,
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
    const queue = attempts.filter(({ recipients }) => recipients.length > 0).values()
    const lane = async () => {
      for (const attempt of queue) {
        const { batch, task } = attempt
        const ttl = task.ttl === 0 ? 0 : Math.max(1, Math.floor(batch.remaining))
        const mapped = payloadOf({ ...task, ttl }, certificate, applicationName)
        if ('unsupported' in mapped) {
          answerRest(attempt, { kind: 'unsupported', reason: mapped.unsupported })
          continue
        }
        if (batch.attempts === 1) noteLatency(deps, attempt, claimed)
        const stop = adapter.onePerDevice ? settleNowAndThen(deps, attempt) : undefined
        await sendBatch(attempt, mapped.payload, transport, limits, () => leases.signalOf(batch))
        await stop?.()
      }
    }
    await Promise.all(Array.from({ length: PARALLEL_BATCHES }, lane))
  })
}

/** By the database's clock up to the claim, which is all that hosts agree on; from there by our own. */
function noteLatency(deps: RunnerDeps, { batch, task }: Attempt, claimed: number): void {
  const ms = batch.claimedAt - task.beginAt + performance.now() - claimed
  deps.metrics?.firstCall(batch.channel, batch.lane, ms / 1000)
}

/** What a crash can send twice is what was accepted since the last of these writes. */
function settleNowAndThen(deps: RunnerDeps, attempt: Attempt): () => Promise<void> {
  let working = Promise.resolve()
  const timer = setInterval(() => {
    working = working
      .then(() => settlePartly(deps, attempt))
      .catch((error) => deps.log.error({ err: error, task: attempt.batch.taskId }, 'a partial settle failed'))
  }, PARTIAL_MS)
  return async () => {
    clearInterval(timer)
    await working
  }
}
