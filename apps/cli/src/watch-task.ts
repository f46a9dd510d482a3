import { retryWithBackoff, sleep } from '@herald/async'
import { HeraldError, type HeraldServer, type Int64, type TaskView } from '@herald/client'
import { channelsOf } from './channel-counters.ts'
import { HERALD } from './examples.ts'
import { CliFailure, isUnanswered, SilentFailure } from './failure.ts'
import { duration, plural } from './format.ts'
import type { Io } from './io.ts'
import { openProgress } from './progress.ts'
import { createRate } from './rate.ts'
import { channelTable, progressText, summary } from './task-format.ts'

const POLL_MS = 500
/** How long Herald may be unreachable, for example during a restart. */
const AWAY_MS = 60_000

export type WatchOptions = {
  /** Stop watching after this time. */
  seconds?: number
  /** Also wait for offline devices, whose messages are in their inboxes until they connect or the ttl ends. */
  offline?: boolean
}

/**
 * Follows a task until it ends, with a progress bar, or with a record per change with --json. A cancelled task gives exit
 * code 1; failed devices do not, because every large push has some.
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
  let reached = false
  const readTask = (attempt: number) => {
    if (attempt === 1) io.note('Herald does not respond; waiting for it.')
    return server.task(taskId)
  }
  // A server that never responded is probably the wrong one, so the first call is not repeated.
  const retry = {
    isTransient: (error: unknown) => reached && isTransient(error),
    forMs: AWAY_MS,
    firstMs: POLL_MS,
    maxMs: POLL_MS,
  }
  try {
    for (;;) {
      const task = await retryWithBackoff(readTask, retry)
      reached = true
      if (!task) throw new CliFailure(`The task ${taskId} does not exist.`)
      const now = performance.now()
      const done = task.target - task.pending
      progress.update(done, task.target, progressText(task, rate.at(now, done)))
      const state = changing(task)
      const finishedAt = options.offline && task.waiting > 0 ? null : task.finished_at
      if (finishedAt !== null) {
        progress.stop()
        await conclude(server, io, { ...task, finished_at: finishedAt })
        return
      }
      if (state !== last) io.record(task)
      last = state
      if (options.seconds !== undefined && now - began > options.seconds * 1000)
        throw new CliFailure(
          `The task ${taskId} has not finished within ${duration(options.seconds)}; it continues in the background.`,
        )
      await sleep(POLL_MS)
    }
  } finally {
    progress.stop()
  }
}

/** Temporary refusals and missing responses. */
const isTransient = (error: unknown) =>
  error instanceof HeraldError ? error.status >= 502 || error.status === 429 : isUnanswered(error)

/** Without the rate and the estimate, which differ at every poll. */
const changing = ({ rate: _rate, eta: _eta, ...task }: TaskView) => Object.values(task).join()

async function conclude(
  server: HeraldServer,
  io: Io,
  task: TaskView & { finished_at: number },
): Promise<void> {
  const [statistics] = await server.taskDetail([task.task_id])
  io.record({ ...task, channels: statistics ? channelsOf(statistics) : [] })
  io.say(summary(task))
  const rows = statistics ? channelsOf(statistics) : []
  if (rows.length > 0) io.say(channelTable(rows))
  if (task.waiting > 0)
    io.note(
      `${plural(task.waiting, 'device')} offline: the message waits in the inbox. Use --offline to wait for them.`,
    )
  if (task.failed > 0) io.note(`Reasons: ${HERALD} task failures ${task.task_id}`)
  if (task.state === 'cancelled') throw new SilentFailure()
}
