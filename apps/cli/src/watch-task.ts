import { setTimeout as sleep } from 'node:timers/promises'
import { HeraldError, type HeraldServer, type Int64, type TaskView } from '@herald/client'
import { channelsOf, vendorsAreDone } from './channel-counters.ts'
import { HERALD } from './examples.ts'
import { CliFailure, isUnanswered, Unsatisfied } from './failure.ts'
import type { Io } from './io.ts'
import { openProgress } from './progress.ts'
import { createRate } from './rate.ts'
import { channelTable, progressWords, summary } from './task-words.ts'
import { duration, plural } from './words.ts'

const POLL_MS = 500
/** So long nothing must have moved before what is left counts as waiting for devices that are offline. */
const STILL_MS = 4_000

export type WatchOptions = {
  /** Give up watching after so long. */
  seconds?: number
  /** Also wait for devices that are offline, whose messages lie in their inboxes until they come or the ttl ends. */
  offline?: boolean
}

/**
 * Follows a task to its end: a bar for people, a record for every change for machines. A task that ends cancelled is exit
 * code 1; devices that failed are not, because tokens die every day.
 */
export async function watchTask(
  { server, io }: { server: HeraldServer; io: Io },
  taskId: Int64,
  options: WatchOptions = {},
): Promise<void> {
  const began = performance.now()
  const progress = openProgress(io)
  const rate = createRate()
  let last = ''
  let lookAt = Number.POSITIVE_INFINITY
  const look = patiently(() => server.task(taskId), io)
  try {
    for (;;) {
      const task = await look()
      if (!task) throw new CliFailure(`The task ${taskId} does not exist.`)
      const now = performance.now()
      const done = task.target - task.pending
      progress.update(done, task.target, progressWords(task, rate.at(now, done)))
      const said = changing(task)
      if (said !== last) {
        lookAt = now + STILL_MS
        if (task.finished_at === null) io.record(task)
      }
      last = said
      const ended = task.finished_at !== null
      if (ended || (!options.offline && now > lookAt && (await isWaitingForDevices(server, task)))) {
        progress.stop()
        await conclude(server, io, task)
        return
      }
      if (now > lookAt) lookAt = now + STILL_MS
      if (options.seconds !== undefined && now - began > options.seconds * 1000)
        throw new CliFailure(
          `The task ${taskId} has not finished within ${duration(options.seconds)}; it goes on without being watched.`,
        )
      await sleep(POLL_MS)
    }
  } finally {
    progress.stop()
  }
}

/** So long a restart of Herald may take while somebody watches. */
const AWAY_MS = 60_000

/** Once it has answered, Herald may go away for a while: what it does for the task goes on without us. */
function patiently<T>(ask: () => Promise<T>, io: Io): () => Promise<T> {
  let answered = false
  return async () => {
    for (let since: number | undefined; ; await sleep(POLL_MS)) {
      try {
        const answer = await ask()
        answered = true
        return answer
      } catch (error) {
        const now = performance.now()
        if (!answered || !isPassing(error) || (since !== undefined && now - since > AWAY_MS)) throw error
        if (since === undefined) io.note('Herald does not answer; waiting for it.')
        since ??= now
      }
    }
  }
}

/** Herald's "not now", or a network that gave no answer at all. */
const isPassing = (error: unknown) =>
  error instanceof HeraldError ? error.status >= 502 || error.status === 429 : isUnanswered(error)

async function isWaitingForDevices(server: HeraldServer, task: TaskView): Promise<boolean> {
  if (task.state !== 'sending' || task.pending === 0) return false
  const [[statistics], failures] = await Promise.all([
    server.taskDetail([task.task_id]),
    server.taskFailures(task.task_id),
  ])
  return statistics !== undefined && vendorsAreDone(channelsOf(statistics), failures)
}

/** Rates and estimates differ at every look; they alone are no news. */
const changing = ({ rate: _rate, eta: _eta, ...task }: TaskView) => Object.values(task).join()

async function conclude(server: HeraldServer, io: Io, task: TaskView): Promise<void> {
  const [statistics] = await server.taskDetail([task.task_id])
  io.record({ ...task, channels: statistics ? channelsOf(statistics) : [] })
  io.say(summary(task))
  const rows = statistics ? channelsOf(statistics) : []
  if (rows.length > 0) io.say(channelTable(rows))
  if (task.finished_at === null)
    io.note(
      `${plural(task.pending, 'device')} offline: the message waits in the inbox. --offline waits with it.`,
    )
  if (task.failed > 0) io.note(`Reasons: ${HERALD} task failures ${task.task_id}`)
  if (task.state === 'cancelled') throw new Unsatisfied()
}
