import { type Database, retrying } from '@herald/db/store'
import { assignBadges, batchName, receiptsAmong, tokensOf } from '@herald/db/tasks'
import type { CertificateBook, ReadCertificate } from '@herald/plan'
import { type Attempt, forPending } from './attempt.ts'

/** Present tokens and badges of everyone pending; who cannot be sent to any more is answered here. */
export async function loadRecipients(
  deps: { db: Database; certificates: CertificateBook },
  attempts: Attempt[],
  { adapter, stored }: ReadCertificate,
): Promise<void> {
  const pending: number[] = []
  for (const { batch } of attempts) forPending(batch, (_, deviceId) => pending.push(deviceId))
  const since = Math.min(...attempts.map(({ batch }) => batch.plannedAt))
  const [tokens, badges, application, acknowledged] = await Promise.all([
    retrying(() => tokensOf(deps.db.pool, adapter.name, pending, since)),
    adapter.absoluteBadge ? badgesOf(deps.db, attempts) : undefined,
    deps.certificates.of(stored.application),
    acknowledgedOf(deps.db, attempts),
  ])
  const served = [0, 1].map((environment) => {
    const found = application.serving(adapter.name, environment)
    return 'stored' in found && found.stored.id === stored.id
  })
  for (const { batch, answers, recipients } of attempts) {
    const numbers = batch.badges ?? badges?.get(batchName(batch.taskId, batch.id))
    forPending(batch, (index, deviceId) => {
      const binding = tokens.get(deviceId)
      if (acknowledged.has(`${batch.taskId}/${deviceId}`)) answers.set(index, { kind: 'acknowledged' })
      else if (!binding)
        answers.set(index, { kind: 'rejected', reason: 'the device has no token on this channel any more' })
      else if (binding.movedAt !== undefined && binding.movedAt > batch.plannedAt)
        answers.set(index, { kind: 'left' })
      else if (!served[binding.environment]) {
        answers.set(index, { kind: 'rejected', reason: 'the token belongs to another environment now' })
      } else {
        const { token, bundleId, harmony } = binding
        recipients.push({
          index,
          recipient: {
            deviceId,
            token,
            badge: numbers?.[index],
            bundleId: bundleId ?? undefined,
            harmony,
          },
        })
      }
    })
  }
}

/** Devices that were late with their native acknowledgement, but not too late. */
function acknowledgedOf(db: Database, attempts: Attempt[]): Promise<Set<string>> {
  const keys: { taskId: number; deviceId: number }[] = []
  for (const { batch } of attempts) {
    if (!batch.tried.includes('native')) continue
    forPending(batch, (_, deviceId) => keys.push({ taskId: batch.taskId, deviceId }))
  }
  return keys.length > 0 ? retrying(() => receiptsAmong(db.pool, keys)) : Promise.resolve(new Set())
}

function badgesOf(db: Database, attempts: Attempt[]): Promise<Map<string, number[]>> {
  const wishes = attempts
    .filter(({ batch, task }) => !batch.badges && task.message.type !== 'cmd')
    .map(({ batch, task }) => ({ ...batch, badge: task.message.badge }))
  return wishes.length > 0 ? retrying(() => assignBadges(db.pool, wishes)) : Promise.resolve(new Map())
}
