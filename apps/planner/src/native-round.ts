import { cancelInbox, expireInbox } from '@herald/db/ledger'
import {
  type DueFallback,
  type FallbackPlan,
  fallBackDue,
  fenceNodes,
  type NativeSettlement,
  type Orphan,
  ownerChangedSince,
  settleOrphans,
  UnreadableTask,
} from '@herald/db/native'
import { isTransient, type Runner } from '@herald/db/store'
import { devicesById, findReceipts } from '@herald/db/tasks'
import {
  foldNative,
  groupReasons,
  letters,
  type NativeFold,
  type NativeResult,
  noPlan,
  ownReasons,
  type Plan,
  planDevices,
} from '@herald/domain'
import { type CertificateCache, planUnwritten, rulesFor } from '@herald/plan'
import type { OnLoopError } from '@herald/program'
import { nativeQueue, type PushQueues } from '@herald/queue'
import { runSteps } from './run-steps.ts'
import { type SteadyDeps, steadyTime } from './steadiness.ts'

export type NativeDeps = SteadyDeps & {
  queues: PushQueues
  certificates: CertificateCache
  ackSeconds: number
  onQueueFailure(error: unknown): void
  /** The certificates of an application cannot be read; its devices wait. */
  onUnreadable(error: unknown, appId: string): void
  /** A task cannot be read; its messages are not sent through another channel. */
  onUnreadableTask(error: UnreadableTask): void
  /** An error of a round that has failed already. */
  onLoopError: OnLoopError
  /** Counts recipients of the native channel by their fate. */
  onEnded(
    channel: 'native',
    fate: 'sent' | 'moved' | 'expired' | 'cancelled' | 'failed',
    recipients: number,
  ): void
}

const MAX_ROWS = 1000
const MAX_BATCHES = 20

/** Nodes that were fenced and may have orphans. Processes that have planned for them may still add jobs, which nobody takes. */
const fenced = new WeakMap<PushQueues, Set<string>>()

/**
 * Handles gateways that died, devices that did not acknowledge in time, and expired or cancelled messages in inboxes. Returns whether
 * there may be more to do.
 */
export async function nativeRound(deps: NativeDeps): Promise<boolean> {
  const steps = [endDeadGateways, fallBack, expire, cancel].map((step) => () => step(deps))
  return (await runSteps(steps, 'native', deps.onLoopError)).includes(true)
}

async function fallBack(deps: NativeDeps): Promise<boolean> {
  const { locked, moved } = await fallBackDue(
    deps.db,
    MAX_ROWS,
    (due, runner) => planFallback(deps, due, runner),
    deps.onUnreadableTask,
  )
  deps.onEnded('native', 'moved', moved)
  return locked >= MAX_ROWS
}

async function expire({ db, onEnded }: NativeDeps): Promise<boolean> {
  const { removed, unsent } = await expireInbox(db, MAX_ROWS)
  onEnded('native', 'expired', unsent)
  return removed >= MAX_ROWS
}

async function cancel({ db, onEnded }: NativeDeps): Promise<boolean> {
  const { removed, unsent } = await cancelInbox(db, MAX_ROWS)
  onEnded('native', 'cancelled', unsent)
  return removed >= MAX_ROWS
}

/**
 * Fences gateways whose lease has expired and settles their batches. Does nothing after an outage of Postgres or a step
 * of its clock until gateways that still run could renew their leases: they repeat what they could not write, and devices that have
 * acknowledged would get the message again.
 */
async function endDeadGateways(deps: NativeDeps): Promise<boolean> {
  const { db, queues } = deps
  const time = await steadyTime(deps)
  if (time === undefined) return false
  const nodes = fenced.get(queues) ?? new Set()
  fenced.set(queues, nodes)
  for (const node of await fenceNodes(db, time)) {
    nodes.add(node)
    await removeQueue(deps, node)
  }
  const orphans = await settleOrphans(db, time, MAX_BATCHES, (found, runner) =>
    settleAll(deps, found, runner),
  )
  if (orphans.length < MAX_BATCHES) {
    // A node whose queue could not be removed is tried again in the next round.
    for (const node of nodes) if (await removeQueue(deps, node)) nodes.delete(node)
  }
  for (const orphan of orphans)
    for (const fate of ['sent', 'moved', 'expired', 'failed'] as const)
      deps.onEnded('native', fate, orphan[fate] ?? 0)
  return orphans.length >= MAX_BATCHES
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

async function settleAll(deps: NativeDeps, orphans: Orphan[], runner: Runner): Promise<NativeSettlement[]> {
  const settlements: NativeSettlement[] = []
  for (const orphan of orphans) settlements.push(await settleOrphan(deps, orphan, runner))
  return settlements
}

/** The dead gateway may have written to some devices; those that have the message acknowledge it again after reconnecting. */
async function settleOrphan(
  deps: NativeDeps,
  { batch, task }: Orphan,
  runner: Runner,
): Promise<NativeSettlement> {
  const pending = pendingIn(batch.status)
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
  const { taskId, id, version } = batch
  if (task instanceof UnreadableTask) {
    deps.onUnreadableTask(task)
    return { taskId, id, version, ...failUnwritten(batch, results) }
  }
  const { certificates, onUnreadable } = deps
  const plan = await planUnwritten({ runner, certificates, onUnreadable }, batch, task, unwritten)
  const rules = { strategy: task.strategy, mayStore: task.ttl > 0, ackSeconds: deps.ackSeconds }
  return { taskId, id, version, ...foldNative(batch, results, plan, rules) }
}

/**
 * Without its task no recipient has a next channel. The reason is the one of batches that no worker can read: each of their attempts
 * ends without a result.
 */
function failUnwritten(
  batch: Orphan['batch'],
  results: ReadonlyMap<number, NativeResult>,
): NativeFold & { failed: number } {
  const ended = new Map([...results].filter(([, result]) => result !== 'unwritten'))
  // They are for written messages, of which there are none.
  const rules = { strategy: 'combined', mayStore: false, ackSeconds: 0 } as const
  const fold = foldNative(batch, ended, noPlan, rules)
  const { note, reasons, whys } = groupReasons()
  const pending = pendingIn(fold.status)
  for (const index of pending) note('failed', ownReasons.attempts_lost, batch.recipients[index]!, index)
  return {
    ...fold,
    status: fold.status.replaceAll(letters.pending, letters.failed),
    failed: pending.length,
    reasons: [...fold.reasons, ...reasons()],
    whys: [...fold.whys, ...whys()],
  }
}

const pendingIn = (status: string) =>
  [...status].flatMap((letter, index) => (letter === letters.pending ? [index] : []))

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
    deps.onUnreadable(error, task.appId)
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
