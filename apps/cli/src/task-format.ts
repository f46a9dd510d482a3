import type { TaskView } from '@herald/client'
import type { BalanceSize } from '@herald/db/readings'
import type { ChannelCounters } from './channel-counters.ts'
import { count, duration, plural, table } from './format.ts'

/** The text next to the progress bar. */
export function progressText(task: TaskView, speed: number): string {
  // During planning the number of targets still grows, so an estimate would be wrong.
  const known = task.state === 'sending' && task.pending > 0 && speed > 0
  const pace = `${task.state} ${count(speed)}/s${known ? ` ETA ${duration(task.pending / speed)}` : ''}`
  const counters = (['target', 'sent', 'received', 'failed'] as const).map(
    (name) => `${name} ${count(task[name])}`,
  )
  return [pace, ...counters].join(' | ')
}

/** The result of a task that has ended, in one sentence. */
export function summary(task: TaskView & { finished_at: number }): string {
  const seconds = task.finished_at - task.begin_at
  const left = [
    [task.pending - task.waiting, 'pending'],
    [task.waiting, 'waiting for their devices'],
    [task.failed, 'failed'],
    [task.expired, 'expired'],
    [task.cancelled, 'cancelled'],
    [task.unreachable, 'unreachable'],
  ] as const
  const rest = left.filter(([number]) => number > 0).map(([number, word]) => `, ${count(number)} ${word}`)
  return `${task.state} after ${duration(seconds)}: ${plural(task.target, 'device')}, ${count(task.sent)} sent${rest.join('')}.`
}

export const balanceText = ({ tasks, rows, targets, pending }: BalanceSize): string =>
  `Balanced: ${plural(tasks, 'task')}, ${plural(rows, 'counter row')}, ${plural(targets, 'target')}, ${count(pending)} of them pending.`

export function channelTable(rows: ChannelCounters[]): string {
  return table(
    ['channel', 'target', 'sent', 'received'],
    rows.map(({ channel, target, sent, received }) => [channel, target, sent, received]),
  )
}
