import { cancelInbox, expireInbox, overfullInboxes, trimInboxes } from '@herald/db/ledger'
import {
  type DueFallback,
  type FallbackPlan,
  fallBackDue,
  fenceNodes,
  movedSince,
  type NativeSettlement,
  type OrphanedBatch,
  settleOrphans,
} from '@herald/db/native'
import { type Database, isTransient, type Runner } from '@herald/db/store'
import { devicesById, type PlannedTask, receiptsAmong } from '@herald/db/tasks'
import { foldNative, gatherReasons, letters, type NativeAnswer, type Plan, planDevices } from '@herald/domain'
import { type CertificateBook, planUnwritten, rulesFor } from '@herald/plan'
import { nativeQueue, type PushQueues } from '@herald/queue'

export type NativeDeps = {
  db: Database
  queues: PushQueues
  certificates: CertificateBook
  ackSeconds: number
  onQueueFailure(error: unknown): void
  /** The certificates of an application cannot be judged at present; its devices wait. */
  onUnjudged(error: unknown): void
  /** What became of recipients of the native channel. */
  onEnded(channel: 'native', fate: 'sent' | 'moved' | 'expired' | 'cancelled', recipients: number): void
}

const ROWS = 1000
const BATCHES = 20

/**
 * What the native channel leaves to rows alone: gateways that died, devices that did not acknowledge in time, inboxes of
 * expired and cancelled messages. Answers whether there may be more to do at once.
 */
export async function nativeRound(deps: NativeDeps): Promise<boolean> {
  const { db } = deps
  for (const node of await fenceNodes(db))
    await deps.queues.remove(nativeQueue(node)).catch(deps.onQueueFailure)
  const orphans = await settleOrphans(db, BATCHES, (found, runner) => settleAll(deps, found, runner))
  for (const orphan of orphans)
    for (const fate of ['sent', 'moved', 'expired'] as const) deps.onEnded('native', fate, orphan[fate])
  const fallen = await fallBackDue(db, ROWS, (due, runner) => planFallback(deps, due, runner))
  deps.onEnded('native', 'moved', fallen.moved)
  const expired = await expireInbox(db, ROWS)
  deps.onEnded('native', 'expired', expired.unsent)
  const cancelled = await cancelInbox(db, ROWS)
  deps.onEnded('native', 'cancelled', cancelled.unsent)
  const rows = [fallen.looked, expired.removed, cancelled.removed]
  return orphans.length >= BATCHES || rows.some((count) => count >= ROWS)
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

/** Its gateway may have written to some of them; who got the message says so again when it comes back. */
async function settleOrphan(
  deps: NativeDeps,
  { batch, task }: { batch: OrphanedBatch; task: PlannedTask },
  runner: Runner,
): Promise<NativeSettlement> {
  const pending = [...batch.status].flatMap((letter, index) => (letter === letters.pending ? [index] : []))
  const ids = pending.map((index) => batch.recipients[index]!)
  const left = await movedSince(runner, ids, batch.plannedAt)
  const received = await receiptsAmong(
    runner,
    ids.map((deviceId) => ({ taskId: batch.taskId, deviceId })),
  )
  const answers = new Map<number, NativeAnswer>()
  for (const index of pending) {
    const id = batch.recipients[index]!
    answers.set(
      index,
      received.has(`${batch.taskId}/${id}`) ? 'acknowledged' : left.has(id) ? 'left' : 'unwritten',
    )
  }
  const unwritten = pending
    .filter((index) => answers.get(index) === 'unwritten')
    .map((index) => batch.recipients[index]!)
  const { certificates, onUnjudged } = deps
  const plan = await planUnwritten({ runner, certificates, onUnjudged }, batch, task, unwritten)
  const { taskId, id, version } = batch
  const rules = { strategy: task.strategy, mayStore: task.ttl > 0, ackSeconds: deps.ackSeconds }
  return { taskId, id, version, ...foldNative(batch, answers, plan, rules) }
}

/**
 * What was written and not acknowledged may not come back to the native channel; what was not written left it unsent, and
 * may when every vendor fails.
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
    deps.onUnjudged(error)
    return undefined
  }
  const { note, reasons } = gatherReasons()
  if (!sent)
    for (const batch of plan.batches) {
      batch.tried = tried
      for (const id of batch.recipients) note('moved', 'the device was not reached in time', id)
    }
  return { plan, reasons: reasons() }
}

/** Shortens inboxes of devices that stay away. */
export async function trimRound({ db, onEnded }: NativeDeps): Promise<boolean> {
  for (let last: number | undefined = 0; last !== undefined; ) {
    const devices = await overfullInboxes(db, last)
    if (devices.length > 0) onEnded('native', 'expired', (await trimInboxes(db, devices)).unsent)
    last = devices.at(-1)
  }
  return false
}
