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

export type TimeLeft = { kind: 'done' | 'paused' | 'unknown' } | { kind: 'seconds'; seconds: number }

export function timeLeft(task: Pick<TaskView, 'state' | 'eta'>): TimeLeft {
  if (hasEnded(task)) return { kind: 'done' }
  if (isPaused(task)) return { kind: 'paused' }
  // A scheduled task has no batches yet, so the API reports 0 seconds.
  return task.eta === null || task.state === 'scheduled'
    ? { kind: 'unknown' }
    : { kind: 'seconds', seconds: task.eta }
}

/** Targets with a final result, between 0 and `target`. */
export function doneOf({ target, pending }: Pick<TaskView, 'target' | 'pending'>): number {
  return Math.max(0, Math.min(target, target - pending))
}
