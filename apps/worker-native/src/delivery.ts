import { type Acknowledgement, ownerChangedSince } from '@herald/db/native'
import { type Database, retrying } from '@herald/db/store'
import type { ClaimedBatch } from '@herald/db/tasks'
import { type Lane, letters } from '@herald/domain'
import type { PushJob } from '@herald/queue'
import { claimJob } from '@herald/worker'
import type { KnownTask, TaskCache } from './task-cache.ts'
import { createWrittenBatches, heardIn, uncounted, type WrittenBatch } from './written-batches.ts'

export type Delivery = {
  /** Writes the batches of a job to the connections of this node; resolves when they are settled. */
  run(job: PushJob): Promise<void>
  /** True when the acknowledgement belongs to a batch that is not settled yet; the settle counts it. */
  takesAcknowledgement(taskId: number, deviceId: number): boolean
  /** The connection ended: no acknowledgement of these tasks will arrive over it. */
  expectsNoMore(deviceId: number, taskIds: Iterable<number>): void
}

export type DeliveryDeps = {
  db: Database
  tasks: TaskCache
  /** Name of this node, and whether its lease allows writing. */
  node(): string
  mayWrite(): boolean
  /** Writes a frame to the connection of a device; false when there is none that can take it. */
  write(deviceId: number, taskId: number, frame: Buffer): boolean
  /** Returns the batches that were settled. */
  settle(group: readonly WrittenBatch[]): Promise<ReadonlySet<WrittenBatch>>
  /** Records an acknowledgement that the settle of its batch did not count. */
  record(acknowledgement: Acknowledgement): void
  /** The settle of its batch counted an acknowledgement. */
  onCounted(taskId: number, deviceId: number): void
  /** `seconds` from the start of the task to the first write of a batch. */
  onFirstCall(lane: Lane, seconds: number): void
}

const TICK_MS = 10
/** Maximum number of batches per settle. */
const MAX_BATCHES = 50

/** Claims batches, writes them, waits briefly for acknowledgements and settles them. */
export function createDelivery(deps: DeliveryDeps): Delivery {
  const written = createWrittenBatches()
  const waiting = new Map<WrittenBatch, () => void>()
  let tickAt: number | undefined

  async function run(job: PushJob): Promise<void> {
    // Unclaimed batches are enqueued again, or reassigned when this node is fenced.
    if (!deps.mayWrite()) return
    const { batches, secondsSince } = await claimJob(deps.db, job, {
      channel: 'native',
      process: `native@${deps.node()}`,
    })
    if (batches.length === 0) return
    const [tasks, ownerChanges] = await Promise.all([
      deps.tasks.of(batches.map(({ taskId }) => taskId)),
      retrying(() =>
        ownerChangedSince(
          deps.db.pool,
          batches.flatMap(({ recipients }) => recipients),
          Math.min(...batches.map(({ plannedAt }) => plannedAt)),
        ),
      ),
    ])
    await Promise.all(
      batches.map((batch) => {
        const known = tasks.get(batch.taskId)
        // It cannot be read. The lease ends without a settle, and after several of these the batch fails.
        if (!known) return undefined
        if (batch.attempts === 1) deps.onFirstCall(batch.lane, secondsSince(known.task, batch))
        return deliver(batch, known, (deviceId) => {
          const change = ownerChanges.get(deviceId)
          return change && change.at > batch.plannedAt ? change.kind : undefined
        })
      }),
    )
  }

  function deliver(
    batch: ClaimedBatch,
    { task, frame }: KnownTask,
    changeOf: (deviceId: number) => 'ownerChanged' | 'removed' | 'disabled' | undefined,
  ): Promise<void> {
    // Before the first write: an acknowledgement may arrive at once.
    const entry = written.open(batch, task, performance.now())
    const mayWrite = deps.mayWrite()
    for (let index = 0; index < batch.status.length; index++) {
      if (batch.status[index] !== letters.pending) continue
      const deviceId = batch.recipients[index]!
      const change = changeOf(deviceId)
      if (change) entry.results.set(index, change)
      else if (mayWrite && deps.write(deviceId, batch.taskId, frame)) {
        entry.results.set(index, 'written')
        entry.awaited.set(deviceId, index)
      } else entry.results.set(index, 'unwritten')
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
    // After the event loop lagged, timers run before sockets are read, so missing acknowledgements prove nothing.
    const due = written.takeDue(now, now - tickAt! > TICK_MS)
    tickAt = undefined
    for (let at = 0; at < due.length; at += MAX_BATCHES) void settle(due.slice(at, at + MAX_BATCHES))
    if (written.areWaiting()) schedule()
  }

  async function settle(group: readonly WrittenBatch[]): Promise<void> {
    const settled = await deps.settle(group)
    for (const entry of group) {
      const { taskId, appId } = entry.batch
      written.close(entry)
      if (settled.has(entry)) for (const deviceId of heardIn(entry)) deps.onCounted(taskId, deviceId)
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
