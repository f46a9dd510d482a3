/**
 * What one attempt did for one recipient. A transport reports exactly one outcome a recipient, as a value; an exception
 * from a transport means "unknown" and is read as `unavailable`.
 */
export type Outcome =
  | { kind: 'accepted' }
  /** The vendor says the token is dead; `since` (Unix ms) when it knows since when. */
  | { kind: 'gone'; reason: string; since?: number }
  | { kind: 'rejected'; reason: string }
  | { kind: 'unsupported'; reason: string }
  /** Told to slow down; `retryAfter` in seconds when the vendor names it. */
  | { kind: 'throttled'; reason: string; retryAfter?: number }
  | { kind: 'unavailable'; reason: string; retryAfter?: number }
  /** The day's quota is used up or the hours are closed, until `until` (Unix ms). */
  | { kind: 'quota'; reason: string; until: number }
  | { kind: 'misconfigured'; reason: string }

export type OutcomeKind = Outcome['kind']

export const accepted: Outcome = { kind: 'accepted' }
