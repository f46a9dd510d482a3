import { sleep } from '@herald/async'
import {
  closeBreaker,
  closeCertificate,
  countAnswers,
  endCheck,
  forgetRefusal,
  openBreaker,
  postponeBreaker,
  takeCheck,
  takeProbe,
} from '@herald/db/certificates'
import { type Database, retrying } from '@herald/db/store'
import {
  breakerPause,
  clip,
  describeReason,
  ownReasons,
  PATIENCE_SECONDS,
  publicName,
  type Reason,
  type RecoveryPauses,
} from '@herald/domain'
import type { CertificateCache, ReadCertificate } from '@herald/plan'
import { ANSWERS_WRITTEN_MS, type Answers } from './answers.ts'
import { type Attempt, type Results, setRemaining } from './attempt.ts'
import type { WorkerMetrics } from './metrics.ts'
import type { SilenceWarnings } from './silence-warnings.ts'
import type { Transports } from './transports.ts'
import { evidenceOf, type SilenceCounter } from './vendor-silence.ts'

export type RecoveryDeps = {
  db: Database
  certificates: CertificateCache
  transports: Transports
  pauses: RecoveryPauses
  silence: SilenceCounter
  warnings: SilenceWarnings
  answers: Pick<Answers, 'flush'>
  /** For specs, in which the other processes write their answers during this wait (default sleep). */
  wait?: (ms: number) => Promise<void>
  log: Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>
  metrics?: WorkerMetrics
}

/** A vendor may ask for an extremely long wait; without a limit nothing would be sent until an operator acts. */
const MAX_ASKED_SECONDS = 3600

/** What the breaker of the certificate allows; `openFor` (seconds) is undefined if it is not open. */
export type Permission = { sendable: Attempt[]; putOff: Attempt[]; openFor?: number }

/**
 * While the breaker of a certificate is open, one batch at a time is sent, as a probe that may take `probeSeconds`. The other
 * attempts get their result here. Costs a statement only while the breaker is open.
 */
export async function askBreaker(
  deps: RecoveryDeps,
  attempts: Attempt[],
  { stored, breaker }: ReadCertificate,
  probeSeconds: number,
): Promise<Permission> {
  const probe = breaker && (await retrying(() => takeProbe(deps.db, stored.id, probeSeconds)))
  if (!breaker || !probe) return { sendable: attempts, putOff: [] }
  const { mayProbe, openFor } = probe
  for (const attempt of attempts) attempt.breakerOpenFor = openFor
  const sendable = mayProbe ? attempts.slice(0, 1) : []
  const putOff = attempts.slice(sendable.length)
  const reason = ownReasons.vendor_silent(publicName(stored.channel), breaker)
  for (const attempt of putOff)
    setRemaining(
      attempt,
      // The wait hardly matters: the feeder releases the batch when the breaker allows it.
      openFor < PATIENCE_SECONDS ? { kind: 'deferred', reason, wait: 1 } : { kind: 'unsent', reason },
    )
  if (putOff.length > 0) deps.warnings.note(stored.id, reason, tasksOf(putOff))
  return { sendable, putOff, openFor }
}

/**
 * Looks a second time when the vendor refused the credentials: refusals of good ones pass. The certificate is closed if no request
 * of the job was accepted and a check on new connections is refused too. Otherwise the refused recipients become `unavailable`.
 */
export async function confirmRefusals(
  deps: RecoveryDeps,
  attempts: readonly Attempt[],
  certificate: ReadCertificate,
): Promise<void> {
  const refused: { results: Results; index: number; reason: Reason }[] = []
  for (const { targets, results } of attempts)
    for (const { index } of targets) {
      const result = results[index]
      if (result?.kind === 'misconfigured') refused.push({ results, index, reason: result.reason })
    }
  if (refused.length === 0) return
  deps.transports.renew(certificate.stored.id)
  const evidence = evidenceOf(attempts)
  const isTrusted = evidence?.kind === 'answer' && evidence.trusted
  if (!isTrusted && (await isRefusedAgain(deps, certificate, refused[0]!.reason))) return
  for (const { results, index, reason } of refused) results[index] = { kind: 'unavailable', reason }
}

/** An error must not lose the results of the job, which would be sent again; the next refusal is looked at again. */
async function isRefusedAgain(...args: Parameters<typeof isRefused>): Promise<boolean> {
  try {
    return await isRefused(...args)
  } catch (error) {
    args[0].log.error(
      { err: error, certificateId: args[1].stored.id },
      'a refused certificate could not be checked',
    )
    return false
  }
}

async function isRefused(deps: RecoveryDeps, certificate: ReadCertificate, reason: Reason): Promise<boolean> {
  const { db, certificates, pauses } = deps
  const { id, version, application, channel } = certificate.stored
  if (!(await retrying(() => takeCheck(db, id, version)))) {
    certificates.forget(application)
    const now = await certificates.byId(id)
    return 'stored' in now && now.stored.state === 'closed' && now.stored.version === version
  }
  // Otherwise requests accepted within a second would not see that there is a refusal to forget.
  certificates.forget(application)
  const result = await deps.transports.check({ ...certificate, id, version })
  if (result.ok || result.temporary) {
    await retrying(() => endCheck(db, id, pauses.check))
    deps.log.warn(
      { certificateId: id, reason, check: result.ok ? 'accepted' : result.problem },
      'the vendor refused the certificate, but a check did not confirm it',
    )
    return false
  }
  const refusal = { code: reason.code, text: clip(describeReason(reason)) }
  const closed = await retrying(() => closeCertificate(db, id, refusal, { version, pauses }))
  certificates.forget(application)
  // False: it was saved or used with success since.
  if (!closed) return false
  deps.metrics?.certificateClosed(channel)
  deps.log.error(
    { certificateId: id, ...refusal, check: result.problem },
    'the vendor refused the certificate; its channel is disabled until a check succeeds',
  )
  return true
}

/** Opens or closes the breaker by what the calls of a job tell about the vendor. `sent` are the attempts that kept their lease. */
export async function noteAnswers(
  deps: RecoveryDeps,
  sent: readonly Attempt[],
  { stored }: ReadCertificate,
  { sendable, openFor }: Permission,
): Promise<void> {
  const { db, pauses } = deps
  const { id, application, channel } = stored
  const address = `${channel} ${stored.environment} ${stored.region ?? ''}`
  const evidence = evidenceOf(sent)
  const isProbe = openFor !== undefined && sendable.length > 0
  if (!evidence) {
    if (!isProbe) return
    // Without a call another batch may try at once; a vendor that asks to slow down gets a pause.
    const wasCalled = sent.some(({ targets }) => targets.length > 0)
    await retrying(() => postponeBreaker(db, id, wasCalled ? pauses.breaker.first : 0))
    return
  }
  if (evidence.kind === 'answer') {
    deps.silence.answered(id, address)
    if (evidence.trusted && stored.refusedAt !== undefined) await retrying(() => forgetRefusal(db, id))
    // It may have been opened while this request was on its way; if nothing is left to send, no probe would close it.
    const isOpen = openFor !== undefined || (await hasBreaker(deps, id))
    if (!isOpen || !(await retrying(() => closeBreaker(db, id)))) return
    deps.certificates.forget(application)
    deps.log.info({ certificateId: id, openFor }, 'the vendor answers again')
    return
  }
  deps.warnings.note(id, evidence.outcome.reason, tasksOf(sent))
  await deps.answers.flush()
  const count = () => retrying(() => countAnswers(db, id))
  const mustOpen = deps.silence.silent(id, address, await count())
  if (!isProbe) {
    if (!mustOpen) return
    // Other processes may have got answers that they have not written yet. After an answer to this process nothing would close the breaker.
    await (deps.wait ?? sleep)(ANSWERS_WRITTEN_MS * 1.5)
    if (deps.silence.wasAnswered(id, address, await count())) return
  }
  const { reason } = evidence.outcome
  const asked = Math.min(evidence.outcome.retryAfter ?? 0, MAX_ASKED_SECONDS)
  const opened = await retrying(() =>
    openBreaker(db, {
      certificateId: id,
      code: reason.code,
      text: clip(describeReason(reason)),
      pauses: Array.from({ length: 6 }, (_, failures) =>
        Math.max(asked, breakerPause(pauses, failures, Math.random())),
      ),
      claimedAt: Math.min(...sent.map(({ batch }) => batch.claimedAt)),
    }),
  )
  // Before the next question: an answer that comes after it finds the breaker.
  deps.certificates.forget(application)
  if (!opened) return
  if (deps.silence.wasAnswered(id, address, await count())) {
    await retrying(() => closeBreaker(db, id))
    deps.certificates.forget(application)
    return
  }
  deps.metrics?.breakerOpened(channel)
  // No warning: a vendor that is down opens the breakers of all its certificates.
  deps.log.info(
    { certificateId: id, reason },
    'the breaker is open; batches of the certificate wait for a probe',
  )
}

async function hasBreaker({ certificates }: RecoveryDeps, id: number): Promise<boolean> {
  const now = await certificates.byId(id)
  return 'breaker' in now && now.breaker !== undefined
}

const tasksOf = (attempts: readonly Attempt[]) => attempts.map(({ batch }) => batch.taskId)
