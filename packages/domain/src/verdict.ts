import type { Outcome } from './outcome.ts'

/** Seconds a channel may be in trouble before the next one gets its turn. */
export const patience = 300

/** What the runner does with one recipient after an attempt, before it knows whether another channel is left. */
export type Verdict =
  /** Done. */
  | { do: 'sent' }
  /** Another channel now; without one the same again after `elseWait` seconds, or the recipient has failed. */
  | { do: 'next'; reason: string; elseWait?: number }
  /** The same channel again after `wait` seconds. */
  | { do: 'again'; wait: number }

export type Trouble = {
  /** Seconds since the first answer of the present trouble; 0 at the first. */
  troubledFor: number
  /** Unix ms. */
  now: number
  /** 0..1, spreads retries. */
  jitter: number
}

/** The outcome table of the pipeline. */
export function judge(outcome: Outcome, trouble: Trouble): Verdict {
  switch (outcome.kind) {
    case 'accepted':
      return { do: 'sent' }
    case 'gone':
    case 'rejected':
    case 'unsupported':
      return { do: 'next', reason: outcome.reason }
    case 'throttled':
    case 'unavailable': {
      const wait = outcome.retryAfter ?? Math.max(leastWait(outcome, trouble), backoff(trouble))
      // A vendor that asks for more than is left of patience has had its turn already.
      return trouble.troubledFor + (outcome.retryAfter ?? 0) >= patience
        ? { do: 'next', reason: outcome.reason, elseWait: wait }
        : { do: 'again', wait }
    }
    case 'quota':
      return {
        do: 'next',
        reason: outcome.reason,
        elseWait: Math.max(1, (outcome.until - trouble.now) / 1000),
      }
    case 'misconfigured':
      // The certificate is closed by now: waiting costs nothing, the feeder holds the batch until it is mended.
      return { do: 'next', reason: outcome.reason, elseWait: 0 }
  }
}

/** Spread like the backoff: a whole broadcast comes back at once otherwise. */
function leastWait(outcome: Outcome, { jitter }: Trouble): number {
  return outcome.kind === 'unavailable' ? (outcome.atLeast ?? 0) * (1 + jitter / 2) : 0
}

/** As long as the trouble lasts already, hence doubling, from 1 s to 60 s; half of it jitter. */
function backoff({ troubledFor, jitter }: Trouble): number {
  return Math.min(60, Math.max(1, troubledFor)) * (0.5 + jitter / 2)
}
