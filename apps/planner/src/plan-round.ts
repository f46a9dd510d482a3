import type { Database } from '@herald/db/store'
import {
  beginDueTask,
  devicePage,
  finishPlanning,
  type PlannedTask,
  PlanningFailed,
  planPage,
  resolveSmallAudiences,
} from '@herald/db/tasks'
import { type Plan, type PlanDevice, planDevices } from '@herald/domain'
import { type CertificateCache, rulesFor } from '@herald/plan'

/** Maximum number of devices per page; limits the planner's memory for audiences of any size. */
const PAGE_DEVICES = 20_000
const POSTPONE_MS = 10_000

export type PlanDeps = {
  db: Database
  certificates: CertificateCache
  /** Tasks that could not be planned, with the `performance.now()` of their next attempt; other tasks do not wait for them. */
  postponed: Map<number, number>
  onPlanningFailed(error: unknown, taskId: number): void
  /** The planning of a task has begun; for a small audience it is complete. */
  onBegun(taskId: number, large: boolean): void
  /** Called with each committed plan. */
  onPlanned(plan: Plan): void
}

/** Begins one due task and plans one page of a large one. Returns whether there may be more to do. */
export async function planRound(deps: PlanDeps): Promise<boolean> {
  const { db } = deps
  const begun = await postponing(deps, (except) =>
    beginDueTask(db, except, async (task) => {
      const [devices] = await resolveSmallAudiences(db, [task])
      return devices && (await planOf(deps, task, devices))
    }),
  )
  if (begun && begun !== 'postponed') {
    deps.onBegun(begun.taskId, begun.plan === undefined)
    if (begun.plan) deps.onPlanned(begun.plan)
  }
  const paged = await postponing(deps, (except) =>
    planPage(db, except, async ({ task, lo, hi }, runner) => {
      const found = await devicePage(runner, task, { lo, hi, max: PAGE_DEVICES })
      return found && { plan: await planOf(deps, task, found.devices), devices: found.count }
    }),
  )
  const page = paged === 'postponed' ? undefined : paged
  if (page?.plan) deps.onPlanned(page.plan)
  // Not only when idle: otherwise a task would stay in planning for as long as other tasks are planned.
  if (page?.last || (!begun && !paged)) await finishPlanning(db)
  return begun !== undefined || paged !== undefined
}

async function planOf(deps: PlanDeps, task: PlannedTask, devices: Iterable<PlanDevice>): Promise<Plan> {
  return planDevices(devices, rulesFor(task, await deps.certificates.of(task.appId)), task.speed)
}

/** Without it the oldest task would be retried for ever when it fails, and the later tasks of all tenants would wait. */
async function postponing<T>(
  deps: PlanDeps,
  work: (except: number[]) => Promise<T>,
): Promise<T | 'postponed'> {
  const now = performance.now()
  for (const [taskId, until] of deps.postponed) if (until <= now) deps.postponed.delete(taskId)
  try {
    return await work([...deps.postponed.keys()])
  } catch (error) {
    if (!(error instanceof PlanningFailed)) throw error
    deps.postponed.set(error.taskId, now + POSTPONE_MS)
    deps.onPlanningFailed(error, error.taskId)
    return 'postponed'
  }
}
