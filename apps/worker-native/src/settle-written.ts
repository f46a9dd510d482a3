import { type NativeSettlement, settleNative } from '@herald/db/native'
import type { Database } from '@herald/db/store'
import { batchName, retryingUntil, settleDeadline, settleUntilKnown } from '@herald/db/tasks'
import { foldNative } from '@herald/domain'
import { type CertificateCache, planUnwritten } from '@herald/plan'
import type { Answers } from '@herald/worker'
import type { NativeMetrics } from './metrics.ts'
import type { WrittenBatch } from './written-batches.ts'

export type SettlerDeps = {
  db: Database
  certificates: CertificateCache
  node(): string
  /** The state of the device's connection to this node. */
  stateOf(deviceId: number): 'here' | 'away' | 'gone'
  /** Whether the message was written to the current connection, or its acknowledgement is not recorded yet. */
  wasWritten(deviceId: number, taskId: number): boolean
  /** The inbox of a connected device has a message. */
  wake(deviceId: number): void
  ackSeconds: number
  metrics: Pick<NativeMetrics, 'settled' | 'leaseLost' | 'settleRepeated'>
  answers: Pick<Answers, 'settled'>
  log: Record<'warn' | 'error', (fields: object, message: string) => void>
}

/** Settles batches and returns those that are settled; the planner settles the others. */
export function createSettler(deps: SettlerDeps) {
  return async (group: readonly WrittenBatch[]): Promise<ReadonlySet<WrittenBatch>> => {
    const settled = new Set<WrittenBatch>()
    const until = settleDeadline()
    try {
      const settlements = await Promise.all(group.map((written) => settlementOf(deps, written, until)))
      const done = await settleUntilKnown(
        deps.db,
        settlements,
        (open) => settleNative(deps.db.pool, open),
        deps.metrics.settleRepeated,
        until,
      )
      for (const [i, settlement] of settlements.entries()) {
        const { taskId, id, acknowledged } = settlement
        if (done.has(batchName(taskId, id))) {
          settled.add(group[i]!)
          deps.answers.settled(group[i]!.batch, { sent: settlement.sent, failed: 0 })
          deps.metrics.settled({ ...settlement, received: acknowledged.length })
          wakeReturned(deps, settlement)
        } else {
          deps.metrics.leaseLost()
          deps.log.warn({ task: taskId, batch: id }, 'the lease was lost before a native batch was settled')
        }
      }
    } catch (error) {
      const tasks = [...new Set(group.map(({ batch }) => batch.taskId))]
      deps.log.warn({ err: error, tasks, batches: group.length }, 'native batches could not be settled')
    }
    return settled
  }
}

async function settlementOf(
  deps: SettlerDeps,
  { batch, task, results }: WrittenBatch,
  until: number,
): Promise<NativeSettlement> {
  const unwritten: number[] = []
  for (const [index, result] of results) if (result === 'unwritten') unwritten.push(batch.recipients[index]!)
  const onUnreadable = (error: unknown, app: string) =>
    deps.log.error({ err: error, app }, 'the certificates of an application cannot be read; its devices wait')
  const plan = await retryingUntil(until, () =>
    planUnwritten(
      { runner: deps.db.pool, certificates: deps.certificates, onUnreadable },
      batch,
      task,
      unwritten,
      (deviceId, node) => {
        const state = deps.stateOf(deviceId)
        return node === deps.node() && state !== 'here' ? state : undefined
      },
    ),
  )
  const rules = { strategy: task.strategy, mayStore: task.ttl > 0, ackSeconds: deps.ackSeconds }
  const { taskId, id, version } = batch
  return { taskId, id, version, ...foldNative(batch, results, plan, rules) }
}

/** A device that reconnected before the batch was settled found its inbox empty. */
function wakeReturned(deps: SettlerDeps, { taskId, inbox }: NativeSettlement): void {
  for (const { recipients } of inbox)
    for (const deviceId of recipients)
      if (deps.stateOf(deviceId) === 'here' && !deps.wasWritten(deviceId, taskId)) deps.wake(deviceId)
}
