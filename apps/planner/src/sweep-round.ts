import {
  alignPausedBatches,
  cancelAccepted,
  channelsWithUnclaimed,
  finishTasks,
  reclaimExpiredLeases,
  settleEnded,
  takeUnclaimed,
} from '@herald/db/tasks'
import type { Channel } from '@herald/domain'
import { enqueue } from '@herald/plan'
import { pushQueue } from '@herald/queue'
import type { FeedDeps } from './feed-round.ts'

/** A released batch that was not claimed for this long is enqueued again if its queue is empty: the queue lost its jobs. */
const LOST_QUEUE_SECONDS = 3
/** After this time it is enqueued again even if the queue is not empty: its job was lost. */
const LOST_JOB_SECONDS = 60
const MAX_BATCHES = 1000
const LONG_QUEUE_JOBS = 5000

export type SweepDeps = FeedDeps & {
  /** Whether workers have had time to write their results after an outage of Postgres. */
  isSteady(): boolean
  /** Counts recipients by their fate. */
  onEnded(channel: Channel, fate: 'expired' | 'cancelled', recipients: number): void
}

/**
 * Handles expired leases, lost jobs, paused, expired and cancelled batches, and finished tasks. Returns whether there may be
 * more to do.
 */
export async function sweepRound(deps: SweepDeps): Promise<boolean> {
  const { db } = deps
  const counts = [
    deps.isSteady() ? await reclaimExpiredLeases(db) : 0,
    await alignPausedBatches(db),
    await endBatches(deps),
    await cancelAccepted(db),
    await finishTasks(db),
  ]
  for (const channel of await channelsWithUnclaimed(db, LOST_QUEUE_SECONDS))
    counts.push(await enqueueAgain(deps, channel))
  return counts.some((count) => count >= 200)
}

async function endBatches(deps: SweepDeps): Promise<number> {
  const ended = await settleEnded(deps.db)
  for (const { channel, fate, recipients } of ended) deps.onEnded(channel, fate, recipients)
  return ended.reduce((sum, { batches }) => sum + batches, 0)
}

async function enqueueAgain(deps: FeedDeps, channel: Channel): Promise<number> {
  // Each gateway has its own queue; its lost jobs are found by their age only.
  const waiting =
    channel === 'native' ? 0 : await deps.queues.depth(pushQueue(channel)).catch(() => undefined)
  // The workers are behind, so batches are unclaimed without being lost; more jobs would only lengthen the queue.
  if (waiting === undefined || waiting > LONG_QUEUE_JOBS) return 0
  const lost = await takeUnclaimed(
    deps.db,
    channel,
    waiting === 0 ? LOST_QUEUE_SECONDS : LOST_JOB_SECONDS,
    MAX_BATCHES,
  )
  await enqueue(deps.queues, lost, deps.onQueueFailure)
  return lost.length
}
