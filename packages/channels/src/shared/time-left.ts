import type { Task } from '../channel.ts'

/**
 * Whole seconds a vendor may keep the message: what ttl and show_end_time leave, within the vendor's own bounds. A vendor's
 * least value stands for "only if reachable now".
 */
export function timeLeft(task: Task, bounds: { least: number; most: number }): number {
  const window = task.message.showEnd === undefined ? task.ttl : task.message.showEnd - task.now
  return Math.max(bounds.least, Math.min(Math.floor(Math.min(task.ttl, window)), bounds.most))
}
