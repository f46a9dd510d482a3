import { sleep } from './sleep.ts'

export type RetryOptions = {
  /** Returns whether the error may pass; another one is thrown at once. */
  isTransient(error: unknown): boolean
  /** Time after which the last error is thrown; unlimited by default. */
  forMs?: number
  /** Pause before the first repetition (default 20 ms). It doubles up to `maxMs` (default 1 s), with a jitter of 50 %. */
  firstMs?: number
  maxMs?: number
  /** Ends the repetitions; the last error is thrown. */
  signal?: AbortSignal
  onRetry?(error: unknown): void
}

/** Repeats `work` while it fails with a transient error. `attempt` counts from 0. */
export async function retryWithBackoff<T>(
  work: (attempt: number) => Promise<T>,
  options: RetryOptions,
): Promise<T> {
  const { firstMs = 20, maxMs = 1000, forMs = Number.POSITIVE_INFINITY, signal } = options
  const until = performance.now() + forMs
  for (let attempt = 0; ; attempt++) {
    try {
      return await work(attempt)
    } catch (error) {
      if (!options.isTransient(error) || performance.now() > until || signal?.aborted) throw error
      options.onRetry?.(error)
      await sleep(Math.min(maxMs, firstMs * 2 ** attempt) * (0.5 + Math.random()), signal)
    }
  }
}
