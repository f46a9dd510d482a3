import { randomUUID } from 'node:crypto'
import {
  batchName,
  batchVersion,
  type ClaimedBatch,
  claimBatches,
  type Database,
  isPassing,
  movedSince,
  type NativeSettlement,
  type PlannedTask,
  retrying,
  settleNative,
} from '@herald/db'
import { foldNative, letters, type NativeAnswer } from '@herald/domain'
import { type CertificateBook, planUnwritten } from '@herald/plan'
import type { PushJob } from '@herald/queue'
import type { NativeMetrics } from './metrics.ts'
import type { TaskBook } from './task-book.ts'

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
  certificates: CertificateBook
  tasks: TaskBook
  /** Name of this node, and whether it may write at present. */
  node(): string
  mayWrite(): boolean
  /** Hands a frame to the connection of a device; false when there is none that can take it. */
  write(deviceId: number, taskId: number, frame: Buffer): boolean
  isConnected(deviceId: number): boolean
  /** Written to the present connection and not acknowledged. */
  wasWritten(deviceId: number, taskId: number): boolean
  /** An acknowledgement that its batch's settle could not count. */
  record(taskId: number, deviceId: number, appId: string): void
  /** Something is in the inbox of a device that is connected here. */
  wake(deviceId: number): void
  ackSeconds: number
  metrics: Pick<NativeMetrics, 'settled' | 'leaseLost' | 'settleRepeated' | 'firstCall'>
  log: { warn(fields: object, message: string): void }
}

const LEASE_SECONDS = 30
/**
 * A settle waits for acknowledgements while they keep coming, because those it can count itself never need a row in the inbox:
 * so long since the last one, and at most so long in all. What a crash can repeat is what was written in that time.
 */
const QUIET_MS = 100
const WAIT_MS = 400
const TICK_MS = 10
/** Most batches of one settle. */
const TOGETHER = 50
/** A settle that waits this long for Postgres gives up; the leases are long gone by then and the feeder has the batches. */
const PATIENCE_MS = 120_000

/** A batch between the socket and its settle. */
type Written = {
  batch: ClaimedBatch
  task: PlannedTask
  answers: Map<number, NativeAnswer>
  /** Devices that have not acknowledged, with their index in the batch. */
  awaited: Map<number, number>
  /** Devices that acknowledged while the settle was under way. */
  late: number[]
  since: number
  lastAt: number
  settling: boolean
  settled(): void
}

export function createDelivery(deps: DeliveryDeps): Delivery {
  const open = new Set<Written>()
  const byTask = new Map<number, Set<Written>>()
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
        const { task, frame } = tasks.get(batch.taskId)!
        if (batch.attempts === 1) {
          const ms = batch.claimedAt - task.beginAt + performance.now() - claimed
          deps.metrics.firstCall(batch.lane, ms / 1000)
        }
        return deliver(batch, task, frame, (deviceId) => (moved.get(deviceId) ?? 0) > batch.plannedAt)
      }),
    )
  }

  function deliver(
    batch: ClaimedBatch,
    task: PlannedTask,
    frame: Buffer,
    hasLeft: (deviceId: number) => boolean,
  ): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const now = performance.now()
    const written: Written = {
      batch,
      task,
      answers: new Map(),
      awaited: new Map(),
      late: [],
      since: now,
      lastAt: now,
      settling: false,
      settled: resolve,
    }
    // Before the first write: an acknowledgement may come back at once.
    open.add(written)
    const same = byTask.get(batch.taskId) ?? new Set()
    byTask.set(batch.taskId, same.add(written))
    const mayWrite = deps.mayWrite()
    for (let index = 0; index < batch.status.length; index++) {
      if (batch.status[index] !== letters.pending) continue
      const deviceId = batch.recipients[index]!
      if (hasLeft(deviceId)) written.answers.set(index, 'left')
      else if (mayWrite && deps.write(deviceId, batch.taskId, frame)) {
        written.answers.set(index, 'written')
        written.awaited.set(deviceId, index)
      } else written.answers.set(index, 'unwritten')
    }
    schedule()
    return promise
  }

  function schedule(): void {
    if (tickAt !== undefined) return
    tickAt = performance.now() + TICK_MS
    setTimeout(tick, TICK_MS)
  }

  function tick(): void {
    const now = performance.now()
    // After a busy stretch timers run before sockets are read, so that silence proves nothing yet.
    const behind = now - tickAt! > TICK_MS
    tickAt = undefined
    const due = [...open].filter(
      ({ settling, awaited, since, lastAt }) =>
        !settling && (awaited.size === 0 || (!behind && now - lastAt >= QUIET_MS) || now - since >= WAIT_MS),
    )
    for (let at = 0; at < due.length; at += TOGETHER) void settle(due.slice(at, at + TOGETHER))
    if ([...open].some(({ settling }) => !settling)) schedule()
  }

  async function settle(group: Written[]): Promise<void> {
    for (const written of group) written.settling = true
    try {
      const settlements = await Promise.all(group.map(settlementOf))
      const done = await settleUntilKnown(deps.db, settlements, deps.metrics.settleRepeated)
      for (const [i, written] of group.entries()) {
        const { taskId, id } = written.batch
        if (done.has(batchName(taskId, id))) {
          const { fold } = settlements[i]!
          deps.metrics.settled({ ...fold, received: fold.acknowledged.length })
          wakeReturned(settlements[i]!)
          continue
        }
        deps.metrics.leaseLost()
        deps.log.warn({ task: taskId, batch: id }, 'the lease was lost before a native batch was settled')
        recordAnyway(written)
      }
    } catch (error) {
      const tasks = [...new Set(group.map(({ batch }) => batch.taskId))]
      deps.log.warn({ err: error, tasks, batches: group.length }, 'native batches could not be settled')
      for (const written of group) recordAnyway(written)
    } finally {
      for (const written of group) forget(written)
    }
  }

  async function settlementOf({ batch, task, answers }: Written): Promise<NativeSettlement> {
    const unwritten: number[] = []
    for (const [index, answer] of answers)
      if (answer === 'unwritten') unwritten.push(batch.recipients[index]!)
    const plan = await retrying(() =>
      planUnwritten(
        { runner: deps.db.pool, certificates: deps.certificates, onUnjudged },
        batch,
        task,
        unwritten,
        (deviceId, node) => node === deps.node() && !deps.isConnected(deviceId),
      ),
    )
    const rules = { strategy: task.strategy, mayStore: task.ttl > 0, ackSeconds: deps.ackSeconds }
    const { taskId, id, version } = batch
    return { taskId, id, version, fold: foldNative(batch, answers, plan, rules) }
  }

  const onUnjudged = (error: unknown) =>
    deps.log.warn({ err: error }, 'the certificates of an application cannot be judged; its devices wait')

  /** Who connected anew while the batch was not settled found its inbox empty. */
  function wakeReturned({ taskId, fold }: NativeSettlement): void {
    for (const { recipients } of fold.inbox)
      for (const deviceId of recipients)
        if (deps.isConnected(deviceId) && !deps.wasWritten(deviceId, taskId)) deps.wake(deviceId)
  }

  /** Somebody else settles the batch; what the devices said is true all the same. */
  function recordAnyway({ batch, answers }: Written): void {
    for (const [index, answer] of answers)
      if (answer === 'acknowledged') deps.record(batch.taskId, batch.recipients[index]!, batch.appId)
  }

  function forget(written: Written): void {
    const { taskId, appId } = written.batch
    open.delete(written)
    const same = byTask.get(taskId)
    same?.delete(written)
    if (same?.size === 0) byTask.delete(taskId)
    for (const deviceId of written.late) deps.record(taskId, deviceId, appId)
    written.settled()
  }

  return {
    run,
    takesAcknowledgement(taskId, deviceId) {
      for (const written of byTask.get(taskId) ?? []) {
        const index = written.awaited.get(deviceId)
        if (index === undefined) continue
        written.awaited.delete(deviceId)
        written.lastAt = performance.now()
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
  }
}

/** Repeats the settle through lost connections; afterwards the row itself tells whether it is ours that was committed. */
async function settleUntilKnown(
  db: Database,
  settlements: NativeSettlement[],
  onRepeat: () => void,
): Promise<Set<string>> {
  const until = performance.now() + PATIENCE_MS
  for (let attempt = 0; ; attempt++) {
    try {
      const done = await settleNative(db.pool, settlements)
      if (attempt > 0)
        for (const { taskId, id, version, fold } of settlements) {
          const row = await batchVersion(db, taskId, id)
          if (row?.version === version + 1 && row.status === fold.status) done.add(batchName(taskId, id))
        }
      return done
    } catch (error) {
      if (!isPassing(error) || performance.now() > until) throw error
      onRepeat()
      await new Promise((resolve) =>
        setTimeout(resolve, Math.min(2000, 25 * 2 ** attempt) * (0.5 + Math.random())),
      )
    }
  }
}
