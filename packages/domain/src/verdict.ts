import type { Outcome } from './outcome.ts'
import type { Reason } from './reason-codes.ts'

/** Seconds of throttling or outage after which a recipient moves to its next channel. */
export const PATIENCE_SECONDS = 300

/** What happens to one recipient after an attempt. Whether it has another channel is not known yet. */
export type Verdict =
  /**
   * Moves to another channel. Without one it retries here after `waitIfNone` seconds, or fails if that is unset. Infinity: it waits
   * until its certificate can be used again.
   */
  | { do: 'nextChannel'; reason: Reason; waitIfNone?: number }
  /** Retries on this channel after `wait` seconds. */
  | { do: 'retry'; wait: number }

export type Trouble = {
  /** Seconds since the first throttled or unavailable result in a row; 0 for the first one. */
  troubledFor: number
  /** Seconds since the breaker of the certificate was opened; undefined if it is not open. */
  breakerOpenFor?: number
  /** Number of attempts with an outcome that has `maxTries`, since the trouble began and before this one. */
  unknownCodes: number
  /** Unix ms. */
  now: number
  /** Random number in 0..1 that spreads retries. */
  jitter: number
}

/** Decides what each kind of outcome leads to. */
export function judge(outcome: Exclude<Outcome, { kind: 'accepted' }>, trouble: Trouble): Verdict {
  switch (outcome.kind) {
    case 'gone':
    case 'rejected':
    case 'unsupported':
      return { do: 'nextChannel', reason: outcome.reason }
    case 'throttled':
    case 'unavailable': {
      if (outcome.kind === 'unavailable' && isLastTry(outcome, trouble))
        return { do: 'nextChannel', reason: outcome.reason }
      const wait = Math.max(outcome.retryAfter ?? backoff(trouble), minWait(outcome, trouble))
      const { troubledFor, breakerOpenFor = 0 } = trouble
      // A wait longer than the rest of PATIENCE_SECONDS counts as the end of it.
      if (Math.max(troubledFor, breakerOpenFor) + (outcome.retryAfter ?? 0) < PATIENCE_SECONDS)
        return { do: 'retry', wait }
      // Probes are sent while the breaker is open, and its end wakes the batch: retries of its own would only cost statements.
      const waitIfNone = breakerOpenFor >= PATIENCE_SECONDS ? Infinity : wait
      return { do: 'nextChannel', reason: outcome.reason, waitIfNone }
    }
    case 'quota':
      return {
        do: 'nextChannel',
        reason: outcome.reason,
        waitIfNone: Math.max(1, (outcome.until - trouble.now) / 1000),
      }
    case 'misconfigured':
      // The certificate is closed by now; opening it again wakes the batch.
      return { do: 'nextChannel', reason: outcome.reason, waitIfNone: Infinity }
  }
}

function isLastTry(
  { maxTries = Infinity, maxSeconds = Infinity }: { maxTries?: number; maxSeconds?: number },
  { unknownCodes, troubledFor }: Trouble,
): boolean {
  return unknownCodes + 1 >= maxTries || troubledFor >= maxSeconds
}

/** Seconds between the few attempts of an unknown code: within two seconds they would all meet the same short fault. */
const UNKNOWN_CODE_WAIT = 20

/** With jitter, otherwise a whole broadcast would be retried at the same moment. */
function minWait(outcome: { minWait?: number; maxTries?: number }, { jitter }: Trouble): number {
  const { minWait = outcome.maxTries === undefined ? 0 : UNKNOWN_CODE_WAIT } = outcome
  return minWait * (1 + jitter / 2)
}

/** As long as the trouble has lasted, which doubles it each time: 1 s to 60 s, half of it jitter. */
function backoff({ troubledFor, jitter }: Trouble): number {
  return Math.min(60, Math.max(1, troubledFor)) * (0.5 + jitter / 2)
}
