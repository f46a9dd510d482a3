import { limitTime } from '@herald/async'

/** Aborts one call when its time, its lease or the process ends, whichever comes first. */
export type CallLimit = { signal: AbortSignal; release(): void }

/** `release` must be called after the call: it removes the timer and the listeners. Much cheaper than AbortSignal.any and .timeout. */
export function limitCall(timeoutMs: number, others: readonly (AbortSignal | undefined)[]): CallLimit {
  const controller = new AbortController()
  const endTimer = limitTime(timeoutMs, () => controller.abort(new Error('no answer within the time limit')))
  const stop = () => controller.abort(others.find((other) => other?.aborted)?.reason)
  for (const other of others) other?.addEventListener('abort', stop, { once: true })
  if (others.some((other) => other?.aborted)) stop()
  return {
    signal: controller.signal,
    release() {
      endTimer()
      for (const other of others) other?.removeEventListener('abort', stop)
    },
  }
}
