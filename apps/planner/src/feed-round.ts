import { eachConcurrently } from '@herald/async'
import type { ReleasedBatch } from '@herald/db/ledger'
import type { Database } from '@herald/db/store'
import {
  dueCertificates,
  duePacedTasks,
  type Found,
  type MadeReady,
  makePacedReady,
  pacedTasks,
  readyCertificates,
  readyNodes,
  releaseBundles,
  releaseCertificates,
  releaseReady,
} from '@herald/db/tasks'
import { enqueue, isLittle } from '@herald/plan'
import type { PushQueues } from '@herald/queue'
import { certificateWindow, gatewayWindow, type Released } from './feed-window.ts'
import { knownIn, newTurn, step, type Turn } from './turn.ts'

export type FeedDeps = {
  db: Database
  queues: PushQueues
  onQueueFailure(error: unknown, tasks?: number[]): void
}

/** Concurrent releases: ten thousand certificates must not take all connections from the other rounds. */
const PARALLEL_RELEASES = 4
/**
 * Certificates of one statement: their batches share a commit and its flush to disk. Fewer if there are few, so that the batches of one
 * do not wait for those of another.
 */
const RELEASED_TOGETHER = 64
/** Batches that wait for those of other certificates: a few jobs per channel, so that the first do not wait for a long round. */
const ENQUEUED_TOGETHER = 256

/**
 * How often bundles that wait are looked at: a look reads all of them, and a worker needs longer for the window of one certificate. The
 * pause doubles while looks find nothing to release, because no worker takes what is in flight.
 */
export const BUNDLES_MS = 100
const MAX_BUNDLES_MS = 500

/** How often all certificates with ready batches are walked, also if few batches are due: nothing may wait forever. */
const WALK_MS = 300_000

/** Which certificates and tasks with a speed limit the next round looks at, and what the last round found. */
export type FeedTurns = {
  certificates: Turn
  tasks: Turn
  walkedAt: number
  /** Number of batches with a speed limit that became ready in the last round, for the next one to release. */
  newlyReady: number
  madeReady: MadeReady
  bundles: { lookedAt: number; pauseMs: number; more: boolean; certificates: number }
}

export const newFeedTurns = (): FeedTurns => ({
  certificates: newTurn(),
  tasks: newTurn(),
  walkedAt: Number.NEGATIVE_INFINITY,
  newlyReady: 0,
  madeReady: new Map(),
  bundles: { lookedAt: Number.NEGATIVE_INFINITY, pauseMs: BUNDLES_MS, more: false, certificates: 0 },
})

/**
 * Releases up to a window from the next certificates with ready batches, so that no tenant can starve another; then bundles that wait, up
 * to a window of each certificate. Then makes ready what the speed limit of each task allows, for the next round: that takes a commit per
 * task, for which what is ready already must not wait.
 */
export async function feedRound(deps: FeedDeps, turns: FeedTurns = newFeedTurns()): Promise<Released> {
  const { db } = deps
  const look = dueOrNext(db, turns)
  const released = await releaseNext(deps, turns, look)
  turns.newlyReady = 0
  const paced = await step(turns.tasks, look(duePacedTasks, pacedTasks))
  await eachConcurrently(paced, PARALLEL_RELEASES, async (taskId) => {
    const batches = await makePacedReady(db, taskId, turns.madeReady)
    turns.newlyReady += batches
  })
  return released
}

async function releaseNext(deps: FeedDeps, turns: FeedTurns, look: Looks): Promise<Released> {
  const { db } = deps
  const certificates = await step(turns.certificates, look(dueCertificates, readyCertificates))
  const nodes = await readyNodes(db)
  const busy = knownIn(turns.certificates) + nodes.length + turns.bundles.certificates
  const together = Math.min(RELEASED_TOGETHER, Math.ceil(certificates.length / PARALLEL_RELEASES))
  const releases = [
    ...chunksOf(certificates, together).map(
      (ids) => () => releaseCertificates(db, ids, certificateWindow(busy)),
    ),
    ...nodes.map((node) => () => releaseReady(db, { node }, gatewayWindow(busy))),
    () => releaseWaiting(db, busy, turns.bundles),
  ]
  const released = { batches: 0, recipients: 0 }
  // What little certificates have is enqueued together, so that they share jobs.
  let little: ReleasedBatch[] = []
  const add = (batches: readonly ReleasedBatch[]) => enqueue(deps.queues, batches, deps.onQueueFailure)
  try {
    await eachConcurrently(releases, PARALLEL_RELEASES, async (release) => {
      const batches = await release()
      released.batches += batches.length
      for (const { size } of batches) released.recipients += size
      // A bundle is a job of its own already.
      const much = batches.filter(({ certificateIds }) => certificateIds)
      const others = batches.filter(({ certificateIds }) => !certificateIds)
      for (const some of Map.groupBy(others, ({ certificateId }) => certificateId).values())
        (isLittle(some) ? little : much).push(...some)
      if (much.length > 0) await add(much)
      if (little.length < ENQUEUED_TOGETHER) return
      const enough = little
      little = []
      await add(enough)
    })
  } finally {
    // Also after an error: they are released, and only the sweep would enqueue them.
    await add(little)
  }
  return released
}

type Look = (db: Database) => Promise<number[] | undefined>
type Walk = (db: Database, after: number) => Promise<Found<number>>
type Looks = (due: Look, walk: Walk) => (after: number) => Promise<Found<number>>

/** Looks at what is due. Walks instead if that is much, if it is time to, and until a walk has ended. */
function dueOrNext(db: Database, turns: FeedTurns): Looks {
  const now = performance.now()
  const walks = now - turns.walkedAt >= WALK_MS
  if (walks) turns.walkedAt = now
  return (due, walk) => async (after) => {
    const found = walks || after > 0 ? undefined : await due(db)
    return found ? { found, next: undefined } : walk(db, after)
  }
}

async function releaseWaiting(
  db: Database,
  busy: number,
  bundles: FeedTurns['bundles'],
): Promise<ReleasedBatch[]> {
  const now = performance.now()
  if (now - bundles.lookedAt < bundles.pauseMs) return []
  bundles.lookedAt = now
  const { released, more, certificates } = await releaseBundles(db, certificateWindow(busy))
  bundles.more = more
  bundles.certificates = certificates
  bundles.pauseMs = more && released.length === 0 ? Math.min(bundles.pauseMs * 2, MAX_BUNDLES_MS) : BUNDLES_MS
  return released
}

function chunksOf<Item>(items: readonly Item[], size: number): Item[][] {
  const chunks: Item[][] = []
  for (let at = 0; at < items.length; at += size) chunks.push(items.slice(at, at + size))
  return chunks
}
