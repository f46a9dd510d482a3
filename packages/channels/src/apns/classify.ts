import { type Outcome, ownReasons, type Reason } from '@herald/domain'
import { parseObject } from '../shared/http.ts'
import { unknownCodeTries } from '../shared/outcome.ts'
import { withoutUndefined } from '../shared/payload-parts.ts'
import { reason } from '../shared/reason.ts'
import { refusalsToStop } from '../shared/refusals-in-a-row.ts'

/** One reply of APNs. `body` may be empty or not JSON; `now` is Unix ms. */
export type ApnsReply = { status: number; body: string; retryAfter?: number; now: number }

/** How the transport retries once before it reports the outcome; both need a new connection. */
export type RetryWith = 'new-token' | 'new-connection'

export type ApnsResult = {
  outcome: Outcome
  retryWith?: RetryWith
  /** Nothing more may be sent on this connection. */
  endsConnection?: boolean
  /** Who else would get the same reply: all devices of the credential or of the topic. Apple counts each refusal. */
  concerns?: 'credential' | 'topic'
  /** Number of such replies in a row after which the others are not sent; by default 1. */
  stopsAfter?: number
  /** APNs also gives this reply to valid credentials for a while, so one accepted push disproves it. */
  passing?: boolean
}

type Row = Omit<ApnsResult, 'outcome'> & {
  kind: 'gone' | 'rejected' | 'throttled' | 'unavailable' | 'misconfigured' | 'quota'
  /** Seconds; a shorter wait in the reply does not count. */
  retryAfter?: number
  minWait?: number
  maxTries?: number
  /** What the operator can do, or what the reason means. */
  hint?: string
}

const rejected: Row = { kind: 'rejected' }
const gone: Row = { kind: 'gone' }
const unavailable: Row = { kind: 'unavailable' }
const credential = { concerns: 'credential', endsConnection: true } as const
const wrongTopic: Row = {
  kind: 'rejected',
  concerns: 'topic',
  hint: 'the credential is not valid for this bundle id',
}
const otherEnvironment: Row = {
  kind: 'misconfigured',
  ...credential,
  hint: 'the key is for the other environment',
}
/** A proxy or firewall may have written this reply. */
const refusedByGateway: Row = {
  kind: 'unavailable',
  concerns: 'credential',
  stopsAfter: refusalsToStop,
  endsConnection: true,
}

/** https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns */
export const reasons: Readonly<Record<string, Row>> = {
  BadCollapseId: rejected,
  BadDeviceToken: gone,
  BadExpirationDate: rejected,
  BadMessageId: rejected,
  BadPriority: rejected,
  BadTopic: wrongTopic,
  DeviceTokenNotForTopic: gone,
  DuplicateHeaders: rejected,
  IdleTimeout: { kind: 'unavailable', retryAfter: 0, endsConnection: true },
  InvalidPushType: rejected,
  MissingDeviceToken: rejected,
  MissingTopic: wrongTopic,
  PayloadEmpty: rejected,
  TopicDisallowed: wrongTopic,
  BadCertificate: { kind: 'misconfigured', ...credential, retryWith: 'new-connection' },
  BadCertificateEnvironment: { kind: 'misconfigured', ...credential },
  ExpiredProviderToken: {
    kind: 'unavailable',
    ...credential,
    retryWith: 'new-token',
    minWait: 60,
    hint: 'check the clock of this server',
  },
  // A connection is bound to its first team, so only a new one can be used.
  Forbidden: { kind: 'rejected', endsConnection: true },
  InvalidProviderToken: {
    kind: 'misconfigured',
    ...credential,
    retryWith: 'new-connection',
    passing: true,
    hint: 'key id, team id and key do not match, or the key was revoked',
  },
  MissingProviderToken: { kind: 'rejected', ...credential, retryWith: 'new-connection' },
  UnrelatedKeyIdInToken: { kind: 'unavailable', ...credential, retryWith: 'new-connection' },
  // The first spelling is Apple's documentation, the second is what its servers send.
  BadEnvironmentKeyIdInToken: otherEnvironment,
  BadEnvironmentKeyInToken: otherEnvironment,
  BadPath: rejected,
  MethodNotAllowed: rejected,
  Unregistered: gone,
  ExpiredToken: gone,
  PayloadTooLarge: rejected,
  // Every further request with this token gets the same reply, so all messages of the credential wait.
  TooManyProviderTokenUpdates: {
    kind: 'quota',
    retryAfter: 1200,
    concerns: 'credential',
    hint: 'the key was used with too many provider tokens',
  },
  TooManyRequests: { kind: 'throttled', minWait: 60 },
  InternalServerError: { kind: 'unavailable', endsConnection: true },
  ServiceUnavailable: unavailable,
  Shutdown: { kind: 'unavailable', retryAfter: 0, endsConnection: true },
}

/** The codes of refusals that concern one topic, as in the reasons of outcomes. */
export const topicRefusals = codesOf((row) => row.concerns === 'topic')
/** The codes of refusals that valid credentials get for a while too. */
export const passingRefusals = codesOf((row) => row.passing === true)

function codesOf(isWanted: (row: Row) => boolean): ReadonlySet<string> {
  return new Set(
    Object.entries(reasons).flatMap(([word, row]) => (isWanted(row) ? reason('apns', word, '').code : [])),
  )
}

const accepted: ApnsResult = { outcome: { kind: 'accepted' } }

export function classify(reply: ApnsReply): ApnsResult {
  if (reply.status === 200) return accepted
  const { status } = reply
  const { word, timestamp } = readBody(reply.body)
  const row = rowOf(status, word)
  const why = reason(
    'apns',
    word ?? `http_${status}`,
    withHint(`${status} ${word ?? 'without a reason'}`, row),
  )
  return resultOf(row, why, reply, timestamp)
}

/** Reads a GOAWAY about the credential: a certificate of the other environment gets no HTTP reply. */
export function classifyGoaway(data: string): ApnsResult | undefined {
  const { word } = readBody(data)
  const row = word && Object.hasOwn(reasons, word) ? reasons[word] : undefined
  if (row?.kind !== 'misconfigured') return undefined
  return resultOf(row, reason('apns', word!, withHint(`GOAWAY ${word}`, row)), { now: 0 })
}

/** Returns the result of a request without a reply. */
export function classifyFailure(failure: { reason: Reason; invalid: boolean; goaway?: string }): ApnsResult {
  const { invalid, goaway = '' } = failure
  if (invalid) return { outcome: { kind: 'rejected', reason: notInPath } }
  const fromGoaway = classifyGoaway(goaway)
  if (fromGoaway) return fromGoaway
  // TLS alerts for a client certificate that is revoked, expired or not issued by Apple; an inspecting proxy sends them too.
  if (/alert .*(certificate|unknown ca)/i.test(failure.reason.text))
    return { outcome: { kind: 'unavailable', reason: ownReasons.push_certificate_refused }, ...credential }
  const { word } = readBody(goaway)
  const why = word ? reason('apns', word, `GOAWAY ${word}`) : failure.reason
  return { outcome: { kind: 'unavailable', reason: why } }
}

const notInPath = ownReasons.token_malformed('the token cannot be part of a URL path')

/** Without a reason of APNs, the reply may be that of a gateway. */
function rowOf(status: number, word: string | undefined): Row {
  if (word && Object.hasOwn(reasons, word)) return reasons[word]!
  if (status >= 500 || status === 408) return unavailable
  if (status === 429) return { kind: 'throttled', minWait: 60 }
  if (status === 413 || status === 414 || status === 431) return rejected
  if (!word && (status === 401 || status === 403 || status === 407)) return refusedByGateway
  return { kind: 'unavailable', maxTries: unknownCodeTries }
}

function resultOf(
  row: Row,
  why: Reason,
  { retryAfter: replied, now }: Pick<ApnsReply, 'retryAfter' | 'now'>,
  since?: number,
): ApnsResult {
  const { kind, retryAfter: least, minWait, maxTries, hint: _, ...result } = row
  const retryAfter = least === undefined ? replied : Math.max(least, replied ?? 0)
  const outcome: Outcome =
    kind === 'quota'
      ? { kind, reason: why, until: now + Math.min(retryAfter ?? 0, maxPauseS) * 1000 }
      : outcomeOf(kind, why, withoutUndefined({ retryAfter, minWait, maxTries }), since)
  return { outcome, ...result }
}

/** Of a whole credential, whatever the reply asks for: a provider token lasts an hour. */
const maxPauseS = 3600

type Waits = { retryAfter?: number; minWait?: number; maxTries?: number }

function outcomeOf(
  kind: Exclude<Row['kind'], 'quota'>,
  reason: Reason,
  waits: Waits,
  since?: number,
): Outcome {
  switch (kind) {
    case 'gone':
      return since === undefined ? { kind, reason } : { kind, reason, since }
    case 'throttled':
    case 'unavailable':
      return { kind, reason, ...waits }
    default:
      return { kind, reason }
  }
}

function withHint(text: string, { hint }: Row): string {
  return hint ? `${text}: ${hint}` : text
}

/** `word` is the reason of APNs. */
function readBody(text: string): { word?: string; timestamp?: number } {
  const { reason, timestamp } = parseObject(text) ?? {}
  return {
    // A single word: a proxy may have written something else here.
    word: typeof reason === 'string' && /^\w{1,64}$/.test(reason) ? reason : undefined,
    timestamp: isTime(timestamp) ? timestamp : undefined,
  }
}

/** Unix ms that a date can have: the database refuses others, and with them the outcomes of the whole batch. */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && value <= 8.64e15
}
