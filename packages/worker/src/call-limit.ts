/** The end of one call: of its time, of the lease, or of the process, whichever comes first. */
export type CallLimit = { signal: AbortSignal; release(): void }

/** Without `release` the timer and the listeners outlive the call. Cheaper by far than AbortSignal.any and .timeout. */
export function limitCall(timeoutMs: number, others: readonly (AbortSignal | undefined)[]): CallLimit {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(new Error('no answer within the time limit')), timeoutMs)
  const stop = () => controller.abort(others.find((other) => other?.aborted)?.reason)
  for (const other of others) other?.addEventListener('abort', stop, { once: true })
  if (others.some((other) => other?.aborted)) stop()
  return {
    signal: controller.signal,
    release() {
      clearTimeout(timer)
      for (const other of others) other?.removeEventListener('abort', stop)
    },
  }
}
