import { isSilence, type Outcome } from '@herald/domain'
import type { Attempt } from './attempt.ts'

/** Jobs in a row without an answer after which the breaker of a certificate opens. */
const MAX_SILENT = 3
/** As many jobs without an answer, of whatever certificate of an address: the address is down, and one failure opens the breaker. */
const MAX_SILENT_OF_ADDRESS = 5
/** Certificates that stop sending after a failure must not accumulate. */
const MAX_CERTIFICATES = 10_000

/**
 * What the calls of a job tell about the vendor. `answer`: it processed a request, whatever it decided. `silence`: all its calls
 * failed. Undefined if no call was made, or if it only asked to slow down. An unknown code is an answer.
 */
export type Evidence =
  | { kind: 'answer' /** It took a message, or knows a token. */; trusted: boolean }
  | { kind: 'silence'; outcome: Extract<Outcome, { kind: 'unavailable' }> }

export function evidenceOf(attempts: readonly Attempt[]): Evidence | undefined {
  let silence: Extract<Outcome, { kind: 'unavailable' }> | undefined
  let answered = false
  let slowed = false
  for (const { targets, results } of attempts) {
    for (const { index } of targets) {
      const result = results[index]
      if (!result) continue
      switch (result.kind) {
        case 'accepted':
        case 'gone':
          return { kind: 'answer', trusted: true }
        case 'rejected':
        case 'quota':
          answered ||= !result.held
          break
        case 'unavailable':
          if (!isSilence(result)) answered = true
          else if (!silence || (result.retryAfter ?? 0) > (silence.retryAfter ?? 0)) silence = result
          break
        case 'throttled':
          slowed = true
      }
    }
  }
  if (answered) return { kind: 'answer', trusted: false }
  return silence && !slowed ? { kind: 'silence', outcome: silence } : undefined
}

/** Counts jobs in a row without an answer, in this process, by certificate and by address of the vendor. */
export type SilenceCounter = {
  answered(certificateId: number, address: string): void
  /**
   * Returns whether the breaker of the certificate is to be opened. `answers` is the number of answers that all processes got with
   * the certificate: if it rises, the vendor answers others, and this process has lost its network. Its failures must not stop them.
   */
  silent(certificateId: number, address: string, answers: number): boolean
  /** Returns whether there was an answer since the last silent job: to this process, or to others, which raises `answers`. Counting then begins again. */
  wasAnswered(certificateId: number, address: string, answers: number): boolean
}

export function createSilenceCounter(): SilenceCounter {
  const certificates = new Map<number, { jobs: number; answers: number }>()
  const addresses = new Map<string, number>()
  function wasAnswered(certificateId: number, address: string, answers: number): boolean {
    const before = certificates.get(certificateId)
    if (before === undefined) return true
    if (answers <= before.answers) return false
    certificates.set(certificateId, { jobs: 0, answers })
    addresses.delete(address)
    return true
  }
  return {
    wasAnswered,
    answered(certificateId, address) {
      certificates.delete(certificateId)
      addresses.delete(address)
    },
    silent(certificateId, address, answers) {
      wasAnswered(certificateId, address, answers)
      const jobs = (certificates.get(certificateId)?.jobs ?? 0) + 1
      const ofAddress = addresses.get(address) ?? 0
      if (certificates.size >= MAX_CERTIFICATES) certificates.clear()
      certificates.set(certificateId, { jobs, answers })
      addresses.set(address, ofAddress + 1)
      return jobs >= MAX_SILENT || ofAddress >= MAX_SILENT_OF_ADDRESS
    },
  }
}
