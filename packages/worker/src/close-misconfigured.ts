import { closeCertificate } from '@herald/db/certificates'
import { type Database, retrying } from '@herald/db/store'
import { clip } from '@herald/domain'
import type { Attempt } from './attempt.ts'

/** A credential the vendor refuses is closed before anybody is routed anew, so that nobody is sent back to it. */
export async function closeMisconfigured(
  deps: { db: Database; log: { error(fields: object, message: string): void } },
  attempts: Attempt[],
  version: number | undefined,
): Promise<void> {
  const certificateId = attempts[0]!.batch.certificateId
  for (const { answers, batch } of attempts) {
    for (const answer of answers.values()) {
      if (answer.kind !== 'misconfigured' || certificateId === null) continue
      const reason = clip(answer.reason)
      // Not if it was mended meanwhile: this answer is about the credential of before.
      const closed = await retrying(() => closeCertificate(deps.db, certificateId, reason, version))
      if (!closed) return
      deps.log.error(
        { certificateId, task: batch.taskId, reason },
        'the vendor refuses the certificate: its channel is closed',
      )
      return
    }
  }
}
