import { cancelInbox, expireInbox } from '@herald/db/ledger'
import {
  type DueFallback,
  type FallbackPlan,
  fallBackDue,
  fenceNodes,
  type NativeSettlement,
  type OrphanedBatch,
  ownerChangedSince,
  settleOrphans,
} from '@herald/db/native'
import { isTransient, type Runner } from '@herald/db/store'
import { devicesById, findReceipts, type PlannedTask } from '@herald/db/tasks'
import {
  foldNative,
  groupReasons,
  letters,
  type NativeResult,
  ownReasons,
  type Plan,
  planDevices,
} from '@herald/domain'
import { type CertificateCache, planUnwritten, rulesFor } from '@herald/plan'
import { nativeQueue, type PushQueues } from '@herald/queue'
import { type SteadyDeps, steadyTime } from './steadiness.ts'

export type NativeDeps = SteadyDeps & {
  queues: PushQueues
  certificates: CertificateCache
  ackSeconds: number
  onQueueFailure(error: unknown): void
  /** The certificates of an application cannot be read; its devices wait. */
  onUnreadable(error: unknown): void
  /** Counts recipients of the native channel by their fate. */
  onEnded(channel: 'native', fate: 'sent' | 'moved' | 'expired' | 'cancelled', recipients: number): void
}

const MAX_ROWS = 1000
const MAX_BATCHES = 20

/** Nodes that were fenced and may have orphans. Processes that have planned for them may still add jobs, which nobody takes. */
const fenced = new WeakMap<PushQueues, Set<string>>()

/**
 * Handles gateways that died, devices that did not acknowledge in time, and expired or cancelled messages in inboxes. Returns
 * whether there may be more to do.
 */
export async function nativeRound(deps: NativeDeps): Promise<boolean> {
  const { db } = deps
  const orphans = await endDeadGateways(deps)
  const fallbacks = await fallBackDue(db, MAX_ROWS, (due, runner) => planFallback(deps, due, runner))
  deps.onEnded('native', 'moved', fallbacks.moved)
  const expired = await expireInbox(db, MAX_ROWS)
  deps.onEnded('native', 'expired', expired.unsent)
  const cancelled = await cancelInbox(db, MAX_ROWS)
  deps.onEnded('native', 'cancelled', cancelled.unsent)
  const rows = [fallbacks.locked, expired.removed, cancelled.removed]
  return orphans >= MAX_BATCHES || rows.some((count) => count >= MAX_ROWS)
}

/**
 * Fences gateways whose lease has expired and settles their batches; returns how many. Does nothing after an outage of Postgres or a step
 * of its clock until gateways that still run could renew their leases: they repeat what they could not write, and devices that have
 * acknowledged would get the message again.
 */
async function endDeadGateways(deps: NativeDeps): Promise<number> {
  const { db, queues } = deps
  if ((await steadyTime(deps)) === undefined) return 0
  const nodes = fenced.get(queues) ?? new Set()
  fenced.set(queues, nodes)
  for (const node of await fenceNodes(db)) {
    nodes.add(node)
    await removeQueue(deps, node)
  }
  const orphans = await settleOrphans(db, MAX_BATCHES, (found, runner) => settleAll(deps, found, runner))
  if (orphans.length < MAX_BATCHES) {
    // A node whose queue could not be removed is tried again in the next round.
    for (const node of nodes) if (await removeQueue(deps, node)) nodes.delete(node)
  }
  for (const orphan of orphans)
    for (const fate of ['sent', 'moved', 'expired'] as const) deps.onEnded('native', fate, orphan[fate])
  return orphans.length
}

/** Returns whether the queue is removed. */
async function removeQueue({ queues, onQueueFailure }: NativeDeps, node: string): Promise<boolean> {
  try {
    await queues.remove(nativeQueue(node))
    return true
  } catch (error) {
    onQueueFailure(error)
    return false
  }
}

async function settleAll(
  deps: NativeDeps,
  orphans: { batch: OrphanedBatch; task: PlannedTask }[],
  runner: Runner,
): Promise<NativeSettlement[]> {
  const settlements: NativeSettlement[] = []
  for (const orphan of orphans) settlements.push(await settleOrphan(deps, orphan, runner))
  return settlements
}

/** The dead gateway may have written to some devices; those that have the message acknowledge it again after reconnecting. */
async function settleOrphan(
  deps: NativeDeps,
  { batch, task }: { batch: OrphanedBatch; task: PlannedTask },
  runner: Runner,
): Promise<NativeSettlement> {
  const pending = [...batch.status].flatMap((letter, index) => (letter === letters.pending ? [index] : []))
  const ids = pending.map((index) => batch.recipients[index]!)
  const ownerChanged = await ownerChangedSince(runner, ids, batch.plannedAt)
  const received = await findReceipts(
    runner,
    ids.map((deviceId) => ({ taskId: batch.taskId, deviceId })),
  )
  const results = new Map<number, NativeResult>()
  const unwritten: number[] = []
  for (const index of pending) {
    const id = batch.recipients[index]!
    const isReceived = received.has(`${batch.taskId}/${id}`)
    const result = isReceived ? 'acknowledged' : (ownerChanged.get(id)?.kind ?? 'unwritten')
    results.set(index, result)
    if (result === 'unwritten') unwritten.push(id)
  }
  const { certificates, onUnreadable } = deps
  const plan = await planUnwritten({ runner, certificates, onUnreadable }, batch, task, unwritten)
  const { taskId, id, version } = batch
  const rules = { strategy: task.strategy, mayStore: task.ttl > 0, ackSeconds: deps.ackSeconds }
  return { taskId, id, version, ...foldNative(batch, results, plan, rules) }
}

/**
 * A message that was written and not acknowledged must not return to the native channel; one that was never written may, when
 * every vendor fails.
 */
async function planFallback(
  deps: NativeDeps,
  due: DueFallback,
  runner: Runner,
): Promise<FallbackPlan | undefined> {
  const { task, sent, tried, recipients } = due
  const devices = await devicesById(runner, recipients)
  let plan: Plan
  try {
    const rules = rulesFor(task, await deps.certificates.of(task.appId), [...tried, 'native'])
    plan = planDevices(devices, rules, task.speed)
  } catch (error) {
    if (isTransient(error)) throw error
    deps.onUnreadable(error)
    return undefined
  }
  const { note, reasons } = groupReasons()
  if (!sent)
    for (const batch of plan.batches) {
      batch.tried = tried
      for (const id of batch.recipients) note('moved', ownReasons.device_not_reached, id)
    }
  return { plan, reasons: reasons() }
}
