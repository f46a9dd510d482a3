import { randomBytes } from 'node:crypto'
import type { Lane } from '@herald/domain'
import type { JobType } from 'bullmq'
import { addJob, type Backend, type BullQueue, type NewJob, type QueueCounts } from './backend.ts'
import { answerWithin } from './errors.ts'
import { createJobWriter } from './job-writer.ts'
import type { QueueLog } from './log.ts'
import type { QueueName } from './names.ts'
import { encodePushJob, type PushJob } from './push-job.ts'
import { createQueueHandles } from './queue-handles.ts'
import { parseQueueUrl } from './queue-url.ts'
import { type PushHandler, type QueueWorker, startWorker, type WorkOptions } from './queue-worker.ts'

export type AddOptions = {
  /** In a queue of both lanes, that of a gateway: jobs of the normal lane run after all of the high lane (default high). */
  lane?: Lane
  /** When Postgres released the batches, in milliseconds by its clock (default: now, by the clock of this process). */
  releasedAt?: number
}

/** One per process: it owns the connections that all queues and workers share. */
export type PushQueues = {
  kind: Backend['kind']
  /** Resolves when the job is stored. Throws QueueUnavailable within the limit; the job may still be stored later. */
  add(queue: QueueName, job: PushJob, options?: AddOptions): Promise<void>
  work(queue: QueueName, options: WorkOptions, handler: PushHandler): QueueWorker
  /** Number of waiting jobs. */
  depth(queue: QueueName): Promise<number>
  /** Number of waiting jobs that run before a new one of the high lane. */
  ahead(queue: QueueName): Promise<number>
  /** `releasedAt` of the job that waits longest; undefined if none waits. */
  oldestWaiting(queue: QueueName): Promise<number | undefined>
  counts(queue: QueueName): Promise<QueueCounts>
  /** Throws QueueUnavailable when the server does not answer within the limit. */
  ping(): Promise<void>
  /** Removes a queue with its jobs, for a gateway node that is gone. Its batches are in Postgres. */
  remove(queue: QueueName): Promise<void>
  /** Closes this process's handle of a queue; its jobs stay. */
  forget(queue: QueueName): Promise<void>
  /** BullMQ's own objects; only for the dashboard. */
  bullQueues(queues: readonly QueueName[]): BullQueue[]
  /** Drains the running workers, then disconnects. */
  close(): Promise<void>
}

export async function openQueues(options: {
  url: string
  log: QueueLog
  /** Maximum time a caller waits for the server. */
  limitMs?: number
}): Promise<PushQueues> {
  const { url, log, limitMs = 2_000 } = options
  const address = parseQueueUrl(url)
  // BullMQ is some hundred modules: programs and specs that open no queue do not load it.
  const backend =
    address.kind === 'redis'
      ? await (await import('./redis-backend.ts')).openRedis(address, log, limitMs)
      : await (await import('./postgres-backend.ts')).openPostgres(address.url, log, limitMs)
  const handles = createQueueHandles({
    open: openHandle,
    close: ({ queue }) => void queue.close().catch(() => {}),
  })
  const workers = new Set<QueueWorker>()
  const closingWorkers = new Set<Promise<void>>()
  const nextId = createIds()
  let closing: Promise<void> | undefined

  function openHandle(name: string) {
    const queue = backend.openQueue(name)
    const { add } = backend
    if (add) return { queue, add: (job: NewJob) => add(queue, job) }
    const store = (jobs: NewJob[]) => (jobs.length === 1 ? addJob(queue, jobs[0]!) : queue.addBulk(jobs))
    return { queue, add: createJobWriter<NewJob>({ label: `the queue ${name}`, limitMs, store }) }
  }

  const ask = <T>(name: QueueName, question: (queue: BullQueue) => Promise<T>) =>
    answerWithin(limitMs, `the queue ${name}`, question(handles.get(name).queue))

  async function counts(name: QueueName, isApproximate = false): Promise<QueueCounts> {
    const { counts: count } = backend
    if (count) return ask(name, (queue) => count(queue, isApproximate))
    const [found, paused] = await ask(name, (queue) =>
      Promise.all([queue.getJobCounts(...countedStates), queue.isPaused()]),
    )
    return {
      waiting: (found.wait ?? 0) + (found.paused ?? 0) + (found.prioritized ?? 0),
      active: found.active ?? 0,
      completed: found.completed ?? 0,
      failed: found.failed ?? 0,
      paused,
    }
  }

  async function close(): Promise<void> {
    await Promise.all([...workers].map((worker) => worker.drain()))
    await Promise.all(handles.takeAll().map(({ queue }) => queue.close().catch(() => {})))
    await backend.close()
    await answerWithin(5_000, 'the queue', Promise.all(closingWorkers)).catch(() => {})
  }

  return {
    kind: backend.kind,
    add: async (name, job, { lane = 'high', releasedAt } = {}) =>
      handles.get(name).add({
        name: 'push',
        data: encodePushJob(job),
        opts: {
          jobId: nextId(),
          attempts: 1,
          stackTraceLimit: 0,
          // BullMQ stores whole milliseconds.
          ...(releasedAt !== undefined && { timestamp: Math.floor(releasedAt) }),
          ...(lane === 'normal' && { priority: 1 }),
        },
      }),
    work: (name, workOptions, handler) => {
      const worker: QueueWorker = startWorker({
        backend,
        queue: handles.pin(name).queue,
        waiting: async () => {
          const { waiting, paused } = await counts(name, true)
          return paused ? 0 : waiting
        },
        log,
        options: workOptions,
        handler,
        onDrained: (closingWorker) => {
          workers.delete(worker)
          handles.unpin(name)
          closingWorkers.add(closingWorker)
          void closingWorker.finally(() => closingWorkers.delete(closingWorker))
        },
      })
      workers.add(worker)
      return worker
    },
    depth: async (name) => (await counts(name)).waiting,
    ahead: (name) => ask(name, (queue) => backend.ahead?.(queue) ?? queue.getWaitingCount()),
    oldestWaiting: (name) => ask(name, (queue) => backend.oldestWaiting(queue)),
    counts: (name) => counts(name),
    ping: async () => {
      await answerWithin(limitMs, 'the queue', backend.ping())
    },
    remove: async (name) => {
      await ask(name, (queue) => queue.obliterate({ force: true }))
      await handles.take(name)?.queue.close()
    },
    forget: async (name) => {
      await handles
        .take(name)
        ?.queue.close()
        .catch(() => {})
    },
    bullQueues: (names) => names.map((name) => handles.pin(name).queue),
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

// On Postgres the waiting jobs of a paused queue have a state that is missing in BullMQ's types.
const countedStates = ['wait', 'paused', 'prioritized', 'active', 'completed', 'failed'] as JobType[]

/**
 * Ids are unique across processes and restarts: BullMQ silently ignores a job whose id exists, and its own counter starts
 * from 1 after FLUSHALL while older jobs may still be running.
 */
function createIds(): () => string {
  const process = randomBytes(9).toString('base64url')
  let count = 0
  return () => {
    count += 1
    return `j${process}-${count.toString(36)}`
  }
}
