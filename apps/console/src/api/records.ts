/** Responses of the console's own endpoints; the types of all others are in @herald/client. */
export type Session = {
  role: 'operator' | 'application'
  app_id?: string
  name?: string
  simulated: string[]
}
export type Credentials = { operator_key: string } | { app_id: string; app_secret: string }

export type Application = { app_id: string; name: string; package_name: string; created_at: number }

/** What batches wait for; `active`: they are being sent. */
export type QueueCause = 'waiting' | 'active' | 'refused' | 'silent' | 'retry' | 'speed' | 'paused'

export type Queue = {
  channel: string
  waiting: number
  active: number
  delayed: number
  causes: { cause: QueueCause; devices: number; batches: number }[]
  /** The counts are minimums: counting stops at a limit. */
  more: boolean
  oldest_seconds: number | null
}
export type ChannelCertificate = {
  id: number
  app_id: string
  environment: 0 | 1
  /** Null: the vendor's usual one. */
  region: string | null
  name: string
  state: 'open' | 'closed' | 'suspect'
  reason: string | null
  expires_at: number | null
  /** More batches are waiting than its rate limit allows to send. */
  throttled: boolean
  breaker: { since: number; retry_at: number; code: string; reason: string } | null
  /** When the vendor last accepted the present credentials; null: not since they were saved. */
  worked_at: number | null
  /** Parts that the vendor refuses at present. */
  held: string[]
  /** The vendor decides about less than half of the attempts. */
  failing: boolean
}
export type ChannelHealth = {
  channel: string
  certificates: ChannelCertificate[]
  state: 'working' | 'failing' | 'refused' | 'unused'
  /** Devices per second over the last 30 seconds. */
  rate: number
  /** By the time of sending. */
  sent_1m: number
  failed_1m: number
  sent_10m: number
  failed_10m: number
  /** Share of the attempts of the last ten minutes that the vendor did not decide. */
  failing_share: number | null
  last_error: { code: string; reason: string; at: number } | null
  last_sent_at: number | null
}
/** Devices by period; the last one is the present one, which is not over. */
export type SentSeries = {
  from: number
  /** Seconds. */
  step: number
  channels: { channel: string; sent: number[]; failed: number[] }[]
}
export type Overview = {
  /** Unix seconds, with a fraction. */
  at: number
  sent_total: number
  received_total: number
  failed_total: number
  queues: Queue[]
  channels: ChannelHealth[]
  native: { online: number; estimated: boolean; gateways: number }
  tasks_open: number
  accepted_last_minute: number
}
