import type { PushQueues, QueueName } from '@herald/queue'

/** Waiting jobs of the high lane from which small pushes go through the feeder: some seconds of one worker. */
const BACKLOG_JOBS = 500
const READ_EVERY_MS = 250
/** Gateway nodes come and go; the names of their queues must not accumulate. */
const MAX_QUEUES = 1000

/**
 * Returns whether a queue is long. A small push normally bypasses the feeder and its windows; ten thousand of them from one
 * tenant would delay the pushes of all others. Returns the last known value without waiting; a queue that does not answer
 * counts as short.
 */
export function createBacklogCheck(queues: Pick<PushQueues, 'ahead'>): (queue: QueueName) => boolean {
  const readings = new Map<QueueName, { isLong: boolean; at: number }>()
  return (queue) => {
    const now = performance.now()
    const last = readings.get(queue)
    if (last && now - last.at < READ_EVERY_MS) return last.isLong
    if (readings.size >= MAX_QUEUES) readings.clear()
    const reading = { isLong: last?.isLong ?? false, at: now }
    readings.set(queue, reading)
    queues.ahead(queue).then(
      (jobs) => {
        reading.isLong = jobs >= BACKLOG_JOBS
      },
      () => {
        reading.isLong = false
      },
    )
    return reading.isLong
  }
}
