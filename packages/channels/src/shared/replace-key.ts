import { createHash } from 'node:crypto'
import type { Task } from '../channel.ts'

/**
 * The key under which a notification replaces an earlier one on the screen. It is the caller's `collapse_key`, which replaces across
 * tasks, otherwise that of the task that it recalls, otherwise the task's own: so every attempt of a task has the same
 * key, and a second delivery replaces the first. Vendors differ in the form of the key; each form has one function.
 */
type Keyed = Pick<Task, 'taskId'> & { message: Pick<Task['message'], 'collapseKey' | 'recall'> }

/** For vendors whose key is a text, of any characters. */
export function replaceText(task: Keyed): string {
  return task.message.collapseKey ?? `t${replacedTask(task)}`
}

const maxNumber = 2_147_483_647

/** For vendors whose key is a positive 32-bit integer. */
export function replaceNumber(task: Keyed): number {
  const { collapseKey } = task.message
  if (collapseKey === undefined) return (replacedTask(task) % maxNumber) + 1
  return (hashOf(collapseKey).readUInt32BE() % maxNumber) + 1
}

/** For vendors whose key is up to `max` characters of A-Z, a-z, 0-9, `_` and `-`. */
export function replaceWord(task: Keyed, max: number): string {
  const { collapseKey } = task.message
  if (collapseKey === undefined) return replacedTask(task).toString(36).slice(-max)
  return hashOf(collapseKey).toString('base64url').slice(0, max)
}

function replacedTask({ taskId, message }: Keyed): number {
  return message.recall?.taskId ?? taskId
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
