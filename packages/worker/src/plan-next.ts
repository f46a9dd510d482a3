import type { Database } from '@herald/db/store'
import { devicesById, retryingUntil } from '@herald/db/tasks'
import {
  type NextPlan,
  noPlan,
  type Plan,
  planDevices,
  type RouteRules,
  type SortedResults,
  triedAfter,
} from '@herald/domain'
import { type CertificateCache, rulesFor } from '@herald/plan'
import type { Attempt } from './attempt.ts'

/**
 * Routes the recipients that need another channel; reads their devices once per job. The reads are repeated until `until`, the
 * deadline of the settle: if one fails, nothing of the job is written and all of it is sent again.
 */
export async function planNext(
  deps: { db: Database; certificates: CertificateCache },
  attempts: Attempt[],
  sorted: SortedResults[],
  until: number,
): Promise<NextPlan[]> {
  const ids = attempts.flatMap(({ batch }, i) =>
    sorted[i]!.nextChannel.map(({ index }) => batch.recipients[index]!),
  )
  if (ids.length === 0) return attempts.map(() => noPlan)
  const read = await retryingUntil(until, () => devicesById(deps.db.pool, ids))
  const devices = new Map(read.map((device) => [device.id, device]))
  return Promise.all(
    attempts.map(async ({ batch, task }, i) => {
      const { nextChannel } = sorted[i]!
      if (nextChannel.length === 0) return noPlan
      const certificates = await retryingUntil(until, () => deps.certificates.of(batch.appId))
      const rules = rulesFor(task, certificates, triedAfter(batch))
      const planOf = (some: typeof nextChannel, by: RouteRules) => {
        const wanted = some.map(({ index }) => batch.recipients[index]!).sort((a, b) => a - b)
        return planDevices(
          wanted.flatMap((id) => devices.get(id) ?? []),
          by,
          task.speed,
        )
      }
      const waiting = nextChannel.filter(mayWait)
      const moved = planOf(waiting, withoutUnavailable(rules))
      const routed = new Set(recipientsOf(moved))
      const left = waiting.filter(({ index }) => !routed.has(batch.recipients[index]!))
      const failed = planOf(
        nextChannel.filter((one) => !mayWait(one)),
        rules,
      )
      return {
        batches: [...moved.batches, ...failed.batches],
        inbox: [...moved.inbox, ...failed.inbox],
        unreachable: moved.unreachable + failed.unreachable,
        otherUnavailable: new Set(recipientsOf(planOf(left, rules))),
      }
    }),
  )
}

const recipientsOf = ({ batches }: Plan) => batches.flatMap(({ recipients }) => recipients)

const mayWait = ({ waitIfNone }: SortedResults['nextChannel'][number]) => waitIfNone !== undefined

/**
 * For recipients that can wait for their present channel. One that does not send either may be closed for months, and recipients moved to
 * it would not return.
 */
function withoutUnavailable(rules: RouteRules): RouteRules {
  return {
    ...rules,
    statusOf(...binding) {
      const status = rules.statusOf(...binding)
      return status.unavailable ? { unusable: status.unavailable } : status
    },
  }
}
