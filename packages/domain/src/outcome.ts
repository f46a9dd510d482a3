import type { Reason } from './reason-codes.ts'

/**
 * The result of one attempt for one recipient, as reported by a transport: exactly one per recipient. An exception from a
 * transport means that the result is unknown and is treated as `unavailable`.
 */
export type Outcome =
  | { kind: 'accepted' }
  /** The vendor says that the token is dead; `since` (Unix ms) if it says since when. */
  | { kind: 'gone'; reason: Reason; since?: number }
  | ({ kind: 'rejected'; reason: Reason } & MaybeHeld)
  | { kind: 'unsupported'; reason: Reason }
  /** The vendor asks to slow down. */
  | ({ kind: 'throttled'; reason: Reason } & Pause)
  /**
   * `maxTries`: attempts in a row after which the recipient is rejected, for codes that no table contains. `maxSeconds`: it is rejected when
   * the trouble has lasted this long, for answers that only an operator can change.
   */
  | ({ kind: 'unavailable'; reason: Reason; maxTries?: number; maxSeconds?: number } & Pause)
  /** The daily quota is used up or it is outside the allowed hours, until `until` (Unix ms). */
  | ({ kind: 'quota'; reason: Reason; until: number } & MaybeHeld)
  /** The vendor says that it refuses every request with these credentials. Closes the certificate if a check confirms it. */
  | { kind: 'misconfigured'; reason: Reason }

type MaybeHeld = {
  /** The vendor was not called: it gave this answer before, and a hold stores it. */
  held?: true
}

type Pause = {
  /** Seconds that the vendor asks for. */
  retryAfter?: number
  /** Shortest pause in seconds that the vendor's documents ask for. */
  minWait?: number
}

export type OutcomeKind = Outcome['kind']

export const accepted: Outcome = { kind: 'accepted' }

/** Whether the vendor did not process the request, so that others would get the same outcome. */
export function isSilence({ maxTries, maxSeconds }: Extract<Outcome, { kind: 'unavailable' }>): boolean {
  return maxTries === undefined && maxSeconds === undefined
}
