import { randomUUID } from 'node:crypto'
import { type Acknowledgement, movedSince } from '@herald/db/native'
import { type Database, retrying } from '@herald/db/store'
import { type ClaimedBatch, claimBatches } from '@herald/db/tasks'
import { type Lane, letters } from '@herald/domain'
import type { PushJob } from '@herald/queue'
import type { KnownTask, TaskBook } from './task-book.ts'
import { createWrittenBatches, uncounted, type WrittenBatch } from './written-batches.ts'

export type Delivery = {
  /** Writes the batches of a job to the connections of this node; resolves when all is settled. */
  run(job: PushJob): Promise<void>
  /** True when the acknowledgement belongs to a batch that is not settled yet: the settle will count it. */
  takesAcknowledgement(taskId: number, deviceId: number): boolean
  /** The connection ended: no acknowledgement of these tasks will come over it. */
  expectsNoMore(deviceId: number, taskIds: Iterable<number>): void
}

export type DeliveryDeps = {
  db: Database
  tasks: TaskBook
  /** Name of this node, and whether it may write at present. */
  node(): string
  mayWrite(): boolean
  /** Hands a frame to the connection of a device; false when there is none that can take it. */
  write(deviceId: number, taskId: number, frame: Buffer): boolean
  /** Answers those that are known to be written down. */
  settle(group: readonly WrittenBatch[]): Promise<ReadonlySet<WrittenBatch>>
  /** An acknowledgement that its batch's settle could not count. */
  record(acknowledgement: Acknowledgement): void
  /** The first write of a batch is about to be made so long after its task was accepted. */
  onFirstCall(lane: Lane, seconds: number): void
}

const LEASE_SECONDS = 30
const TICK_MS = 10
/** Most batches of one settle. */
const TOGETHER = 50

/** Claims, writes, waits a little for acknowledgements, and has what became of it settled. */
export function createDelivery(deps: DeliveryDeps): Delivery {
  const written = createWrittenBatches()
  const waiting = new Map<WrittenBatch, () => void>()
  let tickAt: number | undefined

  async function run(job: PushJob): Promise<void> {
    // What is not claimed is named again, or given to others when this node is fenced.
    if (!deps.mayWrite()) return
    const lease = { seconds: LEASE_SECONDS, worker: `native@${deps.node()} ${randomUUID()}` }
    const batches = await retrying(() => claimBatches(deps.db.pool, job.batches, lease))
    if (batches.length === 0) return
    const claimed = performance.now()
    const [tasks, moved] = await Promise.all([
      deps.tasks.of(batches.map(({ taskId }) => taskId)),
      retrying(() =>
        movedSince(
          deps.db.pool,
          batches.flatMap(({ recipients }) => recipients),
          Math.min(...batches.map(({ plannedAt }) => plannedAt)),
        ),
      ),
    ])
    await Promise.all(
      batches.map((batch) => {
        const known = tasks.get(batch.taskId)!
        if (batch.attempts === 1) {
          const ms = batch.claimedAt - known.task.beginAt + performance.now() - claimed
          deps.onFirstCall(batch.lane, ms / 1000)
        }
        return deliver(batch, known, (deviceId) => (moved.get(deviceId) ?? 0) > batch.plannedAt)
      }),
    )
  }

  function deliver(
    batch: ClaimedBatch,
    { task, frame }: KnownTask,
    hasLeft: (deviceId: number) => boolean,
  ): Promise<void> {
    // Before the first write: an acknowledgement may come back at once.
    const entry = written.open(batch, task, performance.now())
    const mayWrite = deps.mayWrite()
    for (let index = 0; index < batch.status.length; index++) {
      if (batch.status[index] !== letters.pending) continue
      const deviceId = batch.recipients[index]!
      if (hasLeft(deviceId)) entry.answers.set(index, 'left')
      else if (mayWrite && deps.write(deviceId, batch.taskId, frame)) {
        entry.answers.set(index, 'written')
        entry.awaited.set(deviceId, index)
      } else entry.answers.set(index, 'unwritten')
    }
    schedule()
    return new Promise((resolve) => waiting.set(entry, resolve))
  }

  function schedule(): void {
    if (tickAt !== undefined) return
    tickAt = performance.now() + TICK_MS
    setTimeout(tick, TICK_MS)
  }

  function tick(): void {
    const now = performance.now()
    // After a busy stretch timers run before sockets are read, so that silence proves nothing yet.
    const due = written.takeDue(now, now - tickAt! > TICK_MS)
    tickAt = undefined
    for (let at = 0; at < due.length; at += TOGETHER) void settle(due.slice(at, at + TOGETHER))
    if (written.areWaiting()) schedule()
  }

  async function settle(group: readonly WrittenBatch[]): Promise<void> {
    const settled = await deps.settle(group)
    for (const entry of group) {
      const { taskId, appId } = entry.batch
      written.close(entry)
      for (const deviceId of uncounted(entry, settled.has(entry))) deps.record({ appId, taskId, deviceId })
      waiting.get(entry)?.()
      waiting.delete(entry)
    }
  }

  return {
    run,
    takesAcknowledgement: (taskId, deviceId) =>
      written.takesAcknowledgement(taskId, deviceId, performance.now()),
    expectsNoMore: written.expectsNoMore,
  }
}
