import { setImmediate as nextTurn } from 'node:timers/promises'
import { createFairQueue, tokenBuckets } from '@herald/async'
import { type Database, isUnreachable } from '@herald/db/store'
import {
  type AcceptedTask,
  AcceptInDoubt,
  acceptTasks,
  mayBundle,
  PartlyAccepted,
  resolveSmallAudiences,
  type TaskToAccept,
} from '@herald/db/tasks'
import { type NewTask, type Plan, planDevices } from '@herald/domain'
import type { PushQueues } from '@herald/queue'
import { createBundleRoom } from './bundle-room.ts'
import type { ApplicationCertificates, CertificateCache } from './certificate-cache.ts'
import { closedCertificates } from './closed-certificates.ts'
import { enqueue, queueOf } from './jobs.ts'
import { createBacklogCheck } from './queue-backlog.ts'
import { rulesFor } from './rules.ts'

export type Acceptor = {
  /** Resolves after the commit. A request id that was used before gives the id of the first task. */
  accept(task: NewTask): Promise<Accepted>
  /** Resolves when every waiting task is committed and its jobs are added. */
  close(): Promise<void>
}

/** `fresh` is false when the request id was used before. */
export type Accepted = { taskId: number; fresh: boolean }

/** Maximum number of requests per commit; with more, the first would wait for the planning of the last. */
const MAX_GROUP = 64
/** Maximum number of groups in progress: one plans while another waits for its fsync. */
const MAX_GROUPS = 3
/**
 * While a group is in progress, the next one starts with at least this many requests or at its end. A commit, and each statement
 * of the worker that runs the job, costs as much for one request as for ten.
 */
const MIN_GROUP = MAX_GROUP / 2
/** A group that takes longer may wait for a connection that does not answer. The next one then starts with fewer than MIN_GROUP requests. */
const SLOW_GROUP_MS = 1_000
/** Maximum number of event loop turns that a group waits for more requests: a few milliseconds when busy, none when idle. */
const MAX_TURNS = 8

/** More than Postgres writes per second: a later request would wait longer than its caller does. */
const MAX_WAITING = { perKey: 4_000, all: 5_000 }

/**
 * Small pushes that an application may add to a queue per second before it counts as busy. On a slow machine a flood is a few hundred per
 * second, shared by several API processes.
 */
const DIRECT_PUSHES = { perSecond: 25, burst: 25 }
/** How long it counts as busy after it had more. */
const BUSY_MS = 2_000
const MAX_BUSY = 10_000

/** The task was not accepted because too many wait to be written. */
export class AcceptorFull extends Error {}

type Waiting = { task: NewTask; resolve(answer: Accepted): void; reject(error: unknown): void }

/**
 * Accepts tasks in groups: requests that arrive while earlier groups are being committed share the next commit. A single
 * request does not wait, and a thousand concurrent ones cost a few fsyncs. Applications take turns: a request waits for one
 * of each other application, not for all that came before.
 */
export function createAcceptor(deps: {
  db: Database
  queues: PushQueues
  certificates: CertificateCache
  /** `tasks` are the tasks whose jobs could not be added to the queue. */
  onQueueFailure(error: unknown, tasks: number[]): void
  /** Called with the plans of the small audiences of a commit. */
  onPlanned?(plans: readonly Plan[]): void
}): Acceptor {
  const isBacklogged = createBacklogCheck(deps.queues)
  const isBusy = createBusyCheck()
  const mayWait = createBundleRoom(deps.db)
  const waiting = createFairQueue<Waiting>(MAX_WAITING)
  /** When each group in progress began, the oldest first. */
  const running = new Map<Promise<void>, number>()
  let slowTimer: NodeJS.Timeout | undefined
  const adding = new Set<Promise<void>>()

  /** Waits until a turn of the event loop brings no further request, so that requests read together share a group. */
  let collecting = false
  async function collect(): Promise<void> {
    if (collecting) return
    collecting = true
    for (let turn = 0, seen = 0; turn < MAX_TURNS; turn++) {
      if (waiting.size() === seen || waiting.size() >= MAX_GROUP) break
      seen = waiting.size()
      await nextTurn()
    }
    collecting = false
    startGroups()
  }

  function startGroups(): void {
    while (waiting.size() > 0 && running.size < MAX_GROUPS) {
      const [oldest = Number.NEGATIVE_INFINITY] = running.values()
      const untilSlow = SLOW_GROUP_MS - (performance.now() - oldest)
      if (waiting.size() < MIN_GROUP && untilSlow > 0) {
        clearTimeout(slowTimer)
        slowTimer = setTimeout(startGroups, untilSlow).unref()
        return
      }
      const group = waiting.take(MAX_GROUP)
      const work = acceptGroup(group).finally(() => {
        running.delete(work)
        collect()
      })
      running.set(work, performance.now())
    }
  }

  async function acceptGroup(group: Waiting[]): Promise<void> {
    try {
      answer(group, await commit(group.map(({ task }) => task)))
    } catch (error) {
      if (error instanceof PartlyAccepted) answer(group, error.accepted, error.cause)
      // A server in trouble would refuse each part as well, and would get many times the load.
      else if (group.length === 1 || isUnreachable(error) || error instanceof AcceptInDoubt)
        answer(group, [], error)
      else {
        // The error of one request must not fail the others. Halves find it with few statements.
        const half = Math.ceil(group.length / 2)
        await acceptGroup(group.slice(0, half))
        await acceptGroup(group.slice(half))
      }
    }
  }

  function answer(group: Waiting[], accepted: readonly (AcceptedTask | undefined)[], error?: unknown): void {
    group.forEach(({ resolve, reject }, i) => {
      const task = accepted[i]
      if (task) resolve({ taskId: task.taskId, fresh: task.fresh })
      else reject(error)
    })
    const jobs = enqueue(
      deps.queues,
      accepted.flatMap((task) => task?.released ?? []),
      deps.onQueueFailure,
    ).finally(() => adding.delete(jobs))
    adding.add(jobs)
  }

  async function commit(tasks: NewTask[]): Promise<AcceptedTask[]> {
    const planned = await planSmall(tasks, await mayBundle(deps.db))
    const accepted = await acceptTasks(deps.db, planned)
    deps.onPlanned?.(planned.flatMap(({ plan }, i) => (plan && accepted[i]!.fresh ? [plan] : [])))
    return accepted
  }

  async function planSmall(tasks: NewTask[], mayBundle: boolean): Promise<TaskToAccept[]> {
    // Whether a begin time has come is decided by the clock of Postgres, in the planner.
    const now = tasks.filter(({ message }) => message.showBegin === undefined)
    const { audiences, readAt } = await resolveSmallAudiences(deps.db, now)
    const planned: TaskToAccept[] = []
    let certificates: { appId: string; of: ApplicationCertificates } | undefined
    let next = 0
    for (const task of tasks) {
      const devices = task.message.showBegin === undefined ? audiences[next++] : undefined
      if (!devices) {
        planned.push({ task, mayRelease: () => false, mayBundle })
        continue
      }
      // Neighbours are mostly of one application.
      if (certificates?.appId !== task.appId)
        certificates = { appId: task.appId, of: await deps.certificates.of(task.appId) }
      planned.push({ ...planOf(task, devices, certificates.of), mayBundle, readAt })
    }
    return planned
  }

  function planOf(
    task: NewTask,
    devices: Parameters<typeof planDevices>[0],
    certificates: ApplicationCertificates,
  ): TaskToAccept & { plan: Plan } {
    const rules = rulesFor(task, certificates)
    const plan = planDevices(devices, rules, task.speed)
    const closed = closedCertificates(devices, rules)
    const lane = task.lane ?? 'high'
    const busy = isBusy(task.appId)
    const sends = (batch: Plan['batches'][number]) => !closed?.has(batch.certificateId ?? -1)
    return {
      task,
      plan,
      mayRelease: (batch) => sends(batch) && !isBacklogged(queueOf({ ...batch, lane }), busy),
      mayWaitInBundle: (batch) => sends(batch) && mayWait(),
    }
  }

  return {
    accept: (task) =>
      new Promise((resolve, reject) => {
        const refused = waiting.add(task.appId, { task, resolve, reject })
        refused?.reject(new AcceptorFull('too many tasks wait to be written'))
        collect()
      }),
    async close() {
      while (running.size > 0 || waiting.size() > 0) {
        await Promise.all(running.keys())
        // A group that is being collected starts in a later turn of the event loop.
        await nextTurn()
      }
      clearTimeout(slowTimer)
      // The planner would enqueue a lost job again, but only seconds after its turn.
      await Promise.all(adding)
    },
  }
}

/** Counts a push and returns whether its application has many. */
function createBusyCheck(): (appId: string) => boolean {
  const direct = tokenBuckets(DIRECT_PUSHES)
  const busyUntil = new Map<string, number>()
  return (appId) => {
    const now = performance.now()
    if (direct.take(appId) > 0) {
      if (busyUntil.size >= MAX_BUSY) busyUntil.clear()
      busyUntil.set(appId, now + BUSY_MS)
    }
    return (busyUntil.get(appId) ?? 0) > now
  }
}
