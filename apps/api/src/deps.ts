import type { ChannelAdapter, TransportDeps } from '@herald/channels'
import type { Database, Sealer } from '@herald/db/store'
import type { VendorChannel } from '@herald/domain'
import type { Acceptor, CertificateBook } from '@herald/plan'
import type { PushQueues } from '@herald/queue'
import type { Logger, Registry } from '@herald/telemetry'
import type { ConsoleSessions } from './auth/console-sessions.ts'
import type { Passwords } from './auth/passwords.ts'
import type { Sessions } from './auth/sessions.ts'
import type { OverviewReading } from './console/overview-reading.ts'
import type { Meters } from './meters.ts'
import type { AttachmentProbe } from './notify/attachment-probe.ts'
import type { CallbackDesk } from './receipts/callback-desk.ts'
import type { ReceiptSink } from './receipts/receipt-sink.ts'
import type { RateLimiter } from './rim/rate-limiter.ts'

/** What handlers work with. Wired once in `wire-api.ts`, replaced in part by specs. */
export type ApiDeps = {
  db: Database
  sealer: Sealer
  log: Logger
  registry: Registry
  queues: PushQueues
  meters: Meters
  acceptor: Acceptor
  certificates: CertificateBook
  adapters: Readonly<Partial<Record<VendorChannel, ChannelAdapter>>>
  transportDeps(certificateId: number): TransportDeps
  receipts: ReceiptSink
  callbacks: CallbackDesk
  overview: OverviewReading
  passwords: Passwords
  sessions: Sessions
  consoleSessions: ConsoleSessions
  operatorKey?: string
  publicUrl?: string
  /** Whether devices without a user may register themselves. */
  register: boolean
  /** Undefined: pictures are not looked up. */
  probe?: AttachmentProbe
  limits: { login: RateLimiter; register: RateLimiter; address: RateLimiter; caller: RateLimiter }
  /** How many proxies in front add to x-forwarded-for; 0 = the header is not believed. */
  trustedProxies: number
  /** Names of what is not ready yet. */
  waiting(): Promise<string[]>
}
