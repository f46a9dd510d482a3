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

/** For messages without a notice, whose app reads the texts from the data too. */
export function passThroughData(task: Task): object {
  const { title, body, bigText, attachmentUrl } = task.message
  return clientData(task, { title, body, big_text: bigText, attachment_url: attachmentUrl })
}

/**
 * The data of a notice as `write` makes it for the vendor, with the attachment's address where that fits. Where only the rest
 * does, the address is left out: a push is never given up for want of a picture. Undefined when `ext` alone is too large.
 */
export function fittingData<Written>(
  task: Task,
  write: (data: object) => Written,
  fits: (written: Written) => boolean,
): Written | undefined {
  for (const fields of [{ attachment_url: task.message.attachmentUrl }, {}]) {
    const written = write(clientData(task, fields))
    if (fits(written)) return written
  }
  return undefined
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
