import { type Badge, type Message, parseVerbatim } from '@herald/domain'
import type { Task } from '../channel.ts'
import { fitTexts } from './texts.ts'

/**
 * The data that the app on the device reads: the caller's `ext`, fields for which the vendor has no place, and `task_id`, which
 * the client needs to acknowledge. `ext` takes precedence over the fields, but not over `task_id`. Numbers keep their digits.
 */
export function clientData(task: Task, fields: Readonly<Record<string, unknown>> = {}): object {
  const ext = task.message.ext === undefined ? {} : (parseVerbatim(task.message.ext) as object)
  return { ...withoutUndefined(fields), ...ext, task_id: String(task.taskId) }
}

export function withoutUndefined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>
}

/** The data of a message without a notification: it contains the texts too. */
export function passThroughData(task: Task): object {
  const { title, body, bigText, attachmentUrl } = task.message
  return clientData(task, { title, body, big_text: bigText, attachment_url: attachmentUrl })
}

/** `big_text` in the data of a command, for vendors whose `body` is `big_text` if it is blank: then the text is there already. */
export function bigTextOfCommand({ type, body, bigText }: Message): string | undefined {
  return type === 'cmd' && body !== undefined ? bigText : undefined
}

/**
 * The data of a notification, written by `write` and with the attachment's URL if that fits: a message is not refused because of
 * a picture. `url` is the address of a tap that the vendor cannot open; it gives way after the picture. Returns undefined when `ext`
 * alone is too large.
 */
export function fittingData<Written>(
  task: Task,
  write: (data: object) => Written,
  fits: (written: Written) => boolean,
  url?: string,
): Written | undefined {
  const { attachmentUrl } = task.message
  for (const fields of [{ attachment_url: attachmentUrl, url }, { url }, {}]) {
    const written = write(clientData(task, fields))
    if (fits(written)) return written
  }
  return undefined
}

/** For vendors whose values must be strings: scalars as text, nested values as JSON. */
export function asStrings(data: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
}

/** Writes a notification with its texts cut, the expanded text first, until its size is at most `max`. */
export function fitNotification<Payload>(
  texts: Readonly<Record<'title' | 'body', string>>,
  bigText: string | undefined,
  write: (texts: Readonly<Record<'title' | 'body' | 'bigText', string>>) => Payload,
  sizeOf: (payload: Payload) => number,
  max: number,
): Payload | undefined {
  const fitted = fitTexts(
    { ...texts, bigText: bigText ?? '' },
    ['bigText', 'body', 'title'],
    (candidate) => sizeOf(write(candidate)),
    max,
    'bigText',
  )
  return fitted && write(fitted)
}

/** For vendors that add 1 to 99 to a badge or set it to 0 to 99. "+0" is left out: without a number they would add one. */
export function clampBadge(badge: Badge): Badge | undefined {
  if (badge.kind === 'add' && badge.count < 1) return undefined
  return { kind: badge.kind, count: Math.min(badge.count, 99) }
}

/** The picture of a message, for vendors that accept https only. Any other attachment is sent in the data. */
export function httpsPicture({ type, attachmentUrl }: Message): string | undefined {
  return type === 'image' && /^https:\/\//i.test(attachmentUrl ?? '') ? attachmentUrl : undefined
}

/** Where an attachment's address is sent: as the picture, in the data, or not at all. */
export type AttachmentPlace = { image?: string; inData?: string }

/** The picture of a message if the vendor shows it, otherwise its address in the data. */
export function attachmentPlace(message: Message, showsPictures = true): AttachmentPlace {
  const image = showsPictures ? httpsPicture(message) : undefined
  return image ? { image } : { inData: message.attachmentUrl }
}

/**
 * Whole seconds for which the vendor may store the message, by ttl and show_end_time and within the vendor's limits. A vendor's
 * minimum is used for "only if the device is online".
 */
export function timeLeft(task: Task, limits: { min: number; max: number }): number {
  const window = task.message.showEnd === undefined ? task.ttl : task.message.showEnd - task.now
  return Math.max(limits.min, Math.min(Math.floor(Math.min(task.ttl, window)), limits.max))
}
