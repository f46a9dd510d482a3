import { fromExactJson } from './exact-json.ts'

/** A message as the device gets it, in the names of the HTTP interface. */
export type DeviceMessage = {
  type: 'text' | 'image' | 'cmd'
  title?: string
  body?: string
  attachment_url?: string
  big_text?: string
  badge?: string
  /** Integers beyond 2^53 are bigint. */
  ext?: Record<string, unknown>
  /** Unix seconds. */
  show_begin_time?: number
  show_end_time?: number
  ios?: Record<string, unknown>
  android?: Record<string, unknown>
}

export type Received = {
  taskId: number
  message: DeviceMessage
  /** The whole frame as it came. */
  text: string
}

export type ServerFrame =
  | { op: 'welcome'; heartbeat: number }
  | ({ op: 'push' } & Received)
  /** A later version of the gateway may say more; a device lets it pass. */
  | { op: 'other' }

export function readFrame(text: string): ServerFrame {
  try {
    const frame = fromExactJson(text) as Record<string, unknown> | null
    if (frame?.op === 'welcome') return { op: 'welcome', heartbeat: Number(frame.heartbeat) || 30 }
    if (frame?.op === 'push' && Number.isSafeInteger(frame.task_id) && frame.message)
      return { op: 'push', taskId: frame.task_id as number, message: frame.message as DeviceMessage, text }
  } catch {
    // What is no JSON is no frame of ours.
  }
  return { op: 'other' }
}

/** Milliseconds until the message is to be shown; undefined when its time is over. */
export function showIn(message: DeviceMessage, now: number): number | undefined {
  const { show_begin_time: begin, show_end_time: end } = message
  if (end && end * 1000 <= now) return undefined
  return begin ? Math.max(0, begin * 1000 - now) : 0
}

/** The badge after a message: a number sets it, `+n` adds. Pass-through messages leave it alone. */
export function badgeAfter(badge: number, message: DeviceMessage): number {
  if (message.type === 'cmd') return badge
  const wish = message.badge ?? '+1'
  const count = Number(wish)
  if (!Number.isSafeInteger(count)) return badge
  return wish.startsWith('+') ? badge + count : count
}
