import type { PushQueues, QueueName } from '@herald/queue'

/** Waiting jobs from which small pushes go through the feeder: about half a second of one worker, with one push per job. */
const BACKLOG_JOBS = 64
/** The same for an application with many pushes: its jobs have up to 64 pushes each. */
const BACKLOG_JOBS_OF_BUSY = 4
/** From the end of a reading to the next one of the same queue. */
const PAUSE_MS = 100
/** Gateway nodes come and go; the names of their queues must not accumulate. */
const MAX_QUEUES = 1000

type Length = { ahead: number; nextAt: number }

/**
 * Returns whether a queue is too long to add a small push to it directly. Such a push bypasses the feeder and its windows; with
 * thousands of them from one application the pushes of all others would wait. Uses the last known length without waiting, which is 0
 * until the queue has answered. One reading of a queue is in progress at a time: a slow queue is the one whose length matters. A queue
 * that fails is too long: released without a job, the pushes of an outage would all be added at its end, before those of others.
 */
export function createBacklogCheck(
  queues: Pick<PushQueues, 'ahead'>,
): (queue: QueueName, isBusy: boolean) => boolean {
  const lengths = new Map<QueueName, Length>()

  function aheadIn(queue: QueueName): number {
    let length = lengths.get(queue)
    if (!length) {
      if (lengths.size >= MAX_QUEUES) lengths.clear()
      length = { ahead: 0, nextAt: 0 }
      lengths.set(queue, length)
    }
    if (performance.now() >= length.nextAt) void read(queue, length)
    return length.ahead
  }

  async function read(queue: QueueName, length: Length): Promise<void> {
    length.nextAt = Number.POSITIVE_INFINITY
    try {
      length.ahead = await queues.ahead(queue)
    } catch {
      length.ahead = Math.max(length.ahead, BACKLOG_JOBS)
    }
    length.nextAt = performance.now() + PAUSE_MS
  }

  return (queue, isBusy) => aheadIn(queue) >= (isBusy ? BACKLOG_JOBS_OF_BUSY : BACKLOG_JOBS)
}
