import type { PushQueues, QueueName } from '@herald/queue'

/** Waiting jobs from which small pushes go through the feeder: about half a second of one worker, with one push per job. */
const BACKLOG_JOBS = 64
/** The same for an application with many pushes: its jobs have up to 64 pushes each. */
const BACKLOG_JOBS_OF_BUSY = 4
const READ_EVERY_MS = 100
/** Gateway nodes come and go; the names of their queues must not accumulate. */
const MAX_QUEUES = 1000

/**
 * Returns whether a queue is too long to add a small push to it directly. Such a push bypasses the feeder and its windows; with
 * thousands of them from one application the pushes of all others would wait. Uses the last known length without waiting; a queue
 * that does not answer counts as empty.
 */
export function createBacklogCheck(
  queues: Pick<PushQueues, 'ahead'>,
): (queue: QueueName, isBusy: boolean) => boolean {
  const readings = new Map<QueueName, { ahead: number; at: number }>()

  function aheadIn(queue: QueueName): number {
    const now = performance.now()
    const last = readings.get(queue)
    if (last && now - last.at < READ_EVERY_MS) return last.ahead
    if (readings.size >= MAX_QUEUES) readings.clear()
    const reading = { ahead: last?.ahead ?? 0, at: now }
    readings.set(queue, reading)
    queues.ahead(queue).then(
      (jobs) => {
        reading.ahead = jobs
      },
      () => {
        reading.ahead = 0
      },
    )
    return reading.ahead
  }

  return (queue, isBusy) => aheadIn(queue) >= (isBusy ? BACKLOG_JOBS_OF_BUSY : BACKLOG_JOBS)
}
