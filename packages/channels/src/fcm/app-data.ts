import type { Task } from '../channel.ts'

/** The data that the app reads on every platform. */
export function appData({ taskId, message }: Task): Record<string, string> {
  const data: Record<string, string> = { task_id: String(taskId) }
  if (message.ext !== undefined) data.ext = message.ext
  if (message.showEnd !== undefined) data.show_end_time = String(message.showEnd)
  if (message.foreground !== undefined) data.foreground = message.foreground
  return data
}
