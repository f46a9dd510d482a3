import type { Int64 } from './exact-json.ts'
import type { Strategy } from './notification.ts'
import type { ChannelName, Provider, VendorName } from './vendors.ts'

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

/** `from` and `to` are Unix seconds; `before` is `next` of the previous page. */
export type AuditSearch = {
  from?: number
  to?: number
  actor?: string
  action?: string
  before?: string
  limit?: number
}
export type AuditEntry = {
  id: string
  /** Unix seconds. */
  at: number
  actor: string
  action: string
  /** Null for Herald's own changes. */
  address: string | null
  detail: Record<string, unknown>
}
export type AuditPage = { list: AuditEntry[]; next: string | null }

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
  /** Fields that keep their stored values, such as `app_secret` or `extra.callback_secret`. */
  keep?: string[]
  /** Asks the vendor first, and saves only what it accepts. */
  check?: boolean
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
  breaker: { since: number; retry_at: number; code: string; reason: string } | null
  /** Parts that the vendor refuses or whose quota is used up; all other messages are sent. */
  holds: CertificateHold[]
  /** Why the last check failed. */
  check_error: string | null
  check_error_at: number | null
  /** When the vendor last accepted a message or a check, to the hour; null: not since the credentials were saved. */
  worked_at: number | null
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
  code: string
  reason: string
  since: number
  until: number
  /** False: it has ended within the last day. */
  active: boolean
}
export type CertificateCheck = {
  ok: boolean
  problem: string | null
  /** Stable code of the problem, if it has one. */
  code: string | null
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
  campaign: string | null
  /** Who sent it, as in the audit. */
  actor: string | null
  priority: 'high' | 'normal'
  speed: number | null
  created_at: number
  begin_at: number
  finished_at: number | null
  target: number
  sent: number
  received: number
  clicked: number
  failed: number
  expired: number
  cancelled: number
  unreachable: number
  pending: number
  /** Messages of a finished task that wait in the inboxes of devices that are offline. */
  waiting: number
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
  /** Unix seconds: since when the vendor refuses the credentials or does not answer; null for other reasons. */
  since: number | null
  /** Unix seconds: when the first of those that wait are tried again; null if unknown, and for failures. */
  next_attempt_at: number | null
  samples: { device_id: Int64; device_guid: string | null }[]
}

export type Fate = 'pending' | 'sent' | 'failed' | 'moved' | 'expired' | 'cancelled'

/** The result of a push on one channel. */
export type PathStep = {
  channel: string
  fate: Fate
  /** As in failures; null if there is nothing to explain. */
  code: string | null
  reason: string | null
  /** Unix seconds; null while it is pending, and where it is unknown. */
  at: number | null
}

/** The result of a push on a device; `path` is empty for one that is no recipient. */
export type DevicePath = {
  device_id: Int64
  device_guid: string
  user_id: Int64 | null
  alias: string | null
  /** In the order in which the channels were tried. */
  path: (PathStep & { next_attempt_at: number | null })[]
  received_at: number | null
  clicked_at: number | null
}

/** A message of a device, with the channel that decided. */
export type DeviceMessage = PathStep & {
  task_id: Int64
  device_id: Int64
  device_guid: string
  title: string | null
  campaign: string | null
  received_at: number | null
  clicked_at: number | null
}

/** A line of the export of a task: a device and channel. */
export type ExportLine = PathStep & {
  device_id: Int64
  /** Null if the device was removed. */
  device_guid: string | null
  user_id: Int64 | null
  alias: string | null
  received_at: number | null
  clicked_at: number | null
}
export type ExportSums = Record<
  'target' | 'sent' | 'failed' | 'moved' | 'expired' | 'cancelled' | 'pending' | 'received' | 'clicked',
  number
>
/** The last line of an export; both records are by channel. */
export type ExportEnd = {
  sums: Record<string, ExportSums>
  counters: Record<string, ExportSums>
  equal: boolean
  lines: number
}

/** `from` and `to` are Unix seconds; periods begin at `from`. */
export type StatsSearch = {
  from: number
  to: number
  by: 'day' | 'hour'
  channel?: string
  campaign?: string
}
export type StatCounts = {
  target: number
  sent: number
  failed: number
  received: number
  clicked: number
  unreachable: number
}
export type Stats = {
  list: (StatCounts & { at: number })[]
  channels: (Omit<StatCounts, 'unreachable'> & { channel: string })[]
  total: StatCounts
}

export type TaskSearch = {
  limit?: number
  before?: Int64
  /** As in the answer. */
  state?: string
  campaign?: string
  task_ids?: Int64[]
  /** The `setting.request_id` of the task. */
  request_id?: string
  /** When it was accepted: from this Unix time on, and before that one. */
  from?: number
  to?: number
  /** Text in the title, in any case. */
  title?: string
  actor?: string
  /** Minimum number of devices. */
  min_target?: number
  /** Only tasks for all devices or for tags, for more than 64 devices, or with a start time. */
  broadcasts?: boolean
}

/** A request as it was sent, to be looked at or sent again. */
export type TaskRequest = {
  task_id: Int64
  created_at: number
  /** Set if it was sent to the devices of a group only. */
  group_id: Int64 | null
  actor: string | null
  address: string | null
  /** JSON of `audience`, `setting` and `message`, as POST /push/notify takes it; null for a recall. A text, so that large numbers keep their digits. */
  body: string | null
  /** Push tokens of the audience that are not in `body`, because no device has them any more. */
  tokens_lost: number
}

export type ChannelCounters = {
  channel: string
  target: number
  sent: number
  received: number
  clicked: number
  failed: number
  moved: number
  expired: number
  cancelled: number
  pending: number
}

export type Explanation = {
  channel: string | null
  code: string
  reason: string
  /** `notes` of vendors that could take the message; absent in responses of an older Herald. */
  others: { channel: string; code: string; reason: string; notes?: string[] }[]
  /** What the selected vendor does not carry of the message, cuts, refuses or leaves unanswered; in English. */
  notes: string[]
}

/** Settings of an application. */
export type ApplicationSettings = {
  /** Whether devices may register without a user. */
  register: boolean
  /** Maximum number of such registrations per day. */
  register_per_day: number
  /** Strategy of a push that names none. */
  default_strategy: Strategy
  /** Seconds for which a push that names no ttl may be delivered. */
  default_ttl: number
  caps: {
    /** Marketing messages per device, channel and day; null: the number of each vendor. */
    per_device_per_day: number | null
  }
}
/** Absent settings stay as they are, null restores the default. */
export type SettingsChange = { [Name in keyof ApplicationSettings]?: ApplicationSettings[Name] | null }

/** How the application's own sign-in tokens are checked. One of `jwks_url` and `public_key` is set. */
export type Identity = {
  issuer: string
  audience: string
  jwks_url: string | null
  /** PEM. */
  public_key: string | null
  /** The claim with the name of the user (default `sub`). */
  user_claim: string
  /** The keys in use. */
  keys: { kid: string | null; alg: string }[]
}
export type NewIdentity = { issuer: string; audience: string; user_claim?: string } & (
  | { jwks_url: string }
  | { public_key: string }
)

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
  locale: string | null
  timezone: string | null
  app_version: string | null
  attributes: Attributes | null
  /** False: the device receives nothing. */
  enabled: boolean
  /** Unix seconds, exact to about an hour; null if it was not seen since this is recorded. */
  last_seen: number | null
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

/** At most 20 keys. */
export type Attributes = Record<string, string | Int64 | boolean>

/** A Live Activity by the id that the application gave it, or the type of those that a push-to-start token starts. */
export type ActivityName = { activity_id: string } | { attributes_type: string }

/** A binding as it is written; `provider` is the vendor's number or the name of its channel. */
export type NewBinding = {
  provider: Provider | VendorName
  device_token: string
  environment?: Environment
  bundle_id?: string
  region?: string
}

/** What the application's own server writes about a device. An absent field stays as it is, null clears it. */
export type DeviceChange = {
  /** The application's own id of the installation; at least 128 random bits. */
  device_guid: string
  platform?: Platform | null
  user_id?: Int64 | null
  /** Usually the application's own id of its user. */
  alias?: string | null
  /** Replaces the tags of the device; `add_tags` and `remove_tags` change single ones. */
  tags?: string[] | null
  add_tags?: string[]
  remove_tags?: string[]
  /** Bindings of other channels stay; a `device_token` of null removes the binding of its channel, null instead of the list removes all. */
  bindings?: (NewBinding | { provider: NewBinding['provider']; device_token: null })[] | null
  attributes?: Attributes | null
  locale?: string | null
  /** IANA name, such as Asia/Shanghai. */
  timezone?: string | null
  app_version?: string | null
  enabled?: boolean | null
}
export type PutDevice = { push_token: string; created: boolean }
/** The result of one entry of a batch. */
export type PutDeviceResult = PutDevice | { code: number; message: string }

/** Selects devices; alias and user_id may select several. */
export type DeviceSelector =
  | { push_token: string }
  | { device_guid: string }
  | { alias: string }
  | { user_id: Int64 }
export type TagChange = { add?: DeviceSelector[]; remove?: DeviceSelector[] }
/** `unknown` has the entries that match no device. */
export type TagChangeReport = { added: number; removed: number; unknown: DeviceSelector[] }
/** `count_up_to` bounds the cost of tags with very many devices. */
export type TagSearch = PageOptions<string> & { prefix?: string; count_up_to?: number }
export type TagView = { tag: string; devices: number }
/** The person or device to erase. */
export type Erasure = { user_id: Int64 } | { alias: string } | { device_guid: string }

export type ImportedDevice = DeviceChange
export type ImportReport = {
  lines: number
  created: number
  updated: number
  /** Lines that changed nothing. */
  unchanged: number
  failed: number
  errors: { line: number; error: string }[]
}

/** Pass `next` as `after` (tasks: `before`) of the next call; null on the last page. */
export type Page<Entry, Key = Int64> = { list: Entry[]; next: Key | null }
export type PageOptions<Key = Int64> = { limit?: number; after?: Key }

/** The result of one entry of `notifyBatch`. `repeated`: its request_id was used before, nothing was pushed. */
export type NotifyResult = { task_id: Int64; repeated?: true } | { code: number; message: string }

export type AudienceCount = {
  devices: number
  /** Channels without devices are left out. */
  by_channel: Record<string, number>
  unreachable: number
  /** False: there are more devices, and all numbers are lower bounds. */
  exact: boolean
}

export type Recall = {
  /** Null with `dry_run`. */
  task_id: Int64 | null
  /** Set when `request_id` was used before: nothing was done. */
  repeated?: true
  channels: {
    channel: string
    /** Devices that the task was sent to so far. */
    devices: number
    /** A channel that can withdraw can also replace. */
    can: 'withdraw' | 'replace' | 'none'
    does: 'withdraw' | 'replace' | 'none'
    reason: string | null
  }[]
}

export type EventName =
  | 'task.finished'
  | 'task.cancelled'
  | 'device.sent'
  | 'device.failed'
  | 'device.expired'
  | 'device.received'
  | 'device.clicked'
  | 'token.retired'
  | 'certificate.closed'
  | 'certificate.reopened'
  | 'certificate.suspect'
  | 'certificate.expiring'

export type NewWebhook = {
  /** Changes this webhook; otherwise the one of the same name, if there is one. */
  webhook_id?: Int64
  name: string
  url: string
  events: EventName[]
  /** Only events of tasks of this campaign. */
  campaign?: string
  rotate_secret?: boolean
}

/** `secret` only for a new webhook and with `rotate_secret`. */
export type SavedWebhook = { webhook_id: Int64; secret?: string }

export type WebhookView = {
  webhook_id: Int64
  name: string
  url: string
  events: EventName[]
  campaign: string | null
  /** `rested`: nothing is sent until it is saved, tested with success or replayed. */
  state: 'active' | 'failing' | 'rested'
  failing_since: number | null
  rest_reason: string | null
  rested_at: number | null
  /** When a failed request is repeated. */
  next_at: number | null
  /** Entries that wait; there may be more if `backlog_exact` is false. */
  backlog: number
  backlog_exact: boolean
  backlog_since: number | null
  last_status: number | null
  last_error: string | null
  last_answer_at: number | null
  sent: number
  created_at: number
}

export type WebhookTest = { ok: boolean; status: number | null; error: string | null }

/** What happened, in requests to webhooks and in the stream. Other fields depend on `type`. */
export type EventEntry = {
  /** The same when the entry is sent again. */
  id: string
  type: EventName | 'webhook.test'
  at: number
  task_id?: Int64
  campaign?: string
  channel?: string
  /** Absent if the device no longer exists. */
  device_guid?: string
  user_id?: Int64
  username?: string
  alias?: string
  code?: string
  reason?: string
} & Record<string, unknown>
