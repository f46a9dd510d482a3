import type { Outcome } from './outcome.ts'
import type { Reason } from './reason-codes.ts'

/** Seconds of throttling or outage after which a recipient moves to its next channel. */
export const PATIENCE_SECONDS = 300

/** What happens to one recipient after an attempt. Whether it has another channel is not known yet. */
export type Verdict =
  | { do: 'sent' }
  /** Moves to another channel. Without one it retries here after `waitIfNone` seconds, or fails if that is unset. */
  | { do: 'nextChannel'; reason: Reason; waitIfNone?: number }
  /** Retries on this channel after `wait` seconds. */
  | { do: 'retry'; wait: number }

export type Trouble = {
  /** Seconds since the first throttled or unavailable result in a row; 0 for the first one. */
  troubledFor: number
  /** Unix ms. */
  now: number
  /** Random number in 0..1 that spreads retries. */
  jitter: number
}

/** Decides what each kind of outcome leads to. */
export function judge(outcome: Outcome, trouble: Trouble): Verdict {
  switch (outcome.kind) {
    case 'accepted':
      return { do: 'sent' }
    case 'gone':
    case 'rejected':
    case 'unsupported':
      return { do: 'nextChannel', reason: outcome.reason }
    case 'throttled':
    case 'unavailable': {
      const wait = outcome.retryAfter ?? Math.max(minWait(outcome, trouble), backoff(trouble))
      // A vendor that asks for a longer wait than is left of the patience has used it up.
      return trouble.troubledFor + (outcome.retryAfter ?? 0) >= PATIENCE_SECONDS
        ? { do: 'nextChannel', reason: outcome.reason, waitIfNone: wait }
        : { do: 'retry', wait }
    }
    case 'quota':
      return {
        do: 'nextChannel',
        reason: outcome.reason,
        waitIfNone: Math.max(1, (outcome.until - trouble.now) / 1000),
      }
    case 'misconfigured':
      // The certificate is closed by now and the feeder releases no batch of it, so a wait of 0 does not cause retries.
      return { do: 'nextChannel', reason: outcome.reason, waitIfNone: 0 }
  }
}

/** With jitter, otherwise a whole broadcast would be retried at the same moment. */
function minWait(outcome: Outcome, { jitter }: Trouble): number {
  return outcome.kind === 'unavailable' ? (outcome.minWait ?? 0) * (1 + jitter / 2) : 0
}

/** As long as the trouble has lasted, which doubles it each time: 1 s to 60 s, half of it jitter. */
function backoff({ troubledFor, jitter }: Trouble): number {
  return Math.min(60, Math.max(1, troubledFor)) * (0.5 + jitter / 2)
}
