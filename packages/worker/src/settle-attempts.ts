import {
  batchName,
  type ClaimedBatch,
  closeCertificate,
  type Database,
  devicesById,
  retrying,
  type Settlement,
  unretireWindow,
} from '@herald/db'
import {
  clip,
  type Fold,
  foldAttempt,
  type Outcome,
  type Plan,
  planDevices,
  type Sorted,
  sortAnswers,
  triedAfter,
} from '@herald/domain'
import { type CertificateBook, rulesFor } from '@herald/plan'
import { type Attempt, unsettledAnswers } from './attempt.ts'
import type { WorkerMetrics } from './metrics.ts'
import { settleUntilKnown } from './settle-until-known.ts'
import { tallyAnswers } from './tally.ts'

export type SettleDeps = {
  db: Database
  certificates: CertificateBook
  log: { warn(fields: object, message: string): void; error(fields: object, message: string): void }
  metrics?: WorkerMetrics
}

const noPlan: Plan = { batches: [], inbox: [], unreachable: 0 }

/**
 * Writes what became of all recipients of a job: counters, dead tokens, what goes again, what falls to the next channel.
 * `certificateVersion` is the one they were sent under.
 */
export async function settleAttempts(
  deps: SettleDeps,
  attempts: Attempt[],
  certificateVersion: number | undefined,
): Promise<void> {
  await closeMisconfigured(deps, attempts, certificateVersion)
  const sorted = attempts.map((attempt) => {
    const answers = unsettledAnswers(attempt)
    deps.metrics?.outcomes(attempt.batch.channel, tallyAnswers(answers))
    return sortAnswers(answers, troubleOf(attempt))
  })
  const plans = await planNext(deps, attempts, sorted)
  const settlements = attempts.map((attempt, i) => {
    const fold = foldAttempt(attempt.batch, sorted[i]!, plans[i]!)
    return {
      ...settlementOf(attempt, sorted[i]!, fold),
      state: fold.pending > 0 ? ('again' as const) : ('settled' as const),
    }
  })
  await write(deps, attempts, settlements)
}

/** Writes down who was accepted so far while the batch goes on, so that a crash repeats little. */
export async function settlePartly(deps: SettleDeps, attempt: Attempt): Promise<void> {
  const sent: number[] = []
  for (const [index, answer] of unsettledAnswers(attempt)) if (answer.kind === 'accepted') sent.push(index)
  if (sent.length === 0) return
  const sorted: Sorted = {
    sent,
    left: [],
    acknowledged: [],
    next: [],
    again: [],
    gone: [],
    answered: sent.length,
    troubled: false,
  }
  const fold = foldAttempt(attempt.batch, sorted, noPlan)
  await write(deps, [attempt], [{ ...settlementOf(attempt, sorted, fold), state: 'sending' }])
}

const writing = new WeakSet<ClaimedBatch>()

/** Whether a settle of this batch is under way, so that its version may have risen unheard. */
export const isWriting = (batch: ClaimedBatch): boolean => writing.has(batch)

async function write(deps: SettleDeps, attempts: Attempt[], settlements: Settlement[]): Promise<void> {
  for (const { batch } of attempts) writing.add(batch)
  try {
    await writeDown(deps, attempts, settlements)
  } finally {
    for (const { batch } of attempts) writing.delete(batch)
  }
}

async function writeDown(deps: SettleDeps, attempts: Attempt[], settlements: Settlement[]): Promise<void> {
  const { channel } = attempts[0]!.batch
  const { settled, suspect } = await settleUntilKnown(deps.db, settlements, () =>
    deps.metrics?.settleRepeated(channel),
  )
  attempts.forEach(({ batch }, i) => {
    const settlement = settlements[i]!
    const version = settled.get(batchName(batch.taskId, batch.id))
    if (version === undefined) {
      deps.log.warn(
        { task: batch.taskId, batch: batch.id },
        'the lease was lost before the outcomes were written',
      )
      deps.metrics?.leaseLost(channel)
      return
    }
    batch.version = version
    batch.status = settlement.status
    deps.metrics?.settled(channel, settlement)
  })
  const certificateId = attempts[0]!.batch.certificateId
  if (suspect && certificateId !== null) {
    const restored = await retrying(() => unretireWindow(deps.db, certificateId))
    deps.log.warn(
      { certificateId, task: attempts[0]!.batch.taskId, restored },
      'over half of the tokens are said to be dead: none is retired',
    )
  }
}

function troubleOf({ batch }: Attempt) {
  return { troubledFor: batch.troubledFor, now: Date.now(), jitter: Math.random() }
}

function settlementOf({ batch, recipients }: Attempt, sorted: Sorted, fold: Fold): Settlement {
  return {
    taskId: batch.taskId,
    id: batch.id,
    version: batch.version,
    status: fold.status,
    state: 'settled',
    wait: fold.wait,
    troubled: sorted.troubled || (batch.troubledFor > 0 && fold.pending > 0),
    sent: fold.sent,
    failed: fold.failed,
    moved: fold.moved,
    expired: fold.expired,
    cancelled: fold.cancelled,
    fallback: fold.fallback,
    inbox: fold.inbox,
    unbox: batch.tried.includes('native') ? sorted.sent.map((index) => batch.recipients[index]!) : [],
    reasons: fold.reasons,
    // Without the vendor's own time, the token must not have been registered again since the claim.
    retire: sorted.gone.flatMap(({ index, since }) => {
      const token = recipients.find((one) => one.index === index)?.recipient.token
      return token === undefined
        ? []
        : [{ deviceId: batch.recipients[index]!, token, since: since ?? batch.claimedAt }]
    }),
    answered: sorted.answered,
    gone: sorted.gone.length,
  }
}

/** A credential the vendor refuses is closed before anybody is routed anew, so that nobody is sent back to it. */
async function closeMisconfigured(
  deps: SettleDeps,
  attempts: Attempt[],
  version: number | undefined,
): Promise<void> {
  const certificateId = attempts[0]!.batch.certificateId
  for (const { answers, batch } of attempts) {
    for (const answer of answers.values()) {
      if (answer.kind !== 'misconfigured' || certificateId === null) continue
      const reason = clip((answer as Outcome & { reason: string }).reason)
      // Not if it was mended meanwhile: this answer is about the credential of before.
      const closed = await retrying(() => closeCertificate(deps.db, certificateId, reason, { version }))
      if (!closed) return
      deps.log.error(
        { certificateId, task: batch.taskId, reason },
        'the vendor refuses the certificate: its channel is closed',
      )
      return
    }
  }
}

/** Routes everyone who needs another channel, with one read of their devices for the whole job. */
async function planNext(deps: SettleDeps, attempts: Attempt[], sorted: Sorted[]): Promise<Plan[]> {
  const ids = attempts.flatMap(({ batch }, i) => sorted[i]!.next.map(({ index }) => batch.recipients[index]!))
  if (ids.length === 0) return attempts.map(() => noPlan)
  const devices = new Map(
    (await retrying(() => devicesById(deps.db.pool, ids))).map((device) => [device.id, device]),
  )
  return Promise.all(
    attempts.map(async ({ batch, task }, i) => {
      const wanted = sorted[i]!.next.map(({ index }) => batch.recipients[index]!).sort((a, b) => a - b)
      if (wanted.length === 0) return noPlan
      const rules = rulesFor(task, await deps.certificates.of(batch.appId), triedAfter(batch))
      return planDevices(
        wanted.flatMap((id) => devices.get(id) ?? []),
        rules,
        task.speed,
      )
    }),
  )
}
