import { randomUUID } from 'node:crypto'
import { type Database, retrying } from '@herald/db/store'
import { type ClaimedBatch, claimBatches, claimBundles, type PlannedTask } from '@herald/db/tasks'
import type { Channel } from '@herald/domain'
import type { PushJob } from '@herald/queue'

export const LEASE_SECONDS = 30

export type ClaimedJob = {
  batches: ClaimedBatch[]
  /** The tasks of a bundle, by id; those of batches are read later. */
  tasks: ReadonlyMap<number, PlannedTask>
  /** `performance.now()` before the claim: the leases last at least LEASE_SECONDS from then. */
  requestedAt: number
  /** Seconds since the task began: by the database's clock up to the claim, by this host's clock from there. */
  secondsSince(task: PlannedTask, batch: ClaimedBatch): number
}

/** Claims the batches of a job that no other worker has. `process` is the name of this process. */
export async function claimJob(
  db: Database,
  job: PushJob,
  worker: { channel: Channel; process: string },
): Promise<ClaimedJob> {
  const lease = { seconds: LEASE_SECONDS, worker: `${worker.process} ${randomUUID()}` }
  const { bundle } = job
  const tasks = new Map<number, PlannedTask>()
  let requestedAt = 0
  const batches = await retrying(async () => {
    requestedAt = performance.now()
    if (bundle === undefined) return claimBatches(db.pool, { ...job, channel: worker.channel }, lease)
    const singles = await claimBundles(db.pool, worker.channel, [bundle], lease)
    for (const { task } of singles) tasks.set(task.taskId, task)
    return singles.map(({ batch }) => batch)
  })
  const claimed = performance.now()
  const secondsSince: ClaimedJob['secondsSince'] = ({ beginAt }, { claimedAt }) =>
    (claimedAt - beginAt + performance.now() - claimed) / 1000
  return { batches, tasks, requestedAt, secondsSince }
}
