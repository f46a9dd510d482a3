import { type Outcome, vendorReason } from '@herald/domain'

/**
 * A stub token is `<anything>:<step>[,<step>…]`: the first attempt gets the first step, the last step repeats. Steps are the
 * outcome kinds plus `hang` (no response) and `lost` (accepted, but the response is lost).
 */
export type Step = Outcome['kind'] | 'hang' | 'lost'

export function stepOf(token: string, attempt: number): Step {
  const steps = token.slice(token.lastIndexOf(':') + 1).split(',')
  return steps[Math.min(attempt, steps.length) - 1] as Step
}

/** Returns the outcome that the channel reports for a step. */
export function outcomeOf(step: Step, now: number): Outcome {
  const reason = vendorReason('stub', step, `stub says ${step}`)
  switch (step) {
    case 'accepted':
      return { kind: 'accepted' }
    case 'throttled':
    case 'unavailable':
      return { kind: step, reason, retryAfter: 0.05 }
    case 'quota':
      return { kind: 'quota', reason, until: now + 3_600_000 }
    case 'gone':
    case 'rejected':
    case 'unsupported':
    case 'misconfigured':
      return { kind: step, reason }
    default:
      return { kind: 'rejected', reason }
  }
}
