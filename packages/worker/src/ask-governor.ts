import type { ChannelAdapter } from '@herald/channels'
import { returnQuota, takePermits } from '@herald/db/certificates'
import { type Database, retrying } from '@herald/db/store'
import { type MessageClass, ownReasons, type RecipientResult } from '@herald/domain'
import { classOf, type ReadCertificate } from '@herald/plan'
import type { Attempt } from './attempt.ts'
import { closedUntil } from './hours.ts'
import type { WorkerMetrics } from './metrics.ts'

/** Takes permits for a whole job, per message class. Targets without a permit get their result here and are removed. */
export async function askGovernor(
  db: Database,
  attempts: Attempt[],
  certificate: ReadCertificate,
  metrics?: WorkerMetrics,
): Promise<void> {
  const { adapter, settings, stored } = certificate
  for (const [messageClass, some] of byClass(attempts, certificate)) {
    const limits = adapter.limits(settings, messageClass)
    const until = closedUntil(limits, Date.now())
    const devices = some.reduce((sum, { targets }) => sum + targets.length, 0)
    if (until !== undefined) {
      for (const attempt of some)
        refuse(attempt, 0, { kind: 'quota', reason: ownReasons.outside_hours, until })
      metrics?.deferred(adapter.name, 'hours', devices)
      continue
    }
    const want = { requests: requestsOf(some, adapter), devices }
    const { granted, limitedBy, wait } = await retrying(() =>
      takePermits(db, stored.id, messageClass, want, limits),
    )
    if (granted < devices) metrics?.deferred(adapter.name, limitedBy ?? 'rate', devices - granted)
    let left = granted
    for (const attempt of some) {
      const allowed = Math.min(left, attempt.targets.length)
      left -= allowed
      if (allowed === attempt.targets.length) continue
      refuse(
        attempt,
        allowed,
        limitedBy === 'quota'
          ? { kind: 'quota', reason: ownReasons.quota_used_up, until: Date.now() + wait * 1000 }
          : { kind: 'deferred', wait },
      )
    }
  }
}

/**
 * Returns the quota of targets that the vendor did not take. Without this, the retries of a vendor that is down for minutes use
 * up the daily quota. If the process dies first, that quota is lost until the next day.
 */
export async function returnUnused(
  db: Database,
  attempts: Attempt[],
  certificate: ReadCertificate,
): Promise<void> {
  const { adapter, settings, stored } = certificate
  for (const [messageClass, some] of byClass(attempts, certificate)) {
    const { dailyQuota, timeZone } = adapter.limits(settings, messageClass)
    const unused = some.reduce((sum, attempt) => sum + countUnsent(attempt), 0)
    if (dailyQuota !== undefined && unused > 0)
      await returnQuota(db, stored.id, messageClass, unused, timeZone)
  }
}

const unsent = new Set(['throttled', 'unavailable', 'quota', 'deferred'])

function countUnsent({ targets, results }: Attempt): number {
  return targets.filter(({ index }) => unsent.has(results.get(index)?.kind ?? '')).length
}

function byClass(attempts: Attempt[], certificate: ReadCertificate): Map<MessageClass, Attempt[]> {
  const { adapter, settings } = certificate
  const groups = new Map<MessageClass, Attempt[]>()
  for (const attempt of attempts) {
    if (attempt.targets.length === 0) continue
    const { message } = attempt.task
    const ofTask = classOf(attempt.task, certificate)
    // The vendor's fields of the message can select its limit, whatever the class of the task is.
    const messageClass = adapter.classOf?.({ message, messageClass: ofTask }, settings) ?? ofTask
    const group = groups.get(messageClass)
    if (group) group.push(attempt)
    else groups.set(messageClass, [attempt])
  }
  return groups
}

function refuse(attempt: Attempt, from: number, result: RecipientResult): void {
  for (const { index } of attempt.targets.splice(from)) attempt.results.set(index, result)
}

function requestsOf(attempts: Attempt[], { onePerDevice, tokensPerCall }: ChannelAdapter): number {
  const perCall = onePerDevice ? 1 : tokensPerCall
  return attempts.reduce((sum, { targets }) => sum + Math.ceil(targets.length / perCall), 0)
}
