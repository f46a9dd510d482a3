import { TransportFailure } from './http.ts'

/**
 * Aborts `controller` when `signal` fires; returns a function that ends this. AbortSignal.any does the same with weak references
 * and a finalizer, which took a tenth of the time of a worker that sends to one device at a time.
 */
export function abortWith(controller: AbortController, signal: AbortSignal): () => void {
  const stop = () => controller.abort(signal.reason)
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  return () => signal.removeEventListener('abort', stop)
}

/** Settles like `promise`, or rejects when `signal` fires; the work behind `promise` continues. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new TransportFailure('aborted', 'the send was stopped'))
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
