import type { ClaimedBatch, PlannedTask } from '@herald/db/tasks'
import type { NativeResult } from '@herald/domain'

/** A batch that is written to sockets and not settled. */
export type WrittenBatch = {
  batch: ClaimedBatch
  task: PlannedTask
  /** By index in the batch. */
  results: Map<number, NativeResult>
  /** Devices that have not acknowledged, with their index in the batch. */
  awaited: Map<number, number>
  /** Devices that acknowledged while the settle was in progress. */
  late: number[]
  since: number
  lastAt: number
  settling: boolean
}

export type WrittenBatches = {
  open(batch: ClaimedBatch, task: PlannedTask, now: number): WrittenBatch
  /** True when the acknowledgement belongs to a batch that is not settled yet; the settle counts it. */
  takesAcknowledgement(taskId: number, deviceId: number, now: number): boolean
  /** The connection ended: no acknowledgement of these tasks will arrive over it. */
  expectsNoMore(deviceId: number, taskIds: Iterable<number>): void
  /** Returns batches that are ready to settle and marks them. `behind`: the event loop lagged, so missing acks prove nothing. */
  takeDue(now: number, behind: boolean): WrittenBatch[]
  /** Whether any batch is not being settled yet. */
  areWaiting(): boolean
  close(written: WrittenBatch): void
}

/**
 * A settle waits until no acknowledgement arrived for IDLE_MS, at most MAX_WAIT_MS: an acknowledgement that it counts itself
 * needs no row in the inbox. After a crash, messages written in that time are written again.
 */
const IDLE_MS = 100
const MAX_WAIT_MS = 400

export function createWrittenBatches(): WrittenBatches {
  const all = new Set<WrittenBatch>()
  const byTask = new Map<number, Set<WrittenBatch>>()

  function isDue({ settling, awaited, since, lastAt }: WrittenBatch, now: number, behind: boolean): boolean {
    if (settling) return false
    return awaited.size === 0 || (!behind && now - lastAt >= IDLE_MS) || now - since >= MAX_WAIT_MS
  }

  return {
    open(batch, task, now) {
      const written: WrittenBatch = {
        batch,
        task,
        results: new Map(),
        awaited: new Map(),
        late: [],
        since: now,
        lastAt: now,
        settling: false,
      }
      all.add(written)
      const same = byTask.get(batch.taskId) ?? new Set()
      byTask.set(batch.taskId, same.add(written))
      return written
    },
    takesAcknowledgement(taskId, deviceId, now) {
      for (const written of byTask.get(taskId) ?? []) {
        const index = written.awaited.get(deviceId)
        if (index === undefined) continue
        written.awaited.delete(deviceId)
        written.lastAt = now
        if (written.settling) written.late.push(deviceId)
        else written.results.set(index, 'acknowledged')
        return true
      }
      return false
    },
    expectsNoMore(deviceId, taskIds) {
      for (const taskId of taskIds)
        for (const { settling, awaited } of byTask.get(taskId) ?? []) if (!settling) awaited.delete(deviceId)
    },
    takeDue(now, behind) {
      const due = [...all].filter((written) => isDue(written, now, behind))
      for (const written of due) written.settling = true
      return due
    },
    areWaiting: () => [...all].some(({ settling }) => !settling),
    close(written) {
      const { taskId } = written.batch
      all.delete(written)
      const same = byTask.get(taskId)
      same?.delete(written)
      if (same?.size === 0) byTask.delete(taskId)
    },
  }
}

/** Returns the devices whose acknowledgement the settle did not count: late ones, and all if another process settles the batch. */
export function uncounted(written: WrittenBatch, isSettled: boolean): number[] {
  return isSettled ? written.late : [...heardIn(written), ...written.late]
}

/** Returns the devices that acknowledged before the settle. */
export function heardIn({ batch, results }: WrittenBatch): number[] {
  const heard = [...results].filter(([, result]) => result === 'acknowledged')
  return heard.map(([index]) => batch.recipients[index]!)
}
