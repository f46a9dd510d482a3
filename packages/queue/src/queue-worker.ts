import type { Job } from 'bullmq'
import type { Backend, BullQueue } from './backend.ts'
import { reasonOf } from './errors.ts'
import { type QueueLog, seldom } from './log.ts'
import { removeOldFinished } from './postgres-backend.ts'
import { decodePushJob, type PushJob } from './push-job.ts'
import { watch } from './watchdog.ts'
import { within } from './within.ts'

/** Runs once for each job, twice where a lock was lost in between: claiming the batches is the caller's fence. */
export type PushHandler = (job: PushJob) => Promise<void>

export type WorkOptions = {
  concurrency: number
  /** The worker took nothing for `deadAfterMs` while jobs waited. It is beyond repair: end the process or start anew. */
  onDead: (reason: string) => void
  deadAfterMs?: number
}

export type QueueWorker = {
  /** Jobs being handled now. */
  inFlight(): number
  /** Takes nothing new, lets what is in flight end, then closes. Ends also while the server is away. */
  drain(): Promise<void>
}

const tidyEveryMs = 5_000
const closeWithinMs = 3_000

export function startWorker(deps: {
  backend: Backend
  queue: BullQueue
  waiting: () => Promise<number>
  log: QueueLog
  options: WorkOptions
  handler: PushHandler
  /** `closing` outlasts the drain of a worker whose server is away. */
  onDrained: (closing: Promise<void>) => void
}): QueueWorker {
  const { backend, queue, waiting, log, options, handler, onDrained } = deps
  const { concurrency, onDead, deadAfterMs = 60_000 } = options
  const name = queue.name
  const inFlight = new Set<Promise<void>>()
  let taken = 0
  let draining: Promise<void> | undefined

  async function handle(job: Job): Promise<void> {
    taken += 1
    const handled = run(job)
    inFlight.add(handled)
    try {
      await handled
    } finally {
      inFlight.delete(handled)
    }
  }

  async function run(job: Job): Promise<void> {
    let tasks: number[] = []
    try {
      const push = decodePushJob(job.data)
      tasks = [...new Set(push.batches.map(({ taskId }) => taskId))]
      await handler(push)
    } catch (error) {
      log.error({ err: error, queue: name, job: job.id, tasks }, 'a job failed')
      // The reason is shown in the dashboard and kept in the queue: a sentence, no stack.
      throw new Error(reasonOf(error).slice(0, 300))
    }
  }

  const worker = backend.openWorker(name, { concurrency }, handle)

  const stopWatching = watch({
    limitMs: deadAfterMs,
    state: () => ({ taken, free: inFlight.size < concurrency }),
    waiting,
    onDead: () => {
      const reason = `the worker of ${name} took nothing for ${deadAfterMs / 1000} s while jobs waited`
      log.error({ queue: name }, reason)
      onDead(reason)
    },
  })

  const stopTidying = backend.kind === 'postgres' ? tidyWhileWorking(queue, () => taken, log) : () => {}

  async function drain(): Promise<void> {
    stopWatching()
    stopTidying()
    let closed = false
    const closing = worker.close().catch(() => {})
    void closing.then(() => {
      closed = true
    })
    // A job that was on its way when this began is still handled. And BullMQ closes only after it told the server of
    // the last job, which a server that is away does not hear: so the end is not waited for forever.
    do {
      await Promise.allSettled(inFlight)
      await within(closeWithinMs, `the worker of ${name}`, closing).catch(() => {})
    } while (!closed && inFlight.size > 0)
    onDrained(closing)
  }

  function startDrain(): Promise<void> {
    draining ??= drain()
    return draining
  }

  return { inFlight: () => inFlight.size, drain: startDrain }
}

/** Costs nothing while no jobs come. */
function tidyWhileWorking(queue: BullQueue, taken: () => number, log: QueueLog): () => void {
  const complain = seldom(log.warn.bind(log), 60_000)
  let tidied = -1
  let tidying = false
  const timer = setInterval(async () => {
    if (tidying || tidied === taken()) return
    tidying = true
    const upTo = taken()
    try {
      await removeOldFinished(queue)
      tidied = upTo
    } catch (error) {
      complain({ queue: queue.name, reason: reasonOf(error) }, 'old finished jobs could not be removed')
    }
    tidying = false
  }, tidyEveryMs)
  return () => clearInterval(timer)
}
