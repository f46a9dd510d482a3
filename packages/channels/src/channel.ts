import type { Message, MessageClass, Outcome, Reason, VendorChannel } from '@herald/domain'
import type { AddressName, RegionAddressName } from './cards.ts'

/** A certificate: the five fields of the interface plus `extra`, secrets decrypted. */
export type Certificate = {
  id: number
  /** The application it belongs to. */
  application: string
  /** The application's package name, used if `extra` has none. */
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

/** A certificate has a wrong value; the message tells the operator what to change. */
export class CertificateProblem extends Error {}

/** The input of a payload, besides the certificate. */
export type Task = {
  taskId: number
  message: Message
  messageClass: MessageClass
  /** Remaining seconds, before the vendor's own maximum. 0: only if the device is online. */
  ttl: number
  applicationName: string
  /** URL for the vendor's receipts; undefined when no public URL is set. */
  callbackUrl?: string
  /** Unix seconds. */
  now: number
}

/** The part of a task that decides under which class a vendor counts it. */
export type ClassifiedTask = Pick<Task, 'message' | 'messageClass'>

/** The vendor cannot carry this message; known before a target is counted. */
export type Unsupported = {
  unsupported: string
  /** The message is too long; a shorter one could be sent. */
  tooLarge?: true
}

export type Recipient = {
  deviceId: number
  token: string
  /** The absolute badge number; set for vendors with `absoluteBadge` only. */
  badge?: number
  /** Of a Live Activity: the timestamp of this update, Unix seconds, larger than that of the update before. */
  timestamp?: number
  /** The topic of the binding, if it has one. */
  bundleId?: string
  /** The device runs HarmonyOS; set for vendors with `separatesHarmony` only. */
  harmony?: boolean
  /** The device is an iPhone; set for vendors with `separatesIos` only. */
  ios?: boolean
}

export type SendContext = {
  /** Aborts when the time limit has passed, the lease is lost or the process stops. */
  signal: AbortSignal
  /** To be called exactly once for each index of `recipients`, in any order, as soon as the outcome is known. */
  report(index: number, outcome: Outcome): void
}

/**
 * The connections and calls to a vendor with one credential. Cached per certificate and closed when it changes. Retries are the
 * runner's task; a transport retries only once, with a new access token.
 */
export interface Transport<Payload> {
  /** At most `tokensPerCall` recipients. Resolves when all are reported; if it throws, the outcome of the others is unknown. */
  send(payload: Payload, recipients: readonly Recipient[], context: SendContext): Promise<void>
  /**
   * Like `send`, with a payload of its own for each recipient. Only for vendors that take one request per device: the requests of many
   * small tasks then cost one call instead of one each.
   */
  sendEach?(
    payloads: readonly Payload[],
    recipients: readonly Recipient[],
    context: SendContext,
  ): Promise<void>
  /** Checks the credentials with the vendor, without sending a message if possible. */
  check(signal: AbortSignal): Promise<CheckResult>
  close(): Promise<void>
}

export type CheckResult =
  /** `warnings`: parts of the certificate that the vendor refuses, in English sentences. */
  | { ok: true; warnings?: readonly string[] }
  /** Not `temporary`: the vendor says that it refuses every request with these credentials. */
  | { ok: false; problem: string; temporary: boolean /** Of the reason, if there is one. */; code?: string }

export type TransportDeps = {
  /** Base URLs by name, with defaults applied. */
  urls: VendorUrls
  /** HTTP proxy for vendor calls, e.g. http://proxy:3128. */
  proxy?: string
  /** PEM of additional trusted authorities, for simulators and inspecting proxies. */
  ca?: string
  /**
   * `reference` sends through the vendor's usual library (`apn`, `firebase-admin`) instead of our own client, to compare the two or
   * to exclude ours as the cause of an error; vendors without such a library ignore it.
   */
  client?: 'own' | 'reference'
  /** Unix ms. */
  now(): number
  /** Time limit of one HTTP call in ms. */
  timeoutMs: number
  /**
   * An access token (or provider JWT) shared by all processes: stored under `key` for this certificate, requested by one caller
   * at a time when absent or past `renewAt`. A `stale` value (one that the vendor just refused) is never returned. `shared`: for all
   * certificates; `key` must then contain a hash of the whole credential, so that no other application gets the token.
   */
  session(
    key: string,
    mint: () => Promise<MintedSession>,
    stale?: string,
    scope?: 'certificate' | 'shared',
  ): Promise<string>
  /** Parts of the certificate that the vendor refused, shared by all processes. */
  holds: Holds
  /** A value shared by all calls of one task with this certificate (a payload stored at the vendor): made once. */
  taskMemory(taskId: number, key: string, make: () => Promise<string>): Promise<string>
}

/** The outcome that messages of a part of the certificate (a class, a topic, a notification channel) get without a call. */
export type HeldOutcome = Extract<Outcome, { kind: 'rejected' | 'quota' }>

/**
 * A scope is a kind of messages (`class service`, `topic com.example.app`), which are not sent, or `without` and a part (`without receipts`),
 * without which messages are sent.
 */
export type Holds = {
  /** Whether nothing is held. Reads memory only. */
  isEmpty(): boolean
  /** Reads memory only. Undefined if nothing is held or the hold has ended. */
  find(scope: string): HeldOutcome | undefined
  /** Stores the vendor's refusal of `scope` until `until` (Unix ms); operators see it as a warning of the certificate. */
  add(scope: string, outcome: HeldOutcome, until: number): void
}

/** Times in Unix ms. Between `renewAt` and `expiresAt` the old value is used while one caller requests a new one. */
export type MintedSession = { value: string; renewAt: number; expiresAt: number }

export type VendorUrls = Readonly<Record<UrlName, string> & Partial<Record<RegionAddressName, string>>>
/** Without hosts of another region, for which the default is the vendor's usual host. */
export type UrlName = Exclude<AddressName, RegionAddressName>

/** A vendor's callback as received. */
export type CallbackRequest = {
  headers: Readonly<Record<string, string>>
  query: Readonly<Record<string, string>>
  body: Buffer
  /** Unix ms, for signatures with a timestamp. */
  now: number
}

/** `taskId` is 0 when the vendor's receipt does not contain it. */
export type Receipt = {
  taskId: number
  token: string
  event: 'received' | 'clicked' | 'gone' | 'dropped'
  /** The vendor's code, for failures. */
  reason?: Reason
}

export type CallbackResult =
  | { ok: true; receipts: Receipt[]; response: CallbackResponse }
  /** Wrong signature or shape. */
  | { ok: false; problem: string; response: CallbackResponse }

export type CallbackResponse = { status: number; contentType: string; body: string }

/** Rates that the governor enforces for one certificate and message class; undefined if unknown. */
export type Limits = {
  requestsPerSecond?: number
  devicesPerSecond?: number
  dailyQuota?: number
  /** Messages of the class per device and day. */
  perDevicePerDay?: number
  /** Hours [from, to) in `timeZone` in which sending is allowed. */
  hours?: { from: number; to: number }
  timeZone: string
}

export interface ChannelAdapter<Settings = unknown, Payload = unknown> {
  readonly name: VendorChannel
  /** Maximum number of recipients of one `Transport.send`. */
  readonly tokensPerCall: number
  /** The vendor takes one request per device, so the runner settles parts of a batch while it is being sent. */
  readonly onePerDevice: boolean
  /** The vendor can only set a badge, not add to it, so the runner counts per device for `Recipient.badge`. */
  readonly absoluteBadge?: boolean
  /** Pure. Throws CertificateProblem. */
  readSettings(certificate: Certificate): Settings
  /** Pure. English sentences on what the settings will cause and what the operator can change; none of it prevents sending. */
  warnings?(settings: Settings): readonly string[]
  /** Pure. English sentences on what the vendor does not carry of this message, although it accepts it. */
  notes?(task: Task, settings: Settings): readonly string[]
  /** Pure. Expiry of the credential (Unix ms), if it has one. */
  expiresAt?(settings: Settings): number | undefined
  /** Pure. The certificate's `extra.limits` take precedence over the vendor's documented ones. */
  limits(settings: Settings, messageClass: MessageClass): Limits
  /** Pure. The class of messages without one: extra.default_class, otherwise marketing. */
  defaultClass(settings: Settings): MessageClass
  /**
   * Pure. The class under which the vendor counts the message, if its vendor fields can override the class of the task;
   * `limits` apply to this class.
   */
  classOf?(task: ClassifiedTask, settings: Settings): MessageClass
  /** Pure. The same for all recipients of a task; the transport adds token and badge. */
  mapPayload(task: Task, settings: Settings): Payload | Unsupported
  /** Pure. The parts of a payload that has one for each kind of device: a text may be cut in one of them only. */
  versionsOf?(payload: Payload): readonly unknown[]
  /**
   * Pure. The payload that takes a message away from the devices; `task` is the task that sent it. Outcomes of its send are those of a
   * message: `accepted` means withdrawn. Only for vendors whose card says `recall: 'withdraw'`.
   */
  withdrawal?(task: Task, settings: Settings): Payload | Unsupported
  /**
   * Pure. The one form of a token that is stored, where the vendor takes several: otherwise a device could have the same token twice.
   * Default: the token as it is.
   */
  canonicalToken?(token: string): string
  /** Pure. Returns undefined for a well-formed vendor token in its canonical form, otherwise the problem. */
  checkToken(token: string): string | undefined
  /** Pure. For vendors whose tokens show their region: a value of `extra.region`. */
  regionOf?(token: string): string | undefined
  open(settings: Settings, deps: TransportDeps): Transport<Payload>
  /** The headers, in lower case, that `readCallback` reads; others are not stored. */
  callbackHeaders?: readonly string[]
  /** Pure. Only for vendors with receipts. */
  readCallback?(request: CallbackRequest, settings: Settings): CallbackResult
}

export function isUnsupported(value: unknown): value is Unsupported {
  return typeof value === 'object' && value !== null && 'unsupported' in value
}
