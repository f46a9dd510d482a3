import type { Int64 } from './exact-json.ts'

/** The body of a push, field by field as the interface names them. */
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

export type Setting = {
  /** The same id again pushes nothing and answers the first task. */
  request_id?: string
  distribution_strategy?: 'combined' | 'nativepush_only' | 'ospush_only'
  ospush_sequence?: ('ups' | 'fcm' | 'huawei' | 'xiaomi' | 'oppo' | 'vivo' | 'meizu' | 'honor')[]
  /** Devices per second over all channels. */
  speed?: number
  priority?: 'high' | 'normal'
  /** Seconds; 0 = only if reachable now. */
  ttl?: number
  message_class?: 'service' | 'marketing'
}

export type Message = {
  type?: 'text' | 'image' | 'cmd'
  title?: string
  body?: string
  attachment_url?: string
  big_text?: string
  /** `5` sets, `+2` adds. */
  badge?: string
  ext?: Record<string, unknown>
  /** Unix seconds. */
  show_begin_time?: number
  show_end_time?: number
  ios?: IosFields
  android?: AndroidFields
  huawei?: HuaweiFields
  honor?: HonorFields
  xiaomi?: XiaomiFields
  oppo?: OppoFields
  vivo?: VivoFields
  flyme?: FlymeFields
  fcm?: AndroidFields
}

export type IosFields = {
  sound?: string
  content_available?: boolean
  mutable_content?: boolean
  category?: string
  thread_id?: string
  subtitle?: string
  apns_collapse_id?: string
}

export type AndroidFields = {
  sound?: string
  channel_id?: string
  click_action?: 'intent' | 'open_app'
  /** `intent:#Intent;component=package/activity;S.key=value;end` */
  intent?: string
}

export type HuaweiFields = AndroidFields & {
  badge_class?: string
  category?: string
  importance?: 'LOW' | 'NORMAL' | 'HIGH'
  urgency?: 'NORMAL' | 'HIGH'
}
export type HonorFields = AndroidFields & { badge_class?: string; importance?: 'LOW' | 'NORMAL' }
export type XiaomiFields = AndroidFields & {
  template_id?: string
  template_param?: string | Record<string, string>
}
export type OppoFields = AndroidFields & {
  category?: string
  notify_level?: 1 | 2 | 16
  private_msg_template_id?: string
  private_title_parameters?: string | Record<string, string>
  private_content_parameters?: string | Record<string, string>
}
export type VivoFields = AndroidFields & { push_mode?: 0 | 1; classification?: 0 | 1; category?: string }
export type FlymeFields = AndroidFields & { notice_msg_type?: 0 | 1 }
