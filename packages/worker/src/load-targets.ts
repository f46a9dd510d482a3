import { type ActivityTarget, activityKey, takeActivities } from '@herald/db/devices'
import { type Database, retrying } from '@herald/db/store'
import {
  assignBadges,
  assignBundleBadges,
  type BindingDetails,
  batchName,
  type CurrentTokens,
  findReceipts,
  removedAmong,
  tokensOf,
} from '@herald/db/tasks'
import { activityTime, activityTokensOf, cardOf, changesBadge, ownReasons, type Reason } from '@herald/domain'
import type { ApplicationCertificates, ReadCertificate } from '@herald/plan'
import { type Attempt, forPending, type Target } from './attempt.ts'

/**
 * Adds the pending recipients of a job with their tokens and badges to `targets`, for all its certificates at once. Those that
 * cannot be sent to get their result here.
 */
export async function loadTargets(db: Database, parts: readonly LoadedPart[]): Promise<void> {
  const attempts = parts.flatMap((part) => part.attempts)
  const { adapter } = parts[0]!.certificate
  const pending: number[] = []
  for (const { batch } of attempts) forPending(batch, (_, deviceId) => pending.push(deviceId))
  const since = attempts.reduce((least, { batch }) => Math.min(least, batch.plannedAt), Infinity)
  const [current, badges, acknowledged, activities] = await Promise.all([
    retrying(() => tokensOf(db.pool, adapter.name, pending, since)),
    adapter.absoluteBadge ? badgesOf(db, attempts) : undefined,
    acknowledgedOf(db, attempts),
    cardOf(adapter.name).activityTokens ? activitiesOf(db, attempts) : undefined,
  ])
  const withoutToken = pending.filter((_, position) => current.tokens[position] === undefined)
  const removed =
    withoutToken.length > 0 ? await retrying(() => removedAmong(db.pool, withoutToken)) : new Set<number>()
  let position = 0
  const loaded = { current, badges, acknowledged, removed, activities }
  for (const part of parts) position = addTargets(part, loaded, position)
}

/** The attempts of one certificate, which belongs to `application`. */
export type LoadedPart = {
  attempts: Attempt[]
  certificate: ReadCertificate
  application: ApplicationCertificates
}

type Loaded = {
  /** In the order of the pending recipients of all parts. */
  current: CurrentTokens
  badges?: Map<string, number[]>
  acknowledged: Set<string>
  removed: Set<number>
  activities?: Map<string, ActivityTarget[]>
}

/** `position` is that of the part's first pending recipient among those of all parts. Returns the position after its last. */
function addTargets(
  { attempts, certificate, application }: LoadedPart,
  { current, badges, acknowledged, removed, activities }: Loaded,
  position: number,
): number {
  const problemOf = servingRules(certificate, application)
  let next = position
  for (const attempt of attempts) {
    const { batch, results, targets } = attempt
    const numbers = batch.badges ?? badges?.get(batchName(batch.taskId, batch.id))
    forPending(batch, (index, deviceId) => {
      const token = current.tokens[next]
      const details = current.detailsOf(next++)
      const { movedAt, disabled, bundleId, harmony, ios } = details
      if (acknowledged.size > 0 && acknowledged.has(`${batch.taskId}/${deviceId}`))
        results[index] = { kind: 'acknowledged' }
      else if (token === undefined)
        results[index] = removed.has(deviceId)
          ? { kind: 'removed' }
          : { kind: 'rejected', reason: ownReasons.token_removed }
      else if (movedAt !== undefined && movedAt > batch.plannedAt) results[index] = { kind: 'ownerChanged' }
      else if (disabled) results[index] = { kind: 'disabled' }
      else {
        const reason = problemOf(details)
        if (reason) results[index] = { kind: 'rejected', reason }
        else {
          const target = { index, deviceId, token, badge: numbers?.[index], bundleId, harmony, ios }
          if (attempt.activities)
            addActivities(attempt, target, activities?.get(activityKey(batch.taskId, deviceId)))
          else targets.push(target)
        }
      }
    })
  }
  return next
}

/** Returns why the certificate does not serve a binding any more, or undefined. */
function servingRules(
  { adapter, stored }: ReadCertificate,
  application: ApplicationCertificates,
): (details: BindingDetails) => Reason | undefined {
  const serves = (environment: number, region: string | undefined) => {
    const found = application.serving(adapter.name, environment, region)
    return 'stored' in found && found.stored.id === stored.id
  }
  const problemOf = ({ environment, region }: BindingDetails) => {
    if (serves(environment, region)) return undefined
    return serves(environment, stored.region) ? ownReasons.region_changed : ownReasons.environment_changed
  }
  // Asked once for all bindings that have region and environment in common.
  const known = new Map<string, Reason | undefined>()
  let last: { details: BindingDetails; reason: Reason | undefined } | undefined
  return (details) => {
    if (last?.details === details) return last.reason
    const key = `${details.environment} ${details.region ?? ''}`
    if (!known.has(key)) known.set(key, problemOf(details))
    last = { details, reason: known.get(key) }
    return last.reason
  }
}

/** Adds the activities of one device, or its result if nothing has to be sent to it. */
function addActivities(
  { results, targets, activities }: Attempt,
  target: Target,
  found: readonly ActivityTarget[] = [],
): void {
  const current = found.filter((one) => one !== 'superseded')
  if (current.length === 0) {
    results[target.index] =
      found.length > 0 ? { kind: 'superseded' } : { kind: 'rejected', reason: ownReasons.no_activity_token }
    return
  }
  if (current.length > 1) activities!.several.set(target.index, { targets: current.length, outcomes: [] })
  for (const { token, stamp } of current) targets.push({ ...target, token, timestamp: stamp })
}

/** Returns the tokens of attempts to update Live Activities, which are marked as such. */
async function activitiesOf(
  db: Database,
  attempts: Attempt[],
): Promise<Map<string, ActivityTarget[]> | undefined> {
  const updates = attempts.flatMap((attempt) => {
    const { batch, task } = attempt
    const wanted = activityTokensOf(task)
    if (!wanted) return []
    attempt.activities = { several: new Map(), ended: [] }
    const deviceIds: number[] = []
    forPending(batch, (_, deviceId) => deviceIds.push(deviceId))
    return [{ ...wanted, taskId: task.taskId, deviceIds, at: activityTime(task.message, task.beginAt) }]
  })
  return updates.length > 0 ? retrying(() => takeActivities(db.pool, updates)) : undefined
}

/** Returns the devices whose native acknowledgement arrived after the fallback to this channel was planned. */
function acknowledgedOf(db: Database, attempts: Attempt[]): Promise<Set<string>> {
  const keys: { taskId: number; deviceId: number }[] = []
  for (const { batch } of attempts) {
    if (!batch.tried.includes('native')) continue
    forPending(batch, (_, deviceId) => keys.push({ taskId: batch.taskId, deviceId }))
  }
  return keys.length > 0 ? retrying(() => findReceipts(db.pool, keys)) : Promise.resolve(new Set())
}

async function badgesOf(db: Database, attempts: Attempt[]): Promise<Map<string, number[]>> {
  const missing = attempts.filter(({ batch, task }) => !batch.badges && changesBadge(task.message))
  if (missing.length === 0) return new Map()
  const singles = missing.flatMap(({ batch: { bundle }, task }) =>
    bundle ? [{ bundle, badge: task.message.badge }] : [],
  )
  // A job has a bundle or batches, never both.
  if (singles.length === missing.length) {
    const numbers = await retrying(() => assignBundleBadges(db.pool, singles))
    missing.forEach(({ batch }, at) => {
      const number = numbers[at]
      if (number !== undefined) batch.badges = [number]
    })
    return new Map()
  }
  const batches = missing.map(({ batch, task }) => ({ ...batch, badge: task.message.badge }))
  return retrying(() => assignBadges(db.pool, batches))
}
