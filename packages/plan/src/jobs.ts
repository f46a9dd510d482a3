import type { ReleasedBatch } from '@herald/db/ledger'
import { batchSize, type Channel, type Lane } from '@herald/domain'
import { nativeQueue, type PushQueues, pushQueue, type QueueName } from '@herald/queue'

/** Small batches are claimed and settled together, but a job must stay short. */
const BATCHES_PER_JOB = 64

type Job = {
  queue: QueueName
  lane: Lane
  certificateId: string | null
  batches: { taskId: number; id: number }[]
  size: number
  /** Of its batch that was released first. */
  releasedAt: number
}

/** Vendor channels have a queue per lane; a gateway has one for both, and its jobs have priorities. */
export function queueOf(batch: { channel: Channel; node?: string | null; lane: Lane }): QueueName {
  const { channel, node, lane } = batch
  return channel === 'native' ? nativeQueue(node ?? '') : pushQueue(channel, lane)
}

/**
 * Groups released batches into jobs: each has one certificate (or node), one lane and at most 1000 recipients. A batch whose last
 * lease ended without a settle is alone in its job: if it was the cause, for example because its task cannot be read, it would
 * stop its neighbours again.
 */
export function jobsOf(released: readonly ReleasedBatch[]): Job[] {
  const open = new Map<string, Job>()
  const jobs: Job[] = []
  for (const batch of released) {
    const queue = queueOf(batch)
    const key = `${queue}|${batch.certificateId}|${batch.lane}`
    const isAlone = batch.lost > 0
    let job = isAlone ? undefined : open.get(key)
    if (!job || job.size + batch.size > batchSize || job.batches.length >= BATCHES_PER_JOB) {
      job = {
        queue,
        lane: batch.lane,
        certificateId: batch.certificateId?.toString() ?? null,
        batches: [],
        size: 0,
        releasedAt: batch.releasedAt,
      }
      if (!isAlone) open.set(key, job)
      jobs.push(job)
    }
    job.batches.push({ taskId: batch.taskId, id: batch.id })
    job.size += batch.size
    job.releasedAt = Math.min(job.releasedAt, batch.releasedAt)
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
    jobsOf(released).map(({ queue, lane, certificateId, batches, releasedAt }) =>
      queues
        // The queue of a vendor channel has one lane and needs no priorities.
        .add(queue, { certificateId, batches }, { lane: certificateId === null ? lane : 'high', releasedAt })
        .catch((error) => onFailure(error, [...new Set(batches.map(({ taskId }) => taskId))])),
    ),
  )
}
