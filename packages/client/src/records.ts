import type { Int64 } from './exact-json.ts'
import type { ChannelName, Provider } from './vendors.ts'

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
  /** Null for vendors without regions. */
  region: string | null
  extra: Record<string, unknown>
  state: 'open' | 'closed' | 'suspect'
  last_error: string | null
  last_error_at: number | null
  /** When the vendor first refused the credentials, without accepting a request since. */
  first_refused_at: number | null
  closed_at: number | null
  /** When Herald checks a closed certificate again; null: it does not. */
  next_probe_at: number | null
  /** Failed probes since it was closed. */
  probes: number
  /** Set while the vendor does not answer. */
  breaker: { since: number; retry_at: number; reason: string } | null
  /** Parts that the vendor refuses or whose quota is used up; all other messages are sent. */
  holds: CertificateHold[]
  /** Why the last check failed. */
  check_error: string | null
  check_error_at: number | null
  expires_at: number | null
  callback_url: string | null
  /** Used quota and remaining permits, by message class. */
  usage: { message_class: 'service' | 'marketing'; day: string; devices: number; permits: number }[]
  /** What needs attention, in English. */
  warnings: string[]
}
export type CertificateHold = {
  /** The part, such as `class service` or `quota marketing`. */
  scope: string
  kind: 'rejected' | 'quota'
  reason: string
  since: number
  until: number
  /** False: it has ended within the last day. */
  active: boolean
}
export type CertificateCheck = {
  ok: boolean
  problem: string | null
  /** The vendor could not be reached; the certificate may be valid. */
  temporary: boolean
  /** A simulator answered in place of the vendor. */
  simulator: boolean
  /** Parts of an accepted certificate that the vendor refuses. */
  warnings: string[]
}

/** `task_id` and the counters `<channel>_target`, `<channel>_sent` and `<channel>_received` of every channel. */
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
  /** `herald.<name>` or `<channel>.<vendor's code>`; null for failures recorded by a Herald without codes. */
  code: string | null
  reason: string
  count: number
  samples: { device_id: Int64; device_guid: string | null }[]
}

export type Explanation = {
  channel: string | null
  code: string
  reason: string
  others: { channel: string; code: string; reason: string }[]
  /** What the selected vendor does not carry of the message, refuses or leaves unanswered; in English. */
  notes: string[]
}

/** Settings of an application. */
export type ApplicationSettings = {
  /** Whether devices may register without a user. */
  register: boolean
  /** Maximum number of such registrations per day. */
  register_per_day: number
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
    region: string | null
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
  bindings?: {
    provider: Provider
    device_token: string
    environment?: Environment
    bundle_id?: string
    region?: string
  }[]
}
export type ImportReport = {
  lines: number
  created: number
  updated: number
  failed: number
  errors: { line: number; error: string }[]
}

/** Pass `next` as `after` (tasks: `before`) of the next call; null on the last page. */
export type Page<Entry> = { list: Entry[]; next: Int64 | null }
export type PageOptions = { limit?: number; after?: Int64 }
