import type { Int64 } from './exact-json.ts'
import type { AndroidFields, SequenceWord, VendorObjects } from './vendors.ts'

/** The body of a push, with the field names of the API. */
export type Notification = {
  audience: Audience
  setting?: Setting
  message: Message
}

export type Audience =
  | 'all'
  | { tag: string[] }
  | { alias: string[] }
  | { user_id: Int64[] }
  | { push_token: string[] }

export type Strategy = 'combined' | 'nativepush_only' | 'ospush_only'

export type Setting = {
  /** Idempotency key: a repeated id pushes nothing and returns the first task. */
  request_id?: string
  distribution_strategy?: Strategy
  ospush_sequence?: SequenceWord[]
  /** Maximum devices per second over all channels. */
  speed?: number
  priority?: 'high' | 'normal'
  /** Seconds; 0 = only devices reachable now. */
  ttl?: number
  message_class?: 'service' | 'marketing'
}

export type Message = {
  type?: 'text' | 'image' | 'cmd'
  title?: string
  body?: string
  attachment_url?: string
  big_text?: string
  /** `5` sets the badge, `+2` adds to it. */
  badge?: string
  ext?: Record<string, unknown>
  /** Unix seconds. */
  show_begin_time?: number
  show_end_time?: number
  android?: AndroidFields
} & VendorObjects
