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
  /** `atLeast`: seconds before which the vendor does not want to be asked again, though it named no time. */
  | { kind: 'unavailable'; reason: string; retryAfter?: number; atLeast?: number }
  /** The day's quota is used up or the hours are closed, until `until` (Unix ms). */
  | { kind: 'quota'; reason: string; until: number }
  | { kind: 'misconfigured'; reason: string }

export type OutcomeKind = Outcome['kind']

export const accepted: Outcome = { kind: 'accepted' }
