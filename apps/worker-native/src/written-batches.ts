import type { ClaimedBatch, PlannedTask } from '@herald/db/tasks'
import type { NativeAnswer } from '@herald/domain'

/** A batch between the socket and its settle. */
export type WrittenBatch = {
  batch: ClaimedBatch
  task: PlannedTask
  /** By index in the batch. */
  answers: Map<number, NativeAnswer>
  /** Devices that have not acknowledged, with their index in the batch. */
  awaited: Map<number, number>
  /** Devices that acknowledged while the settle was under way. */
  late: number[]
  since: number
  lastAt: number
  settling: boolean
}

export type WrittenBatches = {
  open(batch: ClaimedBatch, task: PlannedTask, now: number): WrittenBatch
  /** True when the acknowledgement belongs to a batch that is not settled yet: the settle will count it. */
  takesAcknowledgement(taskId: number, deviceId: number, now: number): boolean
  /** The connection ended: no acknowledgement of these tasks will come over it. */
  expectsNoMore(deviceId: number, taskIds: Iterable<number>): void
  /** Whom nothing is worth waiting for any more; they are being settled from now on. `behind`: sockets were not read lately. */
  takeDue(now: number, behind: boolean): WrittenBatch[]
  /** Whether some still wait for their time. */
  areWaiting(): boolean
  close(written: WrittenBatch): void
}

/**
 * A settle waits for acknowledgements while they keep coming, because those it can count itself never need a row in the inbox:
 * so long since the last one, and at most so long in all. What a crash can repeat is what was written in that time.
 */
const QUIET_MS = 100
const WAIT_MS = 400

export function createWrittenBatches(): WrittenBatches {
  const all = new Set<WrittenBatch>()
  const byTask = new Map<number, Set<WrittenBatch>>()

  function isDue({ settling, awaited, since, lastAt }: WrittenBatch, now: number, behind: boolean): boolean {
    if (settling) return false
    return awaited.size === 0 || (!behind && now - lastAt >= QUIET_MS) || now - since >= WAIT_MS
  }

  return {
    open(batch, task, now) {
      const written: WrittenBatch = {
        batch,
        task,
        answers: new Map(),
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
        else written.answers.set(index, 'acknowledged')
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

/** Devices whose acknowledgement no settle counts: those who were late, and all when somebody else settles the batch. */
export function uncounted({ batch, answers, late }: WrittenBatch, isSettled: boolean): number[] {
  if (isSettled) return late
  const heard = [...answers].filter(([, answer]) => answer === 'acknowledged')
  return [...heard.map(([index]) => batch.recipients[index]!), ...late]
}
