import type { Job } from 'bullmq'
import { type Backend, type BullQueue, maxFinished } from './backend.ts'
import { answerWithin, reasonOf } from './errors.ts'
import { type QueueLog, throttleLog } from './log.ts'
import { decodePushJob, type PushJob } from './push-job.ts'
import { watch } from './watchdog.ts'

/** Runs once per job, or twice when a lock was lost: claiming the batches makes the second run harmless. */
export type PushHandler = (job: PushJob) => Promise<void>

export type WorkOptions = {
  concurrency: number
  /** The worker took nothing for `deadAfterMs` while jobs waited and will not recover: exit, or start another worker. */
  onDead: (reason: string) => void
  deadAfterMs?: number
}

export type QueueWorker = {
  /** Number of jobs being handled. */
  inFlight(): number
  /** Takes no new job, waits for those in flight, then closes. Also ends while the server is down. */
  drain(): Promise<void>
}

const removeEveryMs = 5_000
const closeWithinMs = 3_000

export function startWorker(deps: {
  backend: Backend
  queue: BullQueue
  waiting: () => Promise<number>
  log: QueueLog
  options: WorkOptions
  handler: PushHandler
  /** `closing` ends later than the drain when the server is down. */
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
    removal.taken()
    const handled = run(job)
    inFlight.add(handled)
    try {
      await handled
    } finally {
      inFlight.delete(handled)
    }
  }

  async function run(job: Job): Promise<void> {
    let contents: { tasks?: number[]; bundle?: number } = {}
    try {
      const push = decodePushJob(job.data)
      contents =
        push.bundle === undefined
          ? { tasks: [...new Set(push.batches.map(({ taskId }) => taskId))] }
          : { bundle: push.bundle }
      await handler(push)
    } catch (error) {
      log.error({ err: error, queue: name, job: job.id, ...contents }, 'a job failed')
      // Stored in the queue and shown in the dashboard: no stack.
      throw new Error(reasonOf(error).slice(0, 300))
    }
  }

  const removal = backend.kind === 'postgres' ? removeOldAfterWork(queue, log) : noRemoval
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

  async function drain(): Promise<void> {
    stopWatching()
    removal.stop()
    let closed = false
    const closing = worker.close().catch(() => {})
    void closing.then(() => {
      closed = true
    })
    // A job that was being fetched is still handled. BullMQ closes only after the server confirmed the last job, which one
    // that is down never does: hence the limit.
    do {
      await Promise.allSettled(inFlight)
      await answerWithin(closeWithinMs, `the worker of ${name}`, closing).catch(() => {})
    } while (!closed && inFlight.size > 0)
    onDrained(closing)
  }

  function startDrain(): Promise<void> {
    draining ??= drain()
    return draining
  }

  return { inFlight: () => inFlight.size, drain: startDrain }
}

type Removal = { taken(): void; stop(): void }
const noRemoval: Removal = { taken() {}, stop() {} }

/** Removes a while after a job was taken, so that nothing runs while no jobs arrive. */
function removeOldAfterWork(queue: BullQueue, log: QueueLog): Removal {
  const warn = throttleLog(log.warn.bind(log), 60_000)
  /** Set while a removal is scheduled or runs. */
  let timer: NodeJS.Timeout | undefined
  let again = false
  let stopped = false

  function schedule(): void {
    if (!stopped) timer ??= setTimeout(remove, removeEveryMs)
  }

  async function remove(): Promise<void> {
    again = false
    try {
      await removeOldFinished(queue)
    } catch (error) {
      again = true
      warn({ queue: queue.name, reason: reasonOf(error) }, 'old finished jobs could not be removed')
    }
    timer = undefined
    if (again) schedule()
  }

  return {
    taken() {
      again = true
      schedule()
    },
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/**
 * BullMQ's own limit on finished jobs makes workers that finish at the same time delete the same rows, and deadlock. So
 * workers keep all finished jobs, and this function removes the oldest.
 */
async function removeOldFinished(queue: BullQueue): Promise<void> {
  const counts = await queue.getJobCounts('completed', 'failed')
  for (const kind of ['completed', 'failed'] as const) {
    const excess = (counts[kind] ?? 0) - maxFinished
    if (excess > 0) await queue.clean(0, excess, kind)
  }
}
