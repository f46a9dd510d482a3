import { type Database, retrying } from '@herald/db/store'
import { devicesById } from '@herald/db/tasks'
import { type Plan, planDevices, type SortedResults, triedAfter } from '@herald/domain'
import { type CertificateCache, rulesFor } from '@herald/plan'
import type { Attempt } from './attempt.ts'

export const noPlan: Plan = { batches: [], inbox: [], unreachable: 0 }

/** Routes the recipients that need another channel; reads their devices once per job. */
export async function planNext(
  deps: { db: Database; certificates: CertificateCache },
  attempts: Attempt[],
  sorted: SortedResults[],
): Promise<Plan[]> {
  const ids = attempts.flatMap(({ batch }, i) =>
    sorted[i]!.nextChannel.map(({ index }) => batch.recipients[index]!),
  )
  if (ids.length === 0) return attempts.map(() => noPlan)
  const devices = new Map(
    (await retrying(() => devicesById(deps.db.pool, ids))).map((device) => [device.id, device]),
  )
  return Promise.all(
    attempts.map(async ({ batch, task }, i) => {
      const wanted = sorted[i]!.nextChannel.map(({ index }) => batch.recipients[index]!).sort((a, b) => a - b)
      if (wanted.length === 0) return noPlan
      const rules = rulesFor(task, await deps.certificates.of(batch.appId), triedAfter(batch))
      return planDevices(
        wanted.flatMap((id) => devices.get(id) ?? []),
        rules,
        task.speed,
      )
    }),
  )
}
