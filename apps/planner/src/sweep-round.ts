import {
  alignPaused,
  channelsWithUnclaimed,
  closeCancelledAccepted,
  closeDone,
  finishTasks,
  freeDeadLeases,
  unclaimed,
} from '@herald/db/tasks'
import type { Channel } from '@herald/domain'
import { enqueue } from '@herald/plan'
import { pushQueue } from '@herald/queue'
import type { FeedDeps } from './feed-round.ts'

/** A released batch that nobody claimed for so long is named again if its queue is empty: the queue was lost. */
const LOST_SECONDS = 3
/** ... and after so long even if the queue is not empty: its job alone was lost. */
const STRAY_SECONDS = 60
const AT_ONCE = 1000
/** Jobs. */
const LONG_QUEUE = 5000

export type SweepDeps = FeedDeps & {
  /** Whether workers have had the time to write down what Postgres could not take while it was away. */
  isSteady(): boolean
  /** Recipients whose waiting is over, by what became of them. */
  onEnded(channel: Channel, fate: 'expired' | 'cancelled', recipients: number): void
}

/**
 * Puts right what waiting, dying and changing one's mind left behind: dead leases, lost jobs, paused, expired and cancelled
 * batches, finished tasks. Answers whether there may be more to do at once.
 */
export async function sweepRound(deps: SweepDeps): Promise<boolean> {
  const { db } = deps
  const counts = [
    deps.isSteady() ? await freeDeadLeases(db) : 0,
    await alignPaused(db),
    await closeBatches(deps),
    await closeCancelledAccepted(db),
    await finishTasks(db),
  ]
  for (const channel of await channelsWithUnclaimed(db, LOST_SECONDS))
    counts.push(await nameAgain(deps, channel))
  return counts.some((count) => count >= 200)
}

async function closeBatches(deps: SweepDeps): Promise<number> {
  const closed = await closeDone(deps.db)
  for (const { channel, fate, recipients } of closed) deps.onEnded(channel, fate, recipients)
  return closed.reduce((sum, { batches }) => sum + batches, 0)
}

async function nameAgain(deps: FeedDeps, channel: Channel): Promise<number> {
  // Gateways read their own queues; a job they lost with the queue is found by its age alone.
  const waiting =
    channel === 'native' ? 0 : await deps.queues.depth(pushQueue(channel)).catch(() => undefined)
  // Workers that are behind explain what nobody claimed; naming it again would grow the queue for as long as they are.
  if (waiting === undefined || waiting > LONG_QUEUE) return 0
  const lost = await unclaimed(deps.db, channel, waiting === 0 ? LOST_SECONDS : STRAY_SECONDS, AT_ONCE)
  await enqueue(deps.queues, lost, deps.onQueueFailure)
  return lost.length
}
