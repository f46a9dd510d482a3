import type { TokenBuckets } from '@herald/async'
import type { ChannelAdapter, TransportDeps } from '@herald/channels'
import type { NewCertificate } from '@herald/db/certificates'
import type { PushTokens } from '@herald/db/devices'
import type { Overview, SentSeries, SeriesRange } from '@herald/db/readings'
import type { Database, Sealer } from '@herald/db/store'
import type { VendorChannel } from '@herald/domain'
import type { Acceptor, CertificateCache } from '@herald/plan'
import type { Activity } from '@herald/program'
import type { PushQueues } from '@herald/queue'
import type { Logger, Registry } from '@herald/telemetry'
import type { Admission, QueuedAdmission } from './admission.ts'
import type { ConsoleSessions } from './auth/console-sessions.ts'
import type { createOperatorKeyCheck } from './auth/operator-key.ts'
import type { Passwords } from './auth/passwords.ts'
import type { Sessions } from './auth/sessions.ts'
import type { UploadCheck } from './certificates/upload-check.ts'
import type { BodyBudget } from './http/body-budget.ts'
import type { CallTurns } from './http/call-turns.ts'
import type { Identities } from './identity/identities.ts'
import type { DeviceWrites } from './import/device-writes.ts'
import type { Meters } from './meters.ts'
import type { AttachmentProbe } from './notify/attachment-probe.ts'
import type { CallbackHandler } from './receipts/callback-handler.ts'
import type { ReceiptSink } from './receipts/receipt-sink.ts'
import type { WebhookCalls } from './webhook-calls.ts'

/** Simulated vendors accept made-up credentials. */
export type Simulation = {
  channels: readonly VendorChannel[]
  makeCertificate(
    channel: VendorChannel,
  ): Promise<Pick<NewCertificate, 'appId' | 'appKey' | 'appSecret' | 'certificate' | 'extra'>>
}

/** What handlers depend on. Wired in `wire-api.ts`; specs replace some of it. */
export type ApiDeps = {
  db: Database
  sealer: Sealer
  pushTokens: PushTokens
  log: Logger
  registry: Registry
  queues: PushQueues
  meters: Meters
  acceptor: Acceptor
  certificates: CertificateCache
  adapters: Readonly<Partial<Record<VendorChannel, ChannelAdapter>>>
  uploads: UploadCheck
  transportDeps(certificateId: number): TransportDeps
  devices: DeviceWrites
  /** Records later that a device was heard of, which `isSeenLongAgo` says is due. */
  seen(deviceId: number): void
  receipts: ReceiptSink
  callbacks: CallbackHandler
  /** Figures of an application; blank: of all applications. Cached, so that callers may poll it. */
  overview(appId: string): Promise<Overview>
  series(appId: string, range: SeriesRange): Promise<SentSeries>
  passwords: Passwords
  sessions: Sessions
  consoleSessions: ConsoleSessions
  identities: Identities
  /** Sends the test of a webhook. */
  webhooks: WebhookCalls
  operatorKey?: string
  checkOperatorKey: ReturnType<typeof createOperatorKeyCheck>
  publicUrl?: string
  /** False: devices without a user may register in no application. */
  register: boolean
  /** Undefined: pictures are not fetched before a push. */
  probe?: AttachmentProbe
  /** All but `caller` and `receipts`, which is per device, are per address. `refused` and `failedLogin` count failures only. */
  limits: Record<
    'login' | 'register' | 'address' | 'caller' | 'receipts' | 'refused' | 'failedLogin',
    TokenBuckets
  >
  bodies: Record<'callback' | 'anonymous', BodyBudget>
  turns: CallTurns
  /** What admins of an application may do at once; their rate is not limited. */
  admission: {
    imports: Admission
    /** Counts of audiences and statistics: a large one takes two connections and much CPU. */
    counts: QueuedAdmission
    /** Exports of tasks: each holds a connection while its caller reads. */
    exports: Admission
    /** In bytes. */
    bodies: Admission
  }
  /** Number of proxies that append to x-forwarded-for; 0: the header is ignored. */
  trustedProxies: number
  /** Vendors that this process simulates; undefined: none. */
  simulation?: Simulation
  /** Set where the planner runs in the same process. */
  activity?: Activity
  /** Names of the dependencies that are not ready. */
  waiting(): Promise<string[]>
}
