import { type Database, isTransient } from '@herald/db/store'
import {
  beginTasks,
  type DueTasks,
  giveBackDue,
  type PlannedTask,
  PlanningFailed,
  resolveSmallAudiences,
  type TaskToBegin,
  takeDueTasks,
} from '@herald/db/tasks'
import type { Lane, Plan, PlanDevice } from '@herald/domain'
import { planOf, type RoutingDeps } from './plan-round.ts'
import type { Postponed } from './postponed.ts'

/** Maximum number of tasks per commit: a commit costs as much for one task as for ten. */
const MAX_GROUP = 64
/** The rest of a group is left to the lane normal, so that due tasks of the lane high cannot keep it from beginning. */
const MAX_HIGH = 48

export type BeginDeps = RoutingDeps & {
  db: Database
  postponed: Postponed
  /** Where each lane's next turn begins; kept between rounds. */
  dueTurns: Record<Lane, string>
  /** The planning of these tasks has begun; for those that are not large it is complete. */
  onBegun(tasks: { taskId: number; large: boolean }[]): void
  /** Called with each committed plan. */
  onPlanned(plan: Plan): void
}

/** Begins a group of due tasks, high lane first. Returns whether there may be more to do. */
export async function beginRound(deps: BeginDeps): Promise<boolean> {
  const groups: DueTasks[] = []
  try {
    for (const lane of ['high', 'normal'] as const) {
      const taken = groups.reduce((sum, { tasks }) => sum + tasks.length, 0)
      const group = await takeDueTasks(deps.db, {
        lane,
        after: deps.dueTurns[lane],
        max: lane === 'high' ? MAX_HIGH : MAX_GROUP - taken,
        except: deps.postponed.ids(),
      })
      deps.dueTurns[lane] = group?.after ?? ''
      if (group) groups.push(group)
    }
    for (const failure of groups.flatMap(({ failed }) => failed)) await deps.postponed.add(failure)
    await beginGroup(
      deps,
      groups.flatMap(({ tasks }) => tasks),
    )
  } finally {
    // Otherwise the other due tasks of these applications would wait until the lease ends. If Postgres is gone, they do.
    for (const { lease } of groups) await giveBackDue(deps.db, lease).catch(() => {})
  }
  return groups.length > 0
}

/** If the stored data of one task makes a statement fail, the group is halved until that task is alone. */
async function beginGroup(deps: BeginDeps, tasks: PlannedTask[]): Promise<void> {
  if (tasks.length === 0) return
  try {
    await beginTogether(deps, tasks)
  } catch (error) {
    if (isTransient(error)) throw error
    if (tasks.length === 1) return deps.postponed.add(new PlanningFailed(tasks[0]!.taskId, error))
    const middle = Math.ceil(tasks.length / 2)
    await beginGroup(deps, tasks.slice(0, middle))
    await beginGroup(deps, tasks.slice(middle))
  }
}

async function beginTogether(deps: BeginDeps, tasks: PlannedTask[]): Promise<void> {
  const audiences = await resolveSmallAudiences(deps.db, tasks)
  const planned: TaskToBegin[] = []
  for (const [i, task] of tasks.entries()) {
    try {
      planned.push({ taskId: task.taskId, plan: await smallPlan(deps, task, audiences[i]) })
    } catch (error) {
      if (isTransient(error)) throw error
      await deps.postponed.add(new PlanningFailed(task.taskId, error))
    }
  }
  const begun = await beginTasks(deps.db, planned)
  const mine = planned.filter(({ taskId }) => begun.has(taskId))
  if (mine.length > 0) deps.onBegun(mine.map(({ taskId, plan }) => ({ taskId, large: plan === undefined })))
  for (const { plan } of mine) if (plan) deps.onPlanned(plan)
}

async function smallPlan(
  deps: RoutingDeps,
  task: PlannedTask,
  devices: PlanDevice[] | undefined,
): Promise<Plan | undefined> {
  return devices && planOf(deps, task, devices)
}
