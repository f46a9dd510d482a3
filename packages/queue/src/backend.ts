import { sleep } from '@herald/async'
import type { IQueueBackend, JobsOptions, Processor, Queue, Worker } from 'bullmq'

export type BullQueue = Queue<unknown, void, string, unknown, void, string, IQueueBackend, unknown>
export type BullWorker = Worker<unknown, void, string, IQueueBackend, never, unknown>

export type QueueCounts = {
  waiting: number
  active: number
  completed: number
  failed: number
  paused: boolean
}

export type NewJob = { name: string; data: unknown; opts: JobsOptions & { jobId: string } }

/** The part that differs between Redis and Postgres. */
export type Backend = {
  kind: 'redis' | 'postgres'
  /** Does not wait for the server; an unreachable one fails the later calls, within the caller's limit. */
  openQueue(name: string): BullQueue
  /** Stores a job together with those of other queues. Unset: the jobs of each queue are stored by themselves. */
  add?(queue: BullQueue, job: NewJob): Promise<void>
  /** Counts that may be a second old if `isApproximate`. Unset: BullMQ counts. */
  counts?(queue: BullQueue, isApproximate?: boolean): Promise<QueueCounts>
  /** Waiting jobs of the high lane; may be a little old. Unset: BullMQ counts. */
  ahead?(queue: BullQueue): Promise<number>
  /** The timestamp of the job that waits longest; undefined if none waits. */
  oldestWaiting(queue: BullQueue): Promise<number | undefined>
  openWorker(name: string, options: { concurrency: number }, process: Processor): BullWorker
  /** Rejects when the server does not answer. */
  ping(): Promise<unknown>
  close(): Promise<void>
}

export function addJob(queue: BullQueue, { name, data, opts }: NewJob): Promise<unknown> {
  return queue.add(name, data, opts)
}

/** Connections for queries of a queue in Postgres; the workers of a process share one more for LISTEN. */
export const queryConnections = 4

/** Finished jobs kept for the dashboard, per queue and per kind (completed, failed). */
export const maxFinished = 300

/** Herald does not read BullMQ's event stream, which cannot be disabled. */
export const maxEvents = 100

export const workerTimes = {
  lockDuration: 30_000,
  stalledInterval: 30_000,
  maxStalledCount: 1,
  runRetryDelay: 1_000,
}

/**
 * BullMQ fetches again at once after the server refused (full disk, out of memory, starting up), which would keep a core
 * busy until it recovers.
 */
export function slowDownOnError<B extends IQueueBackend>(backend: B): B {
  const fetch = backend.moveToActive.bind(backend)
  backend.moveToActive = async (...args) => {
    try {
      return await fetch(...args)
    } catch (error) {
      await sleep(500)
      throw error
    }
  }
  return backend
}
