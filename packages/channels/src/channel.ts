import type { Message, MessageClass, Outcome, VendorChannel } from '@herald/domain'

/** A certificate as stored: the five fields of the interface plus `extra`, secrets in the clear. */
export type Certificate = {
  id: number
  /** The application it belongs to. */
  application: string
  /** The application's own package name, used where `extra` names none. */
  packageName?: string
  channel: VendorChannel
  environment: 'production' | 'development'
  name: string
  appId: string
  appKey: string
  appSecret: string
  certificate: string
  extra: Record<string, unknown>
}

/** A certificate whose form is wrong; the message is one sentence an operator can act on. */
export class CertificateProblem extends Error {}

/** Everything a payload may depend on besides the certificate. */
export type Task = {
  taskId: number
  message: Message
  messageClass: MessageClass
  /** Seconds the message still has, before the vendor's own cap. 0 = only if reachable now. */
  ttl: number
  applicationName: string
  /** Where the vendor shall send receipts; undefined when no public URL is set. */
  callbackUrl?: string
  /** Unix seconds. */
  now: number
}

/** The vendor cannot carry this message; said before a target is counted. */
export type Unsupported = { unsupported: string }

export type Recipient = {
  deviceId: number
  token: string
  /** The absolute number to show; set for apns only. */
  badge?: number
  /** APNs topic of the binding, when it names one. */
  bundleId?: string
  /** The device runs HarmonyOS, which huawei reaches through another version of its interface. */
  harmony?: boolean
}

export type SendContext = {
  /** Aborts when the time limit is over, the lease is lost or the process stops. */
  signal: AbortSignal
  /** Called exactly once for each index of `recipients`, in any order, as soon as the answer is known. */
  report(index: number, outcome: Outcome): void
}

/**
 * One credential's way to its vendor: connections, auth, calls. Cached by certificate and closed when it changes. Never
 * retries a send by itself, except once after refreshing an expired auth: retry lives in the runner.
 */
export interface Transport<Payload> {
  /** At most `limits.tokensPerCall` recipients a call. Resolves when all are reported; throws = unknown for the rest. */
  send(payload: Payload, recipients: readonly Recipient[], context: SendContext): Promise<void>
  /** Asks the vendor whether the credential is good, without pushing where that is possible. */
  check(signal: AbortSignal): Promise<CheckResult>
  close(): Promise<void>
}

export type CheckResult = { ok: true } | { ok: false; problem: string; temporary: boolean }

export type TransportDeps = {
  /** Base URLs by name (see each vendor's settings), already defaulted. */
  urls: VendorUrls
  /** HTTP proxy for vendor calls, e.g. http://proxy:3128. */
  proxy?: string
  /** PEM of extra authorities to trust, for simulators and inspecting proxies. */
  ca?: string
  /**
   * `reference` sends through the library others use (`apn`, `firebase-admin`) instead of our own client, to compare the two or
   * to rule ours out; vendors without such a library ignore it.
   */
  client?: 'own' | 'reference'
  /** Unix ms. */
  now(): number
  /** Time limit of one HTTP call in ms. */
  timeoutMs: number
  /**
   * A vendor pass (access token, provider JWT) shared by all processes: stored under `key` for this certificate, minted by
   * one caller at a time when absent or past `renewAt`. A `stale` value (one the vendor just refused) is never returned.
   */
  session(key: string, mint: () => Promise<MintedSession>, stale?: string): Promise<string>
  /** A value shared by all chunks of one task on this certificate (vivo's saved list payload): made once. */
  taskMemory(taskId: number, key: string, make: () => Promise<string>): Promise<string>
}

/** Times in Unix ms. Between `renewAt` and `expiresAt` the old value still serves while one caller mints. */
export type MintedSession = { value: string; renewAt: number; expiresAt: number }

export type VendorUrls = Readonly<Record<UrlName, string> & Partial<Record<RegionUrlName, string>>>
/** Hosts of another region; a certificate with that region falls back to the vendor's usual one where they are unset. */
export type RegionUrlName = 'meizuIntl' | 'oppoIntl'
export type UrlName =
  | 'apns'
  | 'apnsSandbox'
  | 'fcm'
  | 'fcmToken'
  | 'huawei'
  | 'huaweiAuth'
  | 'honor'
  | 'honorAuth'
  | 'xiaomi'
  | 'oppo'
  | 'vivo'
  | 'meizu'

/** A vendor's callback as it came in. */
export type CallbackRequest = {
  headers: Readonly<Record<string, string>>
  query: Readonly<Record<string, string>>
  body: Buffer
  /** Unix ms, for signatures that carry a time. */
  now: number
}

/** `taskId` 0 when the vendor's receipt does not carry it. */
export type Receipt = {
  taskId: number
  token: string
  event: 'received' | 'clicked' | 'gone' | 'dropped'
  /** The vendor's own code or word, for failures. */
  reason?: string
}

export type CallbackReading =
  | { ok: true; receipts: Receipt[]; answer: CallbackAnswer }
  /** Wrong signature or shape. */
  | { ok: false; problem: string; answer: CallbackAnswer }

export type CallbackAnswer = { status: number; contentType: string; body: string }

/** Rates the governor holds for one certificate and message class; undefined = none known. */
export type Limits = {
  requestsPerSecond?: number
  devicesPerSecond?: number
  dailyQuota?: number
  /** Local hours [from, to) in `timeZone` in which sending is open. */
  hours?: { from: number; to: number }
  timeZone: string
}

export interface ChannelAdapter<Settings = unknown, Payload = unknown> {
  readonly name: VendorChannel
  /** Most recipients of one `Transport.send`. */
  readonly tokensPerCall: number
  /** The vendor takes one request a device, so the runner settles in parts while a batch is under way. */
  readonly onePerDevice: boolean
  /** The vendor shows the number it is told and cannot add: the runner keeps a count per device for `Recipient.badge`. */
  readonly absoluteBadge?: boolean
  /** Pure. Throws CertificateProblem. */
  readSettings(certificate: Certificate): Settings
  /** When the credential itself ends (Unix ms), if it does. Pure. */
  expiresAt?(settings: Settings): number | undefined
  /** Pure. The certificate's own `extra.limits` win over the vendor's documented ones. */
  limits(settings: Settings, messageClass: MessageClass): Limits
  /** Pure. The class of messages that name none: extra.default_class, else marketing. */
  defaultClass(settings: Settings): MessageClass
  /**
   * Pure. The class the vendor will count the message under, where the message's own vendor fields can say otherwise than
   * its task (vivo.classification); `limits` hold for this class. Absent = the task's own.
   */
  classOf?(task: Pick<Task, 'message' | 'messageClass'>, settings: Settings): MessageClass
  /** Pure. The same for all recipients of a task; the transport fills in token and badge. */
  mapPayload(task: Task, settings: Settings): Payload | Unsupported
  /** Pure. Whether a vendor token has the vendor's shape; undefined = fine, else one sentence. */
  checkToken(token: string): string | undefined
  open(settings: Settings, deps: TransportDeps): Transport<Payload>
  /** Pure. Only for vendors that call back. */
  readCallback?(request: CallbackRequest, settings: Settings): CallbackReading
}

export function isUnsupported(value: unknown): value is Unsupported {
  return typeof value === 'object' && value !== null && 'unsupported' in value
}
