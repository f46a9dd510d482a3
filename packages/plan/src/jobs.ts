import type { ReleasedBatch } from '@herald/db/ledger'
import { batchSize, type Channel } from '@herald/domain'
import { nativeQueue, type PushQueues, pushQueue, type QueueName } from '@herald/queue'

/** Small batches are claimed and settled together, but a job must stay short. */
const BATCHES_PER_JOB = 200

type Job = {
  queue: QueueName
  lane: 'high' | 'normal'
  certificateId: string | null
  batches: { taskId: number; id: number }[]
  size: number
}

export function queueOf({ channel, node }: { channel: Channel; node?: string | null }): QueueName {
  return channel === 'native' ? nativeQueue(node ?? '') : pushQueue(channel)
}

/** Groups released batches into jobs: each has one certificate (or node), one lane and at most 1000 recipients. */
export function jobsOf(released: readonly ReleasedBatch[]): Job[] {
  const open = new Map<string, Job>()
  const jobs: Job[] = []
  for (const batch of released) {
    const queue = queueOf(batch)
    const key = `${queue}|${batch.certificateId}|${batch.lane}`
    let job = open.get(key)
    if (!job || job.size + batch.size > batchSize || job.batches.length >= BATCHES_PER_JOB) {
      job = {
        queue,
        lane: batch.lane,
        certificateId: batch.certificateId?.toString() ?? null,
        batches: [],
        size: 0,
      }
      open.set(key, job)
      jobs.push(job)
    }
    job.batches.push({ taskId: batch.taskId, id: batch.id })
    job.size += batch.size
  }
  return jobs
}

/**
 * Adds the jobs of released batches. If the queue is down nothing is lost: the batches stay released in Postgres, and the
 * planner enqueues them again.
 */
export async function enqueue(
  queues: PushQueues,
  released: readonly ReleasedBatch[],
  onFailure: (error: unknown, tasks: number[]) => void,
): Promise<void> {
  await Promise.all(
    jobsOf(released).map(({ queue, lane, certificateId, batches }) =>
      queues
        .add(queue, { certificateId, batches }, { lane })
        .catch((error) => onFailure(error, [...new Set(batches.map(({ taskId }) => taskId))])),
    ),
  )
}
