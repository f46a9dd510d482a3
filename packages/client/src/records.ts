import type { Int64 } from './exact-json.ts'

/** 1 APNs, 2 Huawei, 3 Xiaomi, 4 Meizu, 5 vivo, 6 OPPO, 7 FCM, 8 Honor. */
export type Provider = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8
/** 0 development, 1 production. */
export type Environment = 0 | 1
export type Platform = 'ios' | 'android' | 'harmony'

export type AdminTokenRecord = {
  access_key_secret: string
  encrypt_type: number
  /** Unix seconds. */
  expire: number
  public_key: string
  store_token: string
  token: string
}
export type TokenRecord = AdminTokenRecord & { user_id: Int64; push_token?: string }

export type CertificateRecord = {
  app_id: string
  app_key: string
  app_secret: string
  certificate: string
  name: string
}
export type NewCertificate = Partial<CertificateRecord> & {
  provider: Provider
  environment?: Environment
  extra?: Record<string, unknown>
}
export type CertificateView = CertificateRecord & {
  provider: Provider
  channel: string
  environment: Environment
  extra: Record<string, unknown>
  state: 'open' | 'closed' | 'suspect'
  last_error: string | null
  last_error_at: number | null
  expires_at: number | null
  callback_url: string | null
  /** What the governor stands at, by message class. */
  usage: { message_class: 'service' | 'marketing'; day: string; devices: number; permits: number }[]
  warnings: string[]
}

type ChannelName = 'apns' | 'fcm' | 'flyme' | 'honor' | 'huawei' | 'nativepush' | 'oppo' | 'vivo' | 'xiaomi'
/** `task_id` and 27 counters: `<channel>_target`, `<channel>_sent`, `<channel>_received`. */
export type TaskStatistics = { task_id: Int64 } & Record<
  `${ChannelName}_${'target' | 'sent' | 'received'}`,
  number
>

export type TaskView = {
  task_id: Int64
  state: string
  title: string | null
  request_id: string | null
  group_id: Int64 | null
  priority: 'high' | 'normal'
  speed: number | null
  created_at: number
  begin_at: number
  finished_at: number | null
  target: number
  sent: number
  received: number
  failed: number
  expired: number
  cancelled: number
  unreachable: number
  pending: number
  progress: number
  rate: number
  eta: number | null
}

export type FailureGroup = {
  channel: string
  fate: string
  reason: string
  count: number
  samples: { device_id: Int64; device_guid: string | null }[]
}

export type Explanation = {
  channel: string | null
  reason: string
  others: { channel: string; reason: string }[]
}

export type NewApplication = { name: string; package_name?: string }
export type ApplicationView = { app_id: string; name: string; package_name: string; created_at: number }

export type UserView = {
  user_id: Int64
  username: string
  mobile: string | null
  email: string | null
  created_at: number
}
export type GroupView = { group_id: Int64; name: string; members: number; created_at: number }

export type DeviceView = {
  device_id: Int64
  device_guid: string
  user_id: Int64 | null
  push_token: string
  platform: Platform | null
  alias: string | null
  tags: string[]
  badge: number
  online: boolean
  bindings: {
    provider: Provider
    channel: string
    environment: Environment
    device_token: string
    bundle_id: string | null
    registered_at: number
  }[]
  created_at: number
}

export type ImportedDevice = {
  device_guid: string
  user_id?: Int64
  platform: Platform
  alias?: string
  tags?: string[]
  bindings?: { provider: Provider; device_token: string; environment?: Environment; bundle_id?: string }[]
}
export type ImportReport = {
  lines: number
  created: number
  updated: number
  failed: number
  errors: { line: number; error: string }[]
}

/** `next` goes into `after` (tasks: `before`) of the next call; null on the last page. */
export type Page<Entry> = { list: Entry[]; next: Int64 | null }
export type PageWish = { limit?: number; after?: Int64 }
