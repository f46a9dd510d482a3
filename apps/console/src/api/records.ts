/** Responses of the console's own endpoints; the types of all others are in @herald/client. */
export type Session = { role: 'operator' | 'application'; app_id?: string; name?: string }
export type Credentials = { operator_key: string } | { app_id: string; app_secret: string }

export type Application = { app_id: string; name: string; package_name: string; created_at: number }

export type Queue = {
  channel: string
  waiting: number
  active: number
  delayed: number
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
  breaker: { since: number; retry_at: number; reason: string } | null
  /** Parts that the vendor refuses at present. */
  held: string[]
}
export type ChannelHealth = {
  channel: string
  certificates: ChannelCertificate[]
  sent_10m: number
  failed_10m: number
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
