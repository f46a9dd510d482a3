import type { ChannelAdapter, Limits } from '@herald/channels'
import { returnQuota, takePermits } from '@herald/db/certificates'
import { type Database, retrying } from '@herald/db/store'
import { countDaily, uncountDaily } from '@herald/db/tasks'
import {
  letters,
  type MessageClass,
  ownReasons,
  type RecipientResult,
  type VendorChannel,
} from '@herald/domain'
import { classOf, type ReadCertificate } from '@herald/plan'
import type { Attempt } from './attempt.ts'
import { closedUntil } from './hours.ts'
import type { WorkerMetrics } from './metrics.ts'
import { leaveBundles } from './write-bundles.ts'

/** The attempts of one message class of a certificate, which share a limit. */
type Limited = {
  certificate: ReadCertificate
  messageClass: MessageClass
  attempts: Attempt[]
  limits: Limits
}

/**
 * Takes permits for a whole job, per certificate and message class, with one statement. Targets without a permit get their result
 * here and are removed.
 */
export async function askGovernor(
  db: Database,
  parts: readonly { attempts: Attempt[]; certificate: ReadCertificate }[],
  metrics?: WorkerMetrics,
): Promise<void> {
  const open = parts.flatMap((part) => limitedOf(part, metrics))
  await countPerDevice(db, open)
  const wanted = open.flatMap((one) => {
    const devices = countTargets(one.attempts)
    return devices === 0 ? [] : [{ ...one, devices }]
  })
  if (wanted.length === 0) return
  const grants = await retrying(() =>
    takePermits(
      db,
      wanted.map(({ certificate, messageClass, attempts, limits, devices }) => ({
        certificateId: certificate.stored.id,
        messageClass,
        want: { requests: requestsOf(attempts, certificate.adapter), devices },
        limits,
      })),
    ),
  )
  wanted.forEach(({ certificate, attempts, devices }, at) => {
    const { granted, limitedBy, wait } = grants[at]!
    if (granted < devices) metrics?.deferred(certificate.adapter.name, limitedBy ?? 'rate', devices - granted)
    let left = granted
    for (const attempt of attempts) {
      const allowed = Math.min(left, attempt.targets.length)
      left -= allowed
      if (allowed === attempt.targets.length) continue
      refuse(
        attempt,
        allowed,
        limitedBy === 'quota'
          ? { kind: 'quota', reason: ownReasons.quota_used_up, until: Date.now() + wait * 1000 }
          : { kind: 'deferred', reason: ownReasons.rate_limited, wait },
      )
    }
  })
}

/** The groups of a part that may be sent now; outside the vendor's hours the others get their result here. */
function limitedOf(
  { attempts, certificate }: { attempts: Attempt[]; certificate: ReadCertificate },
  metrics?: WorkerMetrics,
): Limited[] {
  const { adapter, settings } = certificate
  return [...byClass(attempts, certificate)].flatMap(([messageClass, some]) => {
    const limits = adapter.limits(settings, messageClass)
    const until = closedUntil(limits, Date.now())
    if (until === undefined) return [{ certificate, messageClass, attempts: some, limits }]
    metrics?.deferred(adapter.name, 'hours', countTargets(some))
    for (const attempt of some) refuse(attempt, 0, { kind: 'quota', reason: ownReasons.outside_hours, until })
    return []
  })
}

/**
 * Counts the message for each device where the vendor drops what exceeds a number per device and day. A device that has had them
 * moves to its next channel. After a lost reply the statement counts nothing again and refuses nobody, so such a device may be
 * sent to.
 */
async function countPerDevice(db: Database, open: readonly Limited[]): Promise<void> {
  // Certificates have their vendor's limit, unless an operator has set another: usually one statement.
  const byLimit = new Map<string, Limited[]>()
  for (const one of open) {
    const { perDevicePerDay, timeZone } = one.limits
    if (perDevicePerDay === undefined) continue
    const key = `${perDevicePerDay} ${timeZone}`
    byLimit.set(key, [...(byLimit.get(key) ?? []), one])
  }
  for (const group of byLimit.values()) {
    const { certificate, limits } = group[0]!
    await countOne(
      db,
      group.flatMap(({ attempts }) => attempts),
      certificate.adapter.name,
      limits.perDevicePerDay!,
      limits.timeZone,
    )
  }
}

async function countOne(
  db: Database,
  attempts: Attempt[],
  channel: VendorChannel,
  perDevicePerDay: number,
  timeZone: string,
): Promise<void> {
  // What was counted is noted in the batch.
  await leaveBundles({ db }, attempts)
  const batches = attempts.map(({ batch, targets }) => ({
    taskId: batch.taskId,
    id: batch.id,
    version: batch.version,
    devices: targets.map(({ deviceId }) => deviceId),
  }))
  const refused = await retrying(() => countDaily(db, channel, batches, perDevicePerDay, timeZone))
  const result: RecipientResult = {
    kind: 'rejected',
    reason: ownReasons.device_daily_limit(perDevicePerDay),
  }
  for (const [at, devices] of refused) {
    const attempt = attempts[at]!
    for (const { index, deviceId } of attempt.targets)
      if (devices.has(deviceId)) attempt.results[index] = result
    attempt.targets = attempt.targets.filter(({ index }) => attempt.results[index] === undefined)
  }
  for (const attempt of attempts) attempt.counted = [...attempt.targets]
}

/** Takes back the counts of devices that left this channel without having been sent to. To be called after the settle. */
export async function uncountUnsent(
  db: Database,
  attempts: Attempt[],
  { adapter }: ReadCertificate,
): Promise<void> {
  const batches = attempts.flatMap(({ batch, counted = [] }) => {
    const devices = counted.flatMap(({ index, deviceId }) =>
      isCounted(batch.status[index]) ? [] : [deviceId],
    )
    return devices.length > 0 ? [{ taskId: batch.taskId, id: batch.id, devices }] : []
  })
  if (batches.length > 0) await uncountDaily(db, adapter.name, batches)
}

/** Pending recipients stay counted: the next attempt does not count them again. */
function isCounted(letter: string | undefined): boolean {
  return letter === letters.sent || letter === letters.pending
}

/**
 * Returns the quota of targets that the vendor did not take. Without this, the retries of a vendor that is down for minutes use
 * up the daily quota and are shown as usage. If the process dies first, that quota is lost until the next day.
 */
export async function returnUnused(
  db: Database,
  attempts: Attempt[],
  certificate: ReadCertificate,
): Promise<void> {
  const { adapter, settings, stored } = certificate
  for (const [messageClass, some] of byClass(attempts, certificate)) {
    const unused = some.reduce((sum, attempt) => sum + countUnsent(attempt), 0)
    if (unused === 0) continue
    const { timeZone } = adapter.limits(settings, messageClass)
    await returnQuota(db, stored.id, messageClass, unused, timeZone)
  }
}

function countUnsent({ targets, results }: Attempt): number {
  let unsent = 0
  for (const { index } of targets) if (results[index]?.kind !== 'accepted') unsent++
  return unsent
}

function countTargets(attempts: Attempt[]): number {
  return attempts.reduce((sum, { targets }) => sum + targets.length, 0)
}

function byClass(attempts: Attempt[], certificate: ReadCertificate): Map<MessageClass, Attempt[]> {
  const groups = new Map<MessageClass, Attempt[]>()
  for (const attempt of attempts) {
    if (attempt.targets.length === 0) continue
    const messageClass = countedClass(attempt.task, certificate)
    const group = groups.get(messageClass)
    if (group) group.push(attempt)
    else groups.set(messageClass, [attempt])
  }
  return groups
}

/** The vendor's fields of the message can select its limit, whatever the class of the task is. */
function countedClass(task: Attempt['task'], certificate: ReadCertificate): MessageClass {
  const { adapter, settings } = certificate
  // Withdrawals and commands show nothing: vendors do not count them among the marketing messages of a device, and they must not be
  // refused as such.
  if (task.message.recall?.withdraw || task.message.type === 'cmd') return 'service'
  const ofTask = classOf(task, certificate)
  return adapter.classOf?.({ message: task.message, messageClass: ofTask }, settings) ?? ofTask
}

function refuse(attempt: Attempt, from: number, result: RecipientResult): void {
  for (const { index } of attempt.targets.splice(from)) attempt.results[index] = result
}

function requestsOf(attempts: Attempt[], { onePerDevice, tokensPerCall }: ChannelAdapter): number {
  const perCall = onePerDevice ? 1 : tokensPerCall
  return attempts.reduce((sum, { targets }) => sum + Math.ceil(targets.length / perCall), 0)
}
