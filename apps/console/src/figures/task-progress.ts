import type { TaskView } from '@herald/client'

const ENDED = new Set(['finished', 'cancelled'])

export const hasEnded = (task: Pick<TaskView, 'state'>) => ENDED.has(task.state)
export const isPaused = (task: Pick<TaskView, 'state'>) => task.state === 'paused'

/** What an operator may do with a task in this state. */
export function verbsOf(task: Pick<TaskView, 'state'>): ('pause' | 'resume' | 'cancel')[] {
  if (hasEnded(task) || task.state === 'cancelling') return []
  return [isPaused(task) ? 'resume' : 'pause', 'cancel']
}

export type TimeLeft = { kind: 'done' | 'paused' | 'unknown' } | { kind: 'seconds'; seconds: number }

export function timeLeft(task: Pick<TaskView, 'state' | 'eta'>): TimeLeft {
  if (hasEnded(task)) return { kind: 'done' }
  if (isPaused(task)) return { kind: 'paused' }
  // Before it begins there is nothing to send, and so no time left.
  return task.eta === null || task.state === 'scheduled'
    ? { kind: 'unknown' }
    : { kind: 'seconds', seconds: task.eta }
}

/** Targets that are sent or given up, never more than there are. */
export function doneOf({ target, pending }: Pick<TaskView, 'target' | 'pending'>): number {
  return Math.max(0, Math.min(target, target - pending))
}
