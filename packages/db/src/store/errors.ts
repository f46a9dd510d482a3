import { retryWithBackoff } from '@herald/async'
import { CommitInDoubt, isInDoubt, isTransient } from '@herald/postgres'

export {
  CommitInDoubt,
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
 * unknown whether the commit happened. If that is still unknown at the end, the error says so.
 */
export async function retrying<T>(work: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  let doubt: CommitInDoubt | undefined
  const onRetry = (error: unknown) => {
    if (error instanceof CommitInDoubt) doubt = error
  }
  try {
    return await retryWithBackoff(work, { ...options, forMs: options.forMs ?? 10_000, isTransient, onRetry })
  } catch (error) {
    throw doubt !== undefined && isTransient(error) ? doubt : error
  }
}

/** The same for a write of one statement outside of a transaction, which is unknown if its own reply is lost. */
export function retryingStatement<T>(work: () => Promise<T>, options?: RetryOptions): Promise<T> {
  return retrying(async () => {
    try {
      return await work()
    } catch (error) {
      throw isInDoubt(error) ? new CommitInDoubt(error as Error) : error
    }
  }, options)
}
