import { eachConcurrently } from '@herald/async'
import type { CheckResult } from '@herald/channels'
import { postponeProbe, reopenCertificate, takeProbes } from '@herald/db/certificates'
import type { Database } from '@herald/db/store'
import { endIdleBreakers } from '@herald/db/tasks'
import { clip, probePause, type RecoveryPauses, type VendorChannel } from '@herald/domain'
import type { CertificateCache, ReadCertificate } from '@herald/plan'

/** Checks at a time; a vendor that hangs takes 20 s for each. */
const PARALLEL_CHECKS = 16

export type ProbeDeps = {
  db: Database
  certificates: CertificateCache
  pauses: RecoveryPauses
  check(certificate: ReadCertificate): Promise<CheckResult>
  onReopened(certificateId: number, channel: VendorChannel): void
  onStillClosed(certificateId: number, problem: string): void
}

/**
 * Checks the closed certificates that are due, and opens those again that the vendor accepts. The batches that wait are not
 * released for a check that fails. Then ends breakers that no probe would end. Returns whether there may be more to do.
 */
export async function probeRound(deps: ProbeDeps): Promise<boolean> {
  const due = await takeProbes(deps.db, PARALLEL_CHECKS)
  await eachConcurrently(due, PARALLEL_CHECKS, ({ id, probes }) => probe(deps, id, probes))
  await endIdleBreakers(deps.db)
  return due.length === PARALLEL_CHECKS
}

async function probe(deps: ProbeDeps, id: number, probes: number): Promise<void> {
  const certificate = await deps.certificates.byId(id)
  const result: CheckResult =
    'problem' in certificate
      ? { ok: false, problem: certificate.problem.text, temporary: true }
      : await deps.check(certificate)
  if (result.ok && 'stored' in certificate) {
    const { application, channel, version } = certificate.stored
    if (!(await reopenCertificate(deps.db, id, { onlyClosed: true, version }))) return
    deps.certificates.forget(application)
    deps.onReopened(id, channel)
  } else if (!result.ok) {
    const error = result.temporary ? undefined : clip(result.problem)
    await postponeProbe(deps.db, id, probePause(deps.pauses, probes + 1), error)
    deps.onStillClosed(id, result.problem)
  }
}
