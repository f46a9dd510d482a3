import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Database, isUnreachable } from '@herald/db/store'
import {
  type AcceptedTask,
  AcceptInDoubt,
  acceptTasks,
  PartlyAccepted,
  resolveSmallAudiences,
  type TaskToAccept,
} from '@herald/db/tasks'
import { type NewTask, type Plan, planDevices } from '@herald/domain'
import type { PushQueues } from '@herald/queue'
import type { CertificateBook } from './certificate-book.ts'
import { createCrowding } from './crowding.ts'
import { enqueue, queueOf } from './jobs.ts'
import { rulesFor } from './rules.ts'

export type Acceptor = {
  /** Resolves after the commit, with the first task's id when the request id was used before. */
  accept(task: NewTask): Promise<Accepted>
  /** Waits for what is under way. */
  close(): Promise<void>
}

/** `fresh` is false when the request id was used before. */
export type Accepted = { taskId: number; fresh: boolean }

/** Requests that share one commit at most; more would make the first wait for the planning of the last. */
const GROUP = 64
/** Groups under way at once: one plans while another waits for its fsync. */
const GROUPS = 3
/**
 * While a group is under way, others wait for company or for its end. Each commit, and each of the statements a worker makes of
 * its job, costs as much for one request as for ten.
 */
const COMPANY = GROUP / 2
/** Turns of the event loop that a group waits at most: a few milliseconds when the loop is busy, nothing when it is not. */
const MOST_TURNS = 8

/** More than Postgres writes in a second: who would come later waits longer than its caller does. */
const MOST_WAITING = 5_000

/** So many wait to be written already that this one was not taken. */
export class AcceptorFull extends Error {}

type Waiting = { task: NewTask; resolve(answer: Accepted): void; reject(error: unknown): void }

/**
 * Accepts tasks in groups: whatever arrived while earlier groups were being committed shares the next commit, so a single
 * request waits for nobody and a thousand concurrent ones cost a few fsyncs.
 */
export function createAcceptor(deps: {
  db: Database
  queues: PushQueues
  certificates: CertificateBook
  /** `tasks` are those whose jobs the queue did not take. */
  onQueueFailure(error: unknown, tasks: number[]): void
  /** Told what was committed for a small audience. */
  onPlanned?(plan: Plan): void
}): Acceptor {
  const isCrowded = createCrowding(deps.queues)
  const waiting: Waiting[] = []
  const running = new Set<Promise<void>>()
  const adding = new Set<Promise<void>>()

  /** Requests that the event loop is just reading join the group: it is left when a turn of the loop brought nobody. */
  let boarding = false
  function board(seen = 0, turns = 0): void {
    if (boarding && turns === 0) return
    boarding = waiting.length > seen && waiting.length < GROUP && turns < MOST_TURNS
    if (boarding) setImmediate(board, waiting.length, turns + 1)
    else startGroups()
  }

  function startGroups(): void {
    while (waiting.length > 0 && running.size < GROUPS && (running.size === 0 || waiting.length >= COMPANY)) {
      const group = waiting.splice(0, GROUP)
      const work = acceptGroup(group).finally(() => {
        running.delete(work)
        board()
      })
      running.add(work)
    }
  }

  async function acceptGroup(group: Waiting[]): Promise<void> {
    try {
      answer(group, await commit(group.map(({ task }) => task)))
    } catch (error) {
      if (error instanceof PartlyAccepted) answer(group, error.accepted, error.cause)
      else if (group.length === 1 || isUnreachable(error) || error instanceof AcceptInDoubt)
        answer(group, [], error)
      // One request's trouble must not become another's error.
      else await Promise.all(group.map((one) => acceptGroup([one])))
    }
  }

  function answer(
    group: Waiting[],
    accepted: readonly (AcceptedTask | undefined)[],
    trouble?: unknown,
  ): void {
    group.forEach(({ resolve, reject }, i) => {
      const task = accepted[i]
      if (task) resolve({ taskId: task.taskId, fresh: task.fresh })
      else reject(trouble)
    })
    const jobs = enqueue(
      deps.queues,
      accepted.flatMap((task) => task?.released ?? []),
      deps.onQueueFailure,
    ).finally(() => adding.delete(jobs))
    adding.add(jobs)
  }

  async function commit(tasks: NewTask[]): Promise<AcceptedTask[]> {
    const planned = await planSmall(tasks)
    const accepted = await acceptTasks(deps.db, planned)
    if (deps.onPlanned)
      for (const [i, { plan }] of planned.entries()) if (plan && accepted[i]!.fresh) deps.onPlanned(plan)
    return accepted
  }

  async function planSmall(tasks: NewTask[]): Promise<TaskToAccept[]> {
    // Whether a time to begin at has come is for Postgres' clock to say: the planner asks it.
    const now = tasks.filter(({ message }) => message.showBegin === undefined)
    const audiences = await resolveSmallAudiences(deps.db, now)
    return Promise.all(
      tasks.map(async (task): Promise<TaskToAccept> => {
        const devices = audiences[now.indexOf(task)]
        if (!devices) return { task, mayRelease: () => false }
        const rules = rulesFor(task, await deps.certificates.of(task.appId))
        const plan = planDevices(devices, rules, task.speed)
        const closed = closedCertificates(devices, rules)
        const mayRelease: TaskToAccept['mayRelease'] = (batch) =>
          !closed.has(batch.certificateId ?? -1) && !isCrowded(queueOf(batch))
        return { task, plan, mayRelease }
      }),
    )
  }

  return {
    accept: (task) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= MOST_WAITING) throw new AcceptorFull('too many tasks wait to be written')
        waiting.push({ task, resolve, reject })
        board()
      }),
    async close() {
      while (running.size > 0 || waiting.length > 0) {
        await Promise.all(running)
        // Who is boarding leaves in a later turn of the loop.
        await nextTurn()
      }
      // A job that is cut off is named again by the sweep, but a minute later.
      await Promise.all(adding)
    },
  }
}

function closedCertificates(
  devices: Parameters<typeof planDevices>[0],
  rules: ReturnType<typeof rulesFor>,
): Set<number> {
  const closed = new Set<number>()
  for (const { bindings } of devices) {
    for (const { channel, environment } of bindings) {
      const way = rules.statusOf(channel, environment)
      if (way.closed && way.certificateId !== undefined) closed.add(way.certificateId)
    }
  }
  return closed
}
