import type { TaskView } from '@herald/client'

const ENDED = new Set(['finished', 'cancelled'])

export const hasEnded = (task: Pick<TaskView, 'state'>) => ENDED.has(task.state)
export const isPaused = (task: Pick<TaskView, 'state'>) => task.state === 'paused'

/** The actions that the task's state allows. What waits in inboxes can be cancelled after a task has ended. */
export function actionsOf(task: Pick<TaskView, 'state' | 'waiting'>): ('pause' | 'resume' | 'cancel')[] {
  if (task.state === 'finished' && task.waiting > 0) return ['cancel']
  if (hasEnded(task) || task.state === 'cancelling') return []
  return [isPaused(task) ? 'resume' : 'pause', 'cancel']
}

/**
 * The state as the console names it. A finished task that reached nobody, or whose messages wait in inboxes, is no success.
 * `nobody`: no device matched the audience; `unreachable`: devices matched, but no channel could take them.
 */
export function shownState(task: Pick<TaskView, 'state' | 'target' | 'unreachable' | 'waiting'>): string {
  if (task.state !== 'finished') return task.state
  if (task.waiting > 0) return 'inboxes'
  if (task.target > 0) return 'finished'
  return task.unreachable > 0 ? 'unreachable' : 'nobody'
}

const barKinds = ['sent', 'failed', 'expired', 'cancelled', 'pending'] as const
export type BarPart = { kind: (typeof barKinds)[number]; count: number; share: number }

/** The targets of a task by their result, without empty parts. Each device counts once. */
export function barOf(task: Pick<TaskView, 'target' | (typeof barKinds)[number]>): BarPart[] {
  if (task.target <= 0) return []
  return barKinds.flatMap((kind) => {
    const count = Math.max(0, task[kind])
    return count === 0 ? [] : [{ kind, count, share: Math.min(1, count / task.target) }]
  })
}

/** A reading of the task; `at` in seconds. */
export type Reading = { at: number; done: number }

/** Readings older than this do not count for the rate. */
const RATE_SECONDS = 20
/** Results are written in steps of about a second; over less time the rate would jump. */
const MIN_SECONDS = 3

/** Devices for which the task came to an end by itself: cancelling devices is no sending. */
export const readingOf = (task: Pick<TaskView, 'sent' | 'failed' | 'expired'>, at: number): Reading => ({
  at,
  done: task.sent + task.failed + task.expired,
})

/** Keeps the readings of the last seconds, and one that is older, so that a rate over the whole time can be told. */
export function addReading(readings: readonly Reading[], next: Reading): readonly Reading[] {
  const last = readings.at(-1)
  if (last && next.at <= last.at) return readings
  const from = next.at - RATE_SECONDS
  const firstKept = readings.findLastIndex(({ at }) => at <= from)
  return [...readings.slice(Math.max(0, firstKept)), next]
}

/** Devices per second over the last readings; undefined until they cover some seconds. */
export function rateOf(readings: readonly Reading[]): number | undefined {
  const first = readings[0]
  const last = readings.at(-1)
  if (!first || !last || last.at - first.at < MIN_SECONDS) return undefined
  return Math.max(0, (last.done - first.done) / (last.at - first.at))
}

/** `measuring`: not enough readings yet; `stalled`: nothing moves, so nobody knows; `inboxes`: only offline devices are left. */
export type TimeLeft =
  | { kind: 'done' | 'paused' | 'scheduled' | 'measuring' | 'stalled' | 'inboxes' }
  | { kind: 'seconds'; seconds: number }

/** From the present rate, and none while nothing moves. */
export function timeLeft(
  task: Pick<TaskView, 'state' | 'pending' | 'waiting'>,
  rate: number | undefined,
): TimeLeft {
  if (task.waiting > 0) return { kind: 'inboxes' }
  if (hasEnded(task)) return { kind: 'done' }
  if (isPaused(task)) return { kind: 'paused' }
  if (task.state === 'scheduled') return { kind: 'scheduled' }
  // Before the last page is planned there are targets that nobody has counted.
  if (rate === undefined || task.state === 'accepted' || task.state === 'planning')
    return { kind: 'measuring' }
  if (rate === 0) return { kind: 'stalled' }
  return { kind: 'seconds', seconds: task.pending / rate }
}
