import type { Reason } from './reason-codes.ts'

/**
 * The result of one attempt for one recipient, as reported by a transport: exactly one per recipient. An exception from a
 * transport means that the result is unknown and is treated as `unavailable`.
 */
export type Outcome =
  | { kind: 'accepted' }
  /** The vendor says that the token is dead; `since` (Unix ms) if it says since when. */
  | { kind: 'gone'; reason: Reason; since?: number }
  | { kind: 'rejected'; reason: Reason }
  | { kind: 'unsupported'; reason: Reason }
  /** The vendor asks to slow down; `retryAfter` (seconds) if it says for how long. */
  | { kind: 'throttled'; reason: Reason; retryAfter?: number }
  /** `minWait`: shortest pause in seconds that the vendor's documents ask for when a reply has no retryAfter. */
  | { kind: 'unavailable'; reason: Reason; retryAfter?: number; minWait?: number }
  /** The daily quota is used up or it is outside the allowed hours, until `until` (Unix ms). */
  | { kind: 'quota'; reason: Reason; until: number }
  | { kind: 'misconfigured'; reason: Reason }

export type OutcomeKind = Outcome['kind']

export const accepted: Outcome = { kind: 'accepted' }
