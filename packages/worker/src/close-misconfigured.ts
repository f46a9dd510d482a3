import { closeCertificate } from '@herald/db/certificates'
import { type Database, retrying } from '@herald/db/store'
import { clip, describeReason } from '@herald/domain'
import type { Attempt } from './attempt.ts'

/** Closes a certificate that the vendor refuses, before its recipients are routed again: they would be sent back to it. */
export async function closeMisconfigured(
  deps: { db: Database; log: { error(fields: object, message: string): void } },
  attempts: Attempt[],
  version: number | undefined,
): Promise<void> {
  const certificateId = attempts[0]!.batch.certificateId
  for (const { results, batch } of attempts) {
    for (const result of results.values()) {
      if (result.kind !== 'misconfigured' || certificateId === null) continue
      const reason = clip(describeReason(result.reason))
      // Does nothing if the certificate was changed since: the refusal is about the older version.
      const closed = await retrying(() => closeCertificate(deps.db, certificateId, reason, version))
      if (!closed) return
      deps.log.error(
        { certificateId, task: batch.taskId, reason },
        'the vendor refused the certificate; its channel is disabled',
      )
      return
    }
  }
}
