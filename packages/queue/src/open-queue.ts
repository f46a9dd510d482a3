import { randomBytes } from 'node:crypto'
import type { Lane } from '@herald/domain'
import type { JobType } from 'bullmq'
import type { Backend, BullQueue } from './backend.ts'
import { createGatherer, type Gatherer } from './gatherer.ts'
import type { QueueLog } from './log.ts'
import type { QueueName } from './names.ts'
import { openPostgres } from './postgres-backend.ts'
import { encodePushJob, type PushJob } from './push-job.ts'
import { parseQueueUrl } from './queue-url.ts'
import { type PushHandler, type QueueWorker, startWorker, type WorkOptions } from './queue-worker.ts'
import { openRedis } from './redis-backend.ts'
import { within } from './within.ts'

export type QueueCounts = {
  waiting: number
  active: number
  completed: number
  failed: number
  paused: boolean
}

/** One handle per process: it owns the connections that all queues and workers share. */
export type PushQueues = {
  kind: Backend['kind']
  /** Stored when it resolves. Rejects with QueueUnavailable within the limit; the job may then still turn up. */
  add(queue: QueueName, job: PushJob, options?: { lane?: Lane }): Promise<void>
  work(queue: QueueName, options: WorkOptions, handler: PushHandler): QueueWorker
  /** Jobs that wait to be taken. */
  depth(queue: QueueName): Promise<number>
  /** Jobs of the high lane that wait: what a new one stands behind. */
  ahead(queue: QueueName): Promise<number>
  counts(queue: QueueName): Promise<QueueCounts>
  /** Rejects when the server does not answer within the limit. */
  ping(): Promise<void>
  /** Removes a queue with everything in it, for a gateway node that is gone. Its batches are in Postgres. */
  remove(queue: QueueName): Promise<void>
  /** Lets go of a queue that is of no more interest here; what is in it stays. */
  forget(queue: QueueName): Promise<void>
  /** BullMQ's own objects, for the dashboard alone. */
  bullQueues(queues: readonly QueueName[]): BullQueue[]
  /** Drains the workers that still run, then lets go of the server. */
  close(): Promise<void>
}

export async function openQueues(options: {
  url: string
  log: QueueLog
  /** How long a caller waits at most for an answer of the server. */
  limitMs?: number
}): Promise<PushQueues> {
  const { url, log, limitMs = 2_000 } = options
  const address = parseQueueUrl(url)
  const backend = await (address.kind === 'redis'
    ? openRedis(address, log, limitMs)
    : openPostgres(address.url, log))
  const opened = new Map<QueueName, { queue: BullQueue; gatherer: Gatherer<StoredJob> }>()
  const workers = new Set<QueueWorker>()
  const closingWorkers = new Set<Promise<void>>()
  const nextId = idMaker()
  let closing: Promise<void> | undefined

  function open(name: QueueName) {
    let entry = opened.get(name)
    if (!entry) {
      const queue = backend.openQueue(name)
      const store = (jobs: StoredJob[]) =>
        jobs[0] && jobs.length === 1 ? addOne(queue, jobs[0]) : queue.addBulk(jobs)
      const gatherer = createGatherer({
        label: `the queue ${name}`,
        limitMs,
        groupSize: 500,
        groupsWaiting: 40,
        store,
      })
      entry = { queue, gatherer }
      opened.set(name, entry)
    }
    return entry
  }

  const ask = <T>(name: QueueName, question: (queue: BullQueue) => Promise<T>) =>
    within(limitMs, `the queue ${name}`, question(open(name).queue))

  async function counts(name: QueueName): Promise<QueueCounts> {
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
    await Promise.all([...opened.values()].map(({ queue }) => queue.close().catch(() => {})))
    await backend.close()
    await within(5_000, 'the queue', Promise.all(closingWorkers)).catch(() => {})
  }

  return {
    kind: backend.kind,
    add: async (name, job, { lane = 'high' } = {}) =>
      open(name).gatherer.add({
        name: 'push',
        data: encodePushJob(job),
        opts: { jobId: nextId(), attempts: 1, stackTraceLimit: 0, ...(lane === 'normal' && { priority: 1 }) },
      }),
    work: (name, workOptions, handler) => {
      const worker: QueueWorker = startWorker({
        backend,
        queue: open(name).queue,
        waiting: async () => {
          const { waiting, paused } = await counts(name)
          return paused ? 0 : waiting
        },
        log,
        options: workOptions,
        handler,
        onDrained: (closingWorker) => {
          workers.delete(worker)
          closingWorkers.add(closingWorker)
          void closingWorker.finally(() => closingWorkers.delete(closingWorker))
        },
      })
      workers.add(worker)
      return worker
    },
    depth: async (name) => (await counts(name)).waiting,
    ahead: (name) => ask(name, (queue) => queue.getWaitingCount()),
    counts,
    ping: async () => {
      await within(limitMs, 'the queue', backend.ping())
    },
    remove: async (name) => {
      await ask(name, (queue) => queue.obliterate({ force: true }))
      await opened.get(name)?.queue.close()
      opened.delete(name)
    },
    forget: async (name) => {
      const entry = opened.get(name)
      opened.delete(name)
      await entry?.queue.close().catch(() => {})
    },
    bullQueues: (names) => names.map((name) => open(name).queue),
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

// On Postgres the jobs that wait in a paused queue are counted under a state that BullMQ's types no longer name.
const countedStates = ['wait', 'paused', 'prioritized', 'active', 'completed', 'failed'] as JobType[]

type StoredJob = {
  name: string
  data: unknown
  opts: { jobId: string; attempts: 1; stackTraceLimit: 0; priority?: number }
}

/** On Postgres a bulk add builds temporary tables, which one job alone need not pay for. */
function addOne(queue: BullQueue, { name, data, opts }: StoredJob) {
  return queue.add(name, data, opts)
}

/**
 * Ids that no other process and no later run makes again: an add under the id of a kept job vanishes without an error,
 * and BullMQ's own counter starts from 1 after FLUSHALL, while jobs of the old count may still be running.
 */
function idMaker(): () => string {
  const process = randomBytes(9).toString('base64url')
  let count = 0
  return () => {
    count += 1
    return `j${process}-${count.toString(36)}`
  }
}
