import { type ActivityTarget, activityKey, takeActivities } from '@herald/db/devices'
import { type Database, retrying } from '@herald/db/store'
import {
  assignBadges,
  batchName,
  type CurrentToken,
  findReceipts,
  removedAmong,
  tokensOf,
} from '@herald/db/tasks'
import { activityTime, activityTokensOf, cardOf, changesBadge, ownReasons } from '@herald/domain'
import type { ApplicationCertificates, ReadCertificate } from '@herald/plan'
import { type Attempt, forPending } from './attempt.ts'

/**
 * Adds the pending recipients of a job with their tokens and badges to `targets`, for all its certificates at once. Those that
 * cannot be sent to get their result here.
 */
export async function loadTargets(db: Database, parts: readonly LoadedPart[]): Promise<void> {
  const attempts = parts.flatMap((part) => part.attempts)
  const { adapter } = parts[0]!.certificate
  const pending: number[] = []
  for (const { batch } of attempts) forPending(batch, (_, deviceId) => pending.push(deviceId))
  const since = Math.min(...attempts.map(({ batch }) => batch.plannedAt))
  const [tokens, badges, acknowledged, activities] = await Promise.all([
    retrying(() => tokensOf(db.pool, adapter.name, pending, since)),
    adapter.absoluteBadge ? badgesOf(db, attempts) : undefined,
    acknowledgedOf(db, attempts),
    cardOf(adapter.name).activityTokens ? activitiesOf(db, attempts) : undefined,
  ])
  const withoutToken = pending.filter((deviceId) => !tokens.has(deviceId))
  const removed =
    withoutToken.length > 0 ? await retrying(() => removedAmong(db.pool, withoutToken)) : new Set<number>()
  for (const part of parts) addTargets(part, { tokens, badges, acknowledged, removed, activities })
}

/** The attempts of one certificate, which belongs to `application`. */
export type LoadedPart = {
  attempts: Attempt[]
  certificate: ReadCertificate
  application: ApplicationCertificates
}

type Loaded = {
  tokens: Map<number, CurrentToken>
  badges?: Map<string, number[]>
  acknowledged: Set<string>
  removed: Set<number>
  activities?: Map<string, ActivityTarget[]>
}

function addTargets(
  { attempts, certificate, application }: LoadedPart,
  { tokens, badges, acknowledged, removed, activities }: Loaded,
): void {
  const { adapter, stored } = certificate
  const serves = (environment: number, region: string | undefined) => {
    const found = application.serving(adapter.name, environment, region)
    return 'stored' in found && found.stored.id === stored.id
  }
  // By region, then by environment: asked once for all bindings that have both in common.
  const served = new Map<string | undefined, readonly boolean[]>()
  const servedOf = (region: string | undefined) => {
    const known = served.get(region) ?? [0, 1].map((environment) => serves(environment, region))
    served.set(region, known)
    return known
  }
  for (const attempt of attempts) {
    const { batch, results, targets } = attempt
    const numbers = batch.badges ?? badges?.get(batchName(batch.taskId, batch.id))
    forPending(batch, (index, deviceId) => {
      // Tokens are by device: a device belongs to one application, so to one certificate of the job.
      const binding = tokens.get(deviceId)
      if (acknowledged.has(`${batch.taskId}/${deviceId}`)) results.set(index, { kind: 'acknowledged' })
      else if (removed.has(deviceId)) results.set(index, { kind: 'removed' })
      else if (!binding) results.set(index, { kind: 'rejected', reason: ownReasons.token_removed })
      else if (binding.movedAt !== undefined && binding.movedAt > batch.plannedAt)
        results.set(index, { kind: 'ownerChanged' })
      else if (binding.disabled) results.set(index, { kind: 'disabled' })
      else if (!servedOf(binding.region)[binding.environment]) {
        const isOtherRegion = servedOf(stored.region)[binding.environment]
        const reason = isOtherRegion ? ownReasons.region_changed : ownReasons.environment_changed
        results.set(index, { kind: 'rejected', reason })
      } else {
        const { token, bundleId, harmony, ios } = binding
        const recipient = {
          deviceId,
          token,
          badge: numbers?.[index],
          bundleId: bundleId ?? undefined,
          harmony,
          ios,
        }
        if (attempt.activities)
          addActivities(attempt, { index, recipient }, activities?.get(activityKey(batch.taskId, deviceId)))
        else targets.push({ index, recipient })
      }
    })
  }
}

/** Adds the activities of one device, or its result if nothing has to be sent to it. */
function addActivities(
  { results, targets, activities }: Attempt,
  { index, recipient }: Attempt['targets'][number],
  found: readonly ActivityTarget[] = [],
): void {
  const current = found.filter((one) => one !== 'superseded')
  if (current.length === 0) {
    results.set(
      index,
      found.length > 0 ? { kind: 'superseded' } : { kind: 'rejected', reason: ownReasons.no_activity_token },
    )
    return
  }
  if (current.length > 1) activities!.several.set(index, { targets: current.length, outcomes: [] })
  for (const { token, stamp } of current)
    targets.push({ index, recipient: { ...recipient, token, timestamp: stamp } })
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

function badgesOf(db: Database, attempts: Attempt[]): Promise<Map<string, number[]>> {
  const missing = attempts
    .filter(({ batch, task }) => !batch.badges && changesBadge(task.message))
    .map(({ batch, task }) => ({ ...batch, badge: task.message.badge }))
  return missing.length > 0 ? retrying(() => assignBadges(db.pool, missing)) : Promise.resolve(new Map())
}
