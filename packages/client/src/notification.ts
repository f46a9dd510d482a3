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
  /** Devices that show one of these Live Activities; only with `ios.live_activity`. */
  | { activity: string[] }

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
  /** What the push belongs to, at most 64 characters: sums tasks in `stats`, selects them in `taskList`. */
  campaign?: string
  /** Events about each device go to the webhooks and the event list. */
  events?: boolean
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
  /** On all channels; a `click_action` in `android` or in a vendor's object takes precedence. */
  click_action?: 'open_app' | 'url'
  /** An https address or a deep link of the app; needs `click_action: 'url'`. */
  url?: string
  /** At most 64 bytes. A later push with the same key replaces this one on the screen, also of another task. */
  collapse_key?: string
  /** Whether the system shows the notification while the app is in front (default show). */
  foreground?: 'show' | 'hide'
  /** Asks the vendor to wake the device for a cmd message. */
  urgent?: boolean
  android?: AndroidFields
} & VendorObjects
