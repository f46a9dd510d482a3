import {
  beginDueTask,
  closePlanning,
  type Database,
  devicePage,
  PlanningFailed,
  planPage,
  resolveSmallAudiences,
} from '@herald/db'
import { type Plan, planDevices } from '@herald/domain'
import { type CertificateBook, rulesFor } from '@herald/plan'

/** Most devices of one page: what a planner holds in memory, whatever the size of the audience. */
const PAGE_DEVICES = 20_000
const SHUN_MS = 10_000

export type PlanDeps = {
  db: Database
  certificates: CertificateBook
  /** Tasks that could not be planned and when (monotonic ms) they get another try; nobody waits behind them. */
  shunned: Map<number, number>
  onFailure(error: PlanningFailed): void
  /** A task's planning has begun; a small audience's is done with it. */
  onBegun?(taskId: number, large: boolean): void
  /** Told what was committed. */
  onPlanned?(plan: Plan): void
}

/** Begins one due task or plans one page of a large one. Answers whether there may be more. */
export async function planRound(deps: PlanDeps): Promise<boolean> {
  let small: Plan | undefined
  let begunTask: number | undefined
  const begun = await shunning(deps, (but) =>
    beginDueTask(deps.db, but, async (task) => {
      const [devices] = await resolveSmallAudiences(deps.db, [task])
      small =
        devices && planDevices(devices, rulesFor(task, await deps.certificates.of(task.appId)), task.speed)
      begunTask = task.taskId
      return small
    }),
  )
  if (begunTask !== undefined) deps.onBegun?.(begunTask, small === undefined)
  if (small) deps.onPlanned?.(small)
  let page: Plan | undefined
  const paged = await shunning(deps, (but) =>
    planPage(deps.db, but, async ({ task, lo, hi }, runner) => {
      const certificates = await deps.certificates.of(task.appId)
      const found = await devicePage(runner, task, { lo, hi, most: PAGE_DEVICES })
      page = found && planDevices(found.devices, rulesFor(task, certificates), task.speed)
      return found && page && { plan: page, devices: found.count }
    }),
  )
  if (page) deps.onPlanned?.(page)
  if (!begun && !paged) await closePlanning(deps.db)
  return begun || paged
}

/** Without it the oldest task that fails would be tried for ever, and every tenant's later ones would wait. */
async function shunning(deps: PlanDeps, work: (but: number[]) => Promise<boolean>): Promise<boolean> {
  const now = performance.now()
  for (const [taskId, until] of deps.shunned) if (until <= now) deps.shunned.delete(taskId)
  try {
    return await work([...deps.shunned.keys()])
  } catch (error) {
    if (!(error instanceof PlanningFailed)) throw error
    deps.shunned.set(error.taskId, now + SHUN_MS)
    deps.onFailure(error)
    return true
  }
}
