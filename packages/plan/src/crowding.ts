import type { PushQueues, QueueName } from '@herald/queue'

/** Jobs ahead from which on small pushes take their turn with everybody else's: some seconds of one worker. */
const CROWDED = 500
const LOOK_EVERY_MS = 250
/** Queues of gateway nodes come and go; their names must not pile up. */
const MOST_QUEUES = 1000

/**
 * Whether a queue is long. A small push goes to its queue at once, past the feeder and its windows, which is right while nobody
 * waits: but ten thousand of them from one tenant would stand before the single push of another, and before every broadcast.
 * Asked for without waiting; a queue that does not answer is not crowded.
 */
export function createCrowding(queues: Pick<PushQueues, 'ahead'>): (queue: QueueName) => boolean {
  const looks = new Map<QueueName, { crowded: boolean; at: number }>()
  return (queue) => {
    const now = performance.now()
    const last = looks.get(queue)
    if (last && now - last.at < LOOK_EVERY_MS) return last.crowded
    if (looks.size >= MOST_QUEUES) looks.clear()
    const look = { crowded: last?.crowded ?? false, at: now }
    looks.set(queue, look)
    queues.ahead(queue).then(
      (jobs) => {
        look.crowded = jobs >= CROWDED
      },
      () => {
        look.crowded = false
      },
    )
    return look.crowded
  }
}
