import type { IQueueBackend, Processor, Queue, Worker } from 'bullmq'

export type BullQueue = Queue<unknown, void, string, unknown, void, string, IQueueBackend, unknown>
export type BullWorker = Worker<unknown, void, string, IQueueBackend, never, unknown>

/** What differs between Redis and Postgres. Everything above it is the same code. */
export type Backend = {
  kind: 'redis' | 'postgres'
  /** Never waits for the server: what cannot be asked fails later, within the caller's limit. */
  openQueue(name: string): BullQueue
  openWorker(name: string, options: { concurrency: number }, process: Processor): BullWorker
  /** Rejects when the server does not answer. */
  ping(): Promise<unknown>
  close(): Promise<void>
}

/** Finished jobs that stay for the dashboard, of each kind and queue. */
export const finishedKept = 300

/** No one reads BullMQ's event stream here; it cannot be switched off, so it is kept as short as it goes. */
export const eventsKept = 100

export const workerTimes = {
  lockDuration: 30_000,
  stalledInterval: 30_000,
  maxStalledCount: 1,
  runRetryDelay: 1_000,
}

/**
 * BullMQ asks again at once after a refused take (full disk, out of memory, starting up), which keeps a core busy
 * for as long as that lasts.
 */
export function slowDownOnError<B extends IQueueBackend>(backend: B): B {
  const take = backend.moveToActive.bind(backend)
  backend.moveToActive = async (...args) => {
    try {
      return await take(...args)
    } catch (error) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      throw error
    }
  }
  return backend
}
