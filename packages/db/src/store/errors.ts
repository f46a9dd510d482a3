import { retryWithBackoff } from '@herald/async'
import { isTransient } from '@herald/postgres'

export {
  codeOf,
  isConflict,
  isConnectionLost,
  isDataError,
  isInDoubt,
  isTransient,
  isUnreachable,
} from '@herald/postgres'

export type RetryOptions = { forMs?: number; signal?: AbortSignal }

/**
 * Repeats `work` after transient errors. Only for work that may be applied twice without harm: after a lost connection it is
 * unknown whether the commit happened.
 */
export function retrying<T>(work: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  return retryWithBackoff(work, { ...options, forMs: options.forMs ?? 10_000, isTransient })
}
