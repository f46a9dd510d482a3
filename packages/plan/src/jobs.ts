import type { ReleasedBatch } from '@herald/db/ledger'
import { batchSize, type Channel, type Lane } from '@herald/domain'
import { nativeQueue, type PushQueues, pushQueue, type QueueName } from '@herald/queue'

/** Small batches are claimed and settled together, but a job must stay short. */
const BATCHES_PER_JOB = 64
/**
 * Up to this much of a certificate shares a job with other certificates: the single pushes of 64 applications then cost one claim
 * and one settle. More of it has jobs of its own, so that others do not wait for the calls of one application.
 */
const LITTLE = { batches: 8, recipients: 64 }

type Job = {
  queue: QueueName
  lane: Lane
  /** Empty for native batches. */
  certificateIds: string[]
  batches: { taskId: number; id: number }[]
  /** Instead of batches. */
  bundle?: number
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
 * Groups released batches into jobs: each has one channel (or node), one lane and at most 1000 recipients. Certificates with little
 * share jobs if `mayShare`. A batch whose last lease ended without a settle is alone in its job: if it was the cause, for example
 * because its task cannot be read, it would stop its neighbours again.
 */
export function jobsOf(released: readonly ReleasedBatch[], mayShare = true): Job[] {
  const open = new Map<string, Job>()
  const jobs: Job[] = released.flatMap(bundleJob)
  for (const group of byCertificate(released.filter(({ certificateIds }) => !certificateIds))) {
    const shared = mayShare && isLittle(group)
    for (const batch of group) {
      const { lane, certificateId, lost, size } = batch
      const queue = queueOf(batch)
      const key = `${queue}|${lane}|${shared ? '' : certificateId}`
      let job = lost > 0 ? undefined : open.get(key)
      if (!job || job.size + size > batchSize || job.batches.length >= BATCHES_PER_JOB) {
        job = { queue, lane, certificateIds: [], batches: [], size: 0, releasedAt: batch.releasedAt }
        if (lost === 0) open.set(key, job)
        jobs.push(job)
      }
      const certificate = certificateId?.toString()
      // The batches of a certificate follow each other.
      if (certificate !== undefined && job.certificateIds.at(-1) !== certificate)
        job.certificateIds.push(certificate)
      job.batches.push({ taskId: batch.taskId, id: batch.id })
      job.size += size
      job.releasedAt = Math.min(job.releasedAt, batch.releasedAt)
    }
  }
  return jobs
}

/** A bundle is a job of its own. */
function bundleJob(released: ReleasedBatch): Job[] {
  const { certificateIds, taskId, lane, size, releasedAt } = released
  if (!certificateIds) return []
  const queue = queueOf(released)
  return [
    {
      queue,
      lane,
      certificateIds: certificateIds.map(String),
      batches: [],
      bundle: taskId,
      size,
      releasedAt,
    },
  ]
}

function byCertificate(released: readonly ReleasedBatch[]): Iterable<ReleasedBatch[]> {
  const groups = new Map<string, ReleasedBatch[]>()
  for (const batch of released) {
    const key = `${queueOf(batch)}|${batch.certificateId}|${batch.lane}`
    const group = groups.get(key)
    if (group) group.push(batch)
    else groups.set(key, [batch])
  }
  return groups.values()
}

/** Whether these batches of one certificate may share a job with those of others. */
export function isLittle(batches: readonly ReleasedBatch[]): boolean {
  return (
    batches.length <= LITTLE.batches && batches.reduce((sum, { size }) => sum + size, 0) <= LITTLE.recipients
  )
}

/**
 * Adds the jobs of released batches. If the queue is down nothing is lost: the batches stay released in Postgres, and the
 * planner enqueues them again.
 */
export async function enqueue(
  queues: PushQueues,
  released: readonly ReleasedBatch[],
  onFailure: (error: unknown, tasks: number[]) => void,
  mayShare = true,
): Promise<void> {
  await Promise.all(
    jobsOf(released, mayShare).map(({ queue, lane, certificateIds, batches, bundle, releasedAt }) =>
      queues
        // The queue of a vendor channel has one lane and needs no priorities.
        .add(
          queue,
          { certificateIds, batches, bundle },
          { lane: certificateIds.length === 0 ? lane : 'high', releasedAt },
        )
        .catch((error) =>
          onFailure(
            error,
            bundle === undefined ? [...new Set(batches.map(({ taskId }) => taskId))] : [bundle],
          ),
        ),
    ),
  )
}
