import { retryWithBackoff } from '@herald/async'

/** Repeats a write to Postgres until it succeeds or `signal` aborts. Errors are reported and never thrown. */
export async function writeUntil(
  signal: AbortSignal,
  write: () => Promise<void>,
  onError: (error: unknown) => void,
): Promise<void> {
  const attempt = () => {
    signal.throwIfAborted()
    return write()
  }
  const options = { isTransient: () => true, firstMs: 500, maxMs: 500, signal, onRetry: onError }
  await retryWithBackoff(attempt, options).catch(() => {})
}
