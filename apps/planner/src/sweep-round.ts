import {
  alignPausedBatches,
  type ChannelLane,
  cancelAccepted,
  type EndedBatches,
  endLateBundles,
  endLostBundles,
  failLost,
  finishTasks,
  lanesWithUnclaimed,
  MAX_ENDED,
  reclaimExpiredLeases,
  settleEnded,
  takeUnclaimed,
  takeUnclaimedBundles,
} from '@herald/db/tasks'
import type { Channel } from '@herald/domain'
import { enqueue } from '@herald/plan'
import type { OnLoopError } from '@herald/program'
import { pushQueue } from '@herald/queue'
import type { FeedDeps } from './feed-round.ts'
import { runSteps } from './run-steps.ts'
import { type SteadyDeps, steadyTime } from './steadiness.ts'

/** A released batch that was not claimed for this long is enqueued again if its queue is empty: the queue lost its jobs. */
const LOST_QUEUE_SECONDS = 3
/**
 * A released batch is enqueued again when the job that waits longest was released this much later: the jobs of a queue are taken
 * in order, so that of the batch was lost. Processes add jobs a little out of order, and a worker takes a few in advance.
 */
const LOST_JOB_SECONDS = 8
const MAX_BATCHES = 1000

export type SweepDeps = FeedDeps &
  SteadyDeps & {
    /** Counts recipients by their fate. */
    onEnded(channel: Channel, fate: EndedBatches['fate'], recipients: number): void
    onLoopError: OnLoopError
  }

/**
 * Handles expired leases, lost jobs, paused, expired and cancelled batches, and finished tasks. Returns whether there may be
 * more to do.
 */
export async function sweepRound(deps: SweepDeps): Promise<boolean> {
  const { db } = deps
  const steps = [
    () => reclaim(deps),
    () => alignPausedBatches(db),
    () => endLateBundles(db),
    async () => report(deps, await settleEnded(db)),
    () => cancelAccepted(db),
    () => finishTasks(db),
    () => enqueueLost(deps),
  ]
  const counts = await runSteps(steps, 'sweep', deps.onLoopError)
  // As many as the smallest step takes at a time.
  return counts.some((count) => count >= MAX_ENDED)
}

async function reclaim(deps: SweepDeps): Promise<number> {
  const time = await steadyTime(deps)
  if (time === undefined) return 0
  const lost = await endLostBundles(deps.db, time)
  return lost + (await reclaimExpiredLeases(deps.db, time)) + report(deps, await failLost(deps.db, time))
}

function report(deps: SweepDeps, ended: EndedBatches[]): number {
  for (const { channel, fate, recipients } of ended) deps.onEnded(channel, fate, recipients)
  return ended.reduce((sum, { batches }) => sum + batches, 0)
}

/** Returns the largest number of one lane. */
async function enqueueLost(deps: FeedDeps): Promise<number> {
  let most = 0
  for (const released of await lanesWithUnclaimed(deps.db, LOST_QUEUE_SECONDS))
    most = Math.max(most, await enqueueAgain(deps, released))
  return most
}

async function enqueueAgain(deps: FeedDeps, released: ChannelLane & { now: number }): Promise<number> {
  const before = await releasedBefore(deps, released).catch(() => undefined)
  // The queue does not answer: it cannot store a job either.
  if (before === undefined) return 0
  const lost = await takeUnclaimed(deps.db, released, before, MAX_BATCHES)
  // One certificate per job: during an upgrade, a worker of the previous release may have refused a job of several.
  await enqueue(deps.queues, lost, deps.onQueueFailure, false)
  const bundles = await takeUnclaimedBundles(deps.db, released, before, MAX_BATCHES)
  await enqueue(deps.queues, bundles, deps.onQueueFailure)
  return lost.length + bundles.length
}

/** Unclaimed batches released before this time have lost their job. */
async function releasedBefore(
  { queues }: FeedDeps,
  { channel, lane, now }: ChannelLane & { now: number },
): Promise<number> {
  const whenEmpty = now - LOST_QUEUE_SECONDS * 1000
  // Each gateway has its own queue; its lost jobs are found by their age only.
  if (channel === 'native') return whenEmpty
  const oldest = await queues.oldestWaiting(pushQueue(channel, lane))
  return oldest === undefined ? whenEmpty : Math.min(whenEmpty, oldest - LOST_JOB_SECONDS * 1000)
}
