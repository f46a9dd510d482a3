import { type Database, isTransient } from '@herald/db/store'
import {
  beginRecall,
  beginTasks,
  type DueTask,
  type DueTasks,
  finishPlanning,
  giveBackDue,
  type PlannedTask,
  PlanningFailed,
  resolveSmallAudiences,
  singleToBegin,
  type TaskToBegin,
  takeDueTasks,
} from '@herald/db/tasks'
import { type Lane, type Plan, type PlanDevice, planDevices } from '@herald/domain'
import { closedCertificates, rulesFor } from '@herald/plan'
import type { RoutingDeps } from './plan-round.ts'
import type { Postponed } from './postponed.ts'

/** Tasks per turn: the statements that take them, and the commit that begins them, cost little more for 500 than for 50. */
const MAX_GROUP = 512
/** The rest of a group is left to the lane normal, so that due tasks of the lane high cannot keep it from beginning. */
const MAX_HIGH = 384
/** Audiences that are resolved together, of up to a thousand devices each. */
const RESOLVED_TOGETHER = 64
/** The next commit begins above this: limits its time and the planner's memory. */
const RECIPIENTS_PER_COMMIT = 10_000

export type BeginDeps = RoutingDeps & {
  db: Database
  postponed: Postponed
  /** Where each lane's next turn begins; kept between rounds. */
  dueTurns: Record<Lane, string>
  /** The planning of these tasks has begun; for those that are not large it is complete. */
  onBegun(tasks: { taskId: number; large: boolean }[]): void
  /** Called with each committed plan. */
  onPlanned(plan: Plan): void
  /** Whether tasks to one device each may wait for the feeder in bundles. */
  mayWaitInBundle(): Promise<boolean>
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
    const due = groups.flatMap(({ tasks }) => tasks)
    await beginAll(
      deps,
      due.filter(({ audience }) => audience.kind !== 'recall'),
    )
    for (const task of due) if (task.audience.kind === 'recall') await beginOneRecall(deps, task)
  } finally {
    // Otherwise the other due tasks of these applications would wait until the lease ends. If Postgres is gone, they do.
    for (const { lease } of groups) await giveBackDue(deps.db, lease).catch(() => {})
  }
  return groups.length > 0
}

/** Recalls are few. One whose first task is still being sent waits. */
async function beginOneRecall(deps: BeginDeps, { taskId, audience }: PlannedTask): Promise<void> {
  const { taskId: firstId } = audience as Extract<PlannedTask['audience'], { kind: 'recall' }>
  if (!(await beginRecall(deps.db, taskId, firstId))) return deps.postponed.wait(taskId)
  // Without a batch there is no page to plan, and so no last one.
  await finishPlanning(deps.db, [taskId])
  deps.onBegun([{ taskId, large: true }])
}

async function beginAll(deps: BeginDeps, tasks: DueTask[]): Promise<void> {
  let planned: TaskToBegin[] = []
  for (let at = 0; at < tasks.length; at += RESOLVED_TOGETHER) {
    planned.push(...(await planTogether(deps, tasks.slice(at, at + RESOLVED_TOGETHER))))
    if (recipientsOf(planned) < RECIPIENTS_PER_COMMIT) continue
    await beginTogether(deps, planned)
    planned = []
  }
  await beginTogether(deps, planned)
}

function recipientsOf(tasks: readonly TaskToBegin[]): number {
  const ofPlan = ({ batches, inbox }: Plan) =>
    batches.reduce((sum, { recipients }) => sum + recipients.length, inbox.length)
  return tasks.reduce((sum, { plan }) => sum + (plan ? ofPlan(plan) : 0), 0)
}

/** If the stored data of one task makes a statement fail, the group is halved until that task is alone. */
async function eachHalf<T extends { taskId: number }>(
  deps: BeginDeps,
  tasks: T[],
  work: (tasks: T[]) => Promise<void>,
): Promise<void> {
  if (tasks.length === 0) return
  try {
    await work(tasks)
  } catch (error) {
    if (isTransient(error)) throw error
    if (tasks.length === 1) return deps.postponed.add(new PlanningFailed(tasks[0]!.taskId, error))
    const middle = Math.ceil(tasks.length / 2)
    await eachHalf(deps, tasks.slice(0, middle), work)
    await eachHalf(deps, tasks.slice(middle), work)
  }
}

async function planTogether(deps: BeginDeps, tasks: DueTask[]): Promise<TaskToBegin[]> {
  const planned: TaskToBegin[] = []
  const mayBundle = await deps.mayWaitInBundle()
  await eachHalf(deps, tasks, async (some) => {
    const { audiences, readAt } = await resolveSmallAudiences(deps.db, some)
    const plans: TaskToBegin[] = []
    for (const [i, task] of some.entries()) {
      try {
        plans.push({ ...(await planSmall(deps, task, audiences[i], mayBundle)), readAt })
      } catch (error) {
        if (isTransient(error)) throw error
        await deps.postponed.add(new PlanningFailed(task.taskId, error))
      }
    }
    // At the end: after an error the halves are planned again.
    planned.push(...plans)
  })
  return planned
}

async function beginTogether(deps: BeginDeps, planned: TaskToBegin[]): Promise<void> {
  await eachHalf(deps, planned, async (some) => {
    const begun = await beginTasks(deps.db, some)
    const mine = some.filter(({ taskId }) => begun.has(taskId))
    // Of an application without devices there is no page to plan, and so no last one.
    const large = mine.filter(({ plan }) => plan === undefined).map(({ taskId }) => taskId)
    if (large.length > 0) await finishPlanning(deps.db, large)
    if (mine.length > 0) deps.onBegun(mine.map(({ taskId, plan }) => ({ taskId, large: plan === undefined })))
    for (const { plan } of mine) if (plan) deps.onPlanned(plan)
  })
}

async function planSmall(
  { certificates }: RoutingDeps,
  task: DueTask,
  devices: PlanDevice[] | undefined,
  mayBundle: boolean,
): Promise<TaskToBegin> {
  const { taskId } = task
  if (!devices) return { taskId }
  const rules = rulesFor(task, await certificates.of(task.appId))
  const plan = planDevices(devices, rules, task.speed)
  const single = mayBundle ? singleToBegin(task, plan) : undefined
  // What waits for a certificate waits in batches, of which any number may wait.
  const isClosed = single && closedCertificates(devices, rules)?.has(single.certificateId)
  return { taskId, plan, single: isClosed ? undefined : single }
}
