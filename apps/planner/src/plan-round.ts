import type { Database } from '@herald/db/store'
import {
  beginDueTask,
  closePlanning,
  devicePage,
  type PlannedTask,
  PlanningFailed,
  planPage,
  resolveSmallAudiences,
} from '@herald/db/tasks'
import { type Plan, type PlanDevice, planDevices } from '@herald/domain'
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
  onBegun(taskId: number, large: boolean): void
  /** Told what was committed. */
  onPlanned(plan: Plan): void
}

/** Begins one due task and plans one page of a large one. Answers whether there may be more. */
export async function planRound(deps: PlanDeps): Promise<boolean> {
  const { db } = deps
  const begun = await shunning(deps, (but) =>
    beginDueTask(db, but, async (task) => {
      const [devices] = await resolveSmallAudiences(db, [task])
      return devices && (await planOf(deps, task, devices))
    }),
  )
  if (begun && begun !== 'shunned') {
    deps.onBegun(begun.taskId, begun.plan === undefined)
    if (begun.plan) deps.onPlanned(begun.plan)
  }
  const paged = await shunning(deps, (but) =>
    planPage(db, but, async ({ task, lo, hi }, runner) => {
      const found = await devicePage(runner, task, { lo, hi, most: PAGE_DEVICES })
      return found && { plan: await planOf(deps, task, found.devices), devices: found.count }
    }),
  )
  const page = paged === 'shunned' ? undefined : paged
  if (page?.plan) deps.onPlanned(page.plan)
  // Not only at rest: a task would stay in planning, and so unfinished, for as long as anybody else's is planned.
  if (page?.last || (!begun && !paged)) await closePlanning(db)
  return begun !== undefined || paged !== undefined
}

async function planOf(deps: PlanDeps, task: PlannedTask, devices: Iterable<PlanDevice>): Promise<Plan> {
  return planDevices(devices, rulesFor(task, await deps.certificates.of(task.appId)), task.speed)
}

/** Without it the oldest task that fails would be tried for ever, and every tenant's later ones would wait. */
async function shunning<T>(deps: PlanDeps, work: (but: number[]) => Promise<T>): Promise<T | 'shunned'> {
  const now = performance.now()
  for (const [taskId, until] of deps.shunned) if (until <= now) deps.shunned.delete(taskId)
  try {
    return await work([...deps.shunned.keys()])
  } catch (error) {
    if (!(error instanceof PlanningFailed)) throw error
    deps.shunned.set(error.taskId, now + SHUN_MS)
    deps.onFailure(error)
    return 'shunned'
  }
}
