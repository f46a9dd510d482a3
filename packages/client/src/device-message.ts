import { fromExactJson } from './exact-json.ts'

/** A message as the device receives it, with the field names of the HTTP API. */
export type DeviceMessage = {
  type: 'text' | 'image' | 'cmd'
  title?: string
  body?: string
  attachment_url?: string
  big_text?: string
  badge?: string
  /** Integers beyond 2^53 are bigint. */
  ext?: Record<string, unknown>
  /** Unix seconds. The message arrives only between the two; the app may remove it after the end. */
  show_begin_time?: number
  show_end_time?: number
  /** Present with `url`, the address to open on a tap. `android.click_action` takes precedence on Android. */
  click_action?: 'url'
  url?: string
  /** The message replaces the one on the screen with the same key. */
  collapse_key?: string
  /** `hide`: the app should not show a notification while it is in front. */
  foreground?: 'show' | 'hide'
  urgent?: boolean
  /** A cmd that takes away the message of this task, wherever the app shows it. */
  recalls?: number
  /** The message takes the place of that of this task. */
  replaces?: number
  ios?: Record<string, unknown>
  android?: Record<string, unknown>
}

export type Received = {
  taskId: number
  message: DeviceMessage
  /** The frame as received. */
  text: string
}

export type ServerFrame =
  | { op: 'welcome'; heartbeat: number }
  | ({ op: 'push' } & Received)
  /** Sent after the welcome and once per heartbeat, because the hello asks for it. */
  | { op: 'beat' }
  /** A frame of a later gateway version, which is ignored. */
  | { op: 'other' }

export function readFrame(text: string): ServerFrame {
  try {
    const frame = fromExactJson(text) as Record<string, unknown> | null
    if (frame?.op === 'welcome') return { op: 'welcome', heartbeat: Number(frame.heartbeat) || 30 }
    if (frame?.op === 'beat') return { op: 'beat' }
    if (frame?.op === 'push' && Number.isSafeInteger(frame.task_id) && frame.message)
      return { op: 'push', taskId: frame.task_id as number, message: frame.message as DeviceMessage, text }
  } catch {
    // Not JSON: ignored like an unknown frame.
  }
  return { op: 'other' }
}

/** The task whose message must not be shown any more after this one. */
export function endedBy({ recalls, replaces }: DeviceMessage): number | undefined {
  return recalls ?? replaces
}

/** The badge after a message: a number sets it, `+n` adds to it. `cmd` messages do not change it. */
export function badgeAfter(badge: number, message: DeviceMessage): number {
  if (message.type === 'cmd') return badge
  const change = message.badge ?? '+1'
  const count = Number(change)
  if (!Number.isSafeInteger(count)) return badge
  return change.startsWith('+') ? badge + count : count
}
