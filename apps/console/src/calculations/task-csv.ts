import type { TaskView } from '@herald/client'
import { csvOf } from './csv.ts'

const columns = [
  'task_id',
  'state',
  'title',
  'campaign',
  'actor',
  'created_at',
  'begin_at',
  'finished_at',
  'target',
  'sent',
  'received',
  'clicked',
  'failed',
  'expired',
  'cancelled',
  'pending',
  'waiting',
  'unreachable',
] as const satisfies (keyof TaskView)[]

const times: ReadonlySet<string> = new Set(['created_at', 'begin_at', 'finished_at'])

/** Names of the API, times in ISO 8601, so that the file means the same to every reader. */
export function taskCsv(tasks: readonly TaskView[]): string {
  const cellOf = (task: TaskView, name: (typeof columns)[number]): string | number | null => {
    const value = task[name]
    if (typeof value === 'bigint') return String(value)
    return times.has(name) && typeof value === 'number' ? new Date(value * 1000).toISOString() : value
  }
  return csvOf(
    columns,
    tasks.map((task) => columns.map((name) => cellOf(task, name))),
  )
}
