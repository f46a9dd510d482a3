import { type Outcome, type OutcomeKind, ownReasons, type Reason } from '@herald/domain'
import { reason } from '../shared/reason.ts'

/** One reply of APNs. `body` may be empty or not JSON. */
export type ApnsReply = { status: number; body: string; retryAfter?: number }

/** How the transport retries once before it reports the outcome; both need a new connection. */
export type RetryWith = 'new-token' | 'new-connection'

export type ApnsResult = {
  outcome: Outcome
  retryWith?: RetryWith
  /** Nothing more may be sent on this connection. */
  endsConnection?: boolean
  /** All other devices would get the same reply, and Apple counts each refusal. */
  concernsAll?: boolean
}

type Row = {
  kind: Exclude<OutcomeKind, 'accepted' | 'quota'>
  /** Seconds. */
  retryAfter?: number
  retryWith?: RetryWith
  endsConnection?: true
}

const rejected: Row = { kind: 'rejected' }
const gone: Row = { kind: 'gone' }
const misconfigured: Row = { kind: 'misconfigured' }
const unavailable: Row = { kind: 'unavailable' }

/** https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns */
const reasons: Readonly<Record<string, Row>> = {
  BadCollapseId: rejected,
  BadDeviceToken: gone,
  BadExpirationDate: rejected,
  BadMessageId: rejected,
  BadPriority: rejected,
  BadTopic: misconfigured,
  DeviceTokenNotForTopic: gone,
  DuplicateHeaders: rejected,
  IdleTimeout: { kind: 'unavailable', retryAfter: 0, endsConnection: true },
  InvalidPushType: rejected,
  MissingDeviceToken: rejected,
  MissingTopic: misconfigured,
  PayloadEmpty: rejected,
  TopicDisallowed: misconfigured,
  BadCertificate: misconfigured,
  BadCertificateEnvironment: misconfigured,
  ExpiredProviderToken: { kind: 'misconfigured', retryWith: 'new-token' },
  Forbidden: misconfigured,
  InvalidProviderToken: misconfigured,
  MissingProviderToken: misconfigured,
  UnrelatedKeyIdInToken: { kind: 'misconfigured', retryWith: 'new-connection' },
  // The first spelling is Apple's documentation, the second is what its servers send.
  BadEnvironmentKeyIdInToken: misconfigured,
  BadEnvironmentKeyInToken: misconfigured,
  BadPath: rejected,
  MethodNotAllowed: rejected,
  Unregistered: gone,
  ExpiredToken: gone,
  PayloadTooLarge: rejected,
  TooManyProviderTokenUpdates: { kind: 'throttled', retryAfter: 1200 },
  TooManyRequests: { kind: 'throttled', retryAfter: 60 },
  InternalServerError: { kind: 'unavailable', endsConnection: true },
  ServiceUnavailable: unavailable,
  Shutdown: { kind: 'unavailable', retryAfter: 0, endsConnection: true },
}

const accepted: ApnsResult = { outcome: { kind: 'accepted' } }

export function classify(reply: ApnsReply): ApnsResult {
  if (reply.status === 200) return accepted
  const { status } = reply
  const { word, timestamp } = readBody(reply.body)
  const row = rowOf(status, word)
  const why = reason('apns', word ?? `http_${status}`, `${status} ${word ?? 'without a reason'}`)
  return {
    outcome: outcomeOf(row, why, reply.retryAfter ?? row.retryAfter, timestamp),
    retryWith: row.retryWith,
    endsConnection: row.endsConnection || row.kind === 'misconfigured',
    concernsAll: row.kind === 'misconfigured',
  }
}

/** Reads a GOAWAY about the credential: a certificate of the other environment gets no HTTP reply. */
export function classifyGoaway(data: string): ApnsResult | undefined {
  const { word } = readBody(data)
  if (!word || !Object.hasOwn(reasons, word) || reasons[word]!.kind !== 'misconfigured') return undefined
  return misconfiguredForAll(reason('apns', word, `GOAWAY ${word}`))
}

/** Returns the result of a request without a reply. */
export function classifyFailure(failure: { reason: Reason; invalid: boolean; goaway?: string }): ApnsResult {
  const { invalid, goaway = '' } = failure
  if (invalid) return { outcome: { kind: 'rejected', reason: notInPath } }
  const fromGoaway = classifyGoaway(goaway)
  if (fromGoaway) return fromGoaway
  // TLS alerts for a client certificate that is revoked, expired or not issued by Apple.
  if (/alert .*(certificate|unknown ca)/i.test(failure.reason.text))
    return misconfiguredForAll(ownReasons.push_certificate_refused)
  const { word } = readBody(goaway)
  const why = word ? reason('apns', word, `GOAWAY ${word}`) : failure.reason
  return { outcome: { kind: 'unavailable', reason: why } }
}

const notInPath = ownReasons.token_malformed('the token cannot be part of a URL path')

function misconfiguredForAll(reason: Reason): ApnsResult {
  return { outcome: { kind: 'misconfigured', reason }, endsConnection: true, concernsAll: true }
}

/** An undocumented reason fails the message only; without a reason the status decides. */
function rowOf(status: number, word: string | undefined): Row {
  if (word && Object.hasOwn(reasons, word)) return reasons[word]!
  if (status >= 500) return unavailable
  if (status === 429) return { kind: 'throttled', retryAfter: 60 }
  if (word) return rejected
  return status === 410 ? gone : status === 403 ? misconfigured : rejected
}

function outcomeOf(row: Row, reason: Reason, retryAfter?: number, since?: number): Outcome {
  switch (row.kind) {
    case 'gone':
      return since === undefined ? { kind: 'gone', reason } : { kind: 'gone', reason, since }
    case 'throttled':
    case 'unavailable':
      return retryAfter === undefined ? { kind: row.kind, reason } : { kind: row.kind, reason, retryAfter }
    default:
      return { kind: row.kind, reason }
  }
}

/** `word` is the reason of APNs. */
function readBody(text: string): { word?: string; timestamp?: number } {
  try {
    const { reason, timestamp } = JSON.parse(text) as { reason?: unknown; timestamp?: unknown }
    return {
      // A single word: a proxy may have written something else here.
      word: typeof reason === 'string' && /^\w{1,64}$/.test(reason) ? reason : undefined,
      timestamp: typeof timestamp === 'number' ? timestamp : undefined,
    }
  } catch {
    return {}
  }
}
