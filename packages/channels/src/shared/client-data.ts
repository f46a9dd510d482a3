import { parseVerbatim } from '@herald/domain'
import type { Task } from '../channel.ts'

/**
 * What the app on the device reads: the caller's `ext`, beside it the fields a vendor has no place for, and `task_id`,
 * without which the client could not acknowledge. `ext` wins over such fields, never over `task_id`. Numbers keep the
 * digits they came with.
 */
export function clientData(task: Task, fields: Readonly<Record<string, unknown>> = {}): object {
  const ext = task.message.ext === undefined ? {} : (parseVerbatim(task.message.ext) as object)
  return { ...withoutUndefined(fields), ...ext, task_id: String(task.taskId) }
}

function withoutUndefined(fields: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** For vendors that carry string to string only: scalars as their text, nested values as JSON. */
export function asStrings(data: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
}
