import type { Outcome } from '@herald/domain'

/**
 * A stub token is `<anything>:<step>[,<step>…]`: the first attempt gets the first step, the last step repeats. Steps are the
 * outcome kinds plus `hang` (no answer ever) and `lost` (accepted, but the answer is lost).
 */
export type Step = Outcome['kind'] | 'hang' | 'lost'

export function stepOf(token: string, attempt: number): Step {
  const steps = token.slice(token.lastIndexOf(':') + 1).split(',')
  return steps[Math.min(attempt, steps.length) - 1] as Step
}

/** What the vendor's word means for the runner. */
export function outcomeOf(step: Step, now: number): Outcome {
  switch (step) {
    case 'accepted':
      return { kind: 'accepted' }
    case 'throttled':
    case 'unavailable':
      return { kind: step, reason: `stub says ${step}`, retryAfter: 0.05 }
    case 'quota':
      return { kind: 'quota', reason: 'stub says quota', until: now + 3_600_000 }
    case 'gone':
    case 'rejected':
    case 'unsupported':
    case 'misconfigured':
      return { kind: step, reason: `stub says ${step}` }
    default:
      return { kind: 'rejected', reason: `stub does not know the step ${step}` }
  }
}
