import type { ChannelAdapter } from '@herald/channels'
import { returnQuota, takePermits } from '@herald/db/certificates'
import { type Database, retrying } from '@herald/db/store'
import type { Answer, MessageClass } from '@herald/domain'
import { classOf, type ReadCertificate } from '@herald/plan'
import type { Attempt } from './attempt.ts'
import { closedUntil } from './hours.ts'
import type { WorkerMetrics } from './metrics.ts'

/** Takes permits for a whole job, class by class; whom the governor does not let through is answered without a call. */
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
    const devices = some.reduce((sum, { recipients }) => sum + recipients.length, 0)
    if (until !== undefined) {
      for (const attempt of some)
        refuse(attempt, 0, { kind: 'quota', reason: 'outside the hours the vendor allows', until })
      metrics?.held(adapter.name, 'hours', devices)
      continue
    }
    const want = { requests: requestsOf(some, adapter), devices }
    const { granted, short, wait } = await retrying(() =>
      takePermits(db, stored.id, messageClass, want, limits),
    )
    if (granted < devices) metrics?.held(adapter.name, short ?? 'rate', devices - granted)
    let left = granted
    for (const attempt of some) {
      const allowed = Math.min(left, attempt.recipients.length)
      left -= allowed
      if (allowed === attempt.recipients.length) continue
      refuse(
        attempt,
        allowed,
        short === 'quota'
          ? { kind: 'quota', reason: "the day's quota is used up", until: Date.now() + wait * 1000 }
          : { kind: 'held', wait },
      )
    }
  }
}

/**
 * The day's quota is for what the vendor took: without this, a vendor that is down for minutes uses up the day by being asked
 * again. What is lost here is made up for by the next day.
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

const unsent = new Set(['throttled', 'unavailable', 'quota', 'held'])

function countUnsent({ recipients, answers }: Attempt): number {
  return recipients.filter(({ index }) => unsent.has(answers.get(index)?.kind ?? '')).length
}

function byClass(attempts: Attempt[], certificate: ReadCertificate): Map<MessageClass, Attempt[]> {
  const { adapter, settings } = certificate
  const groups = new Map<MessageClass, Attempt[]>()
  for (const attempt of attempts) {
    if (attempt.recipients.length === 0) continue
    const { message } = attempt.task
    const ofTask = classOf(attempt.task, certificate)
    // vivo.classification and its like decide which of the vendor's limits hold, whatever the task is called.
    const messageClass = adapter.classOf?.({ message, messageClass: ofTask }, settings) ?? ofTask
    const group = groups.get(messageClass)
    if (group) group.push(attempt)
    else groups.set(messageClass, [attempt])
  }
  return groups
}

function refuse(attempt: Attempt, from: number, answer: Answer): void {
  for (const { index } of attempt.recipients.splice(from)) attempt.answers.set(index, answer)
}

function requestsOf(attempts: Attempt[], { onePerDevice, tokensPerCall }: ChannelAdapter): number {
  const perCall = onePerDevice ? 1 : tokensPerCall
  return attempts.reduce((sum, { recipients }) => sum + Math.ceil(recipients.length / perCall), 0)
}
