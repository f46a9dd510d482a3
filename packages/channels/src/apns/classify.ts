import type { Outcome, OutcomeKind } from '@herald/domain'

/** One answer of APNs. `body` may be empty or no JSON. */
export type ApnsReply = { status: number; body: string; retryAfter?: number }

/** What the transport tries once before anybody hears of the answer; both take a new connection. */
export type Remedy = 'new-token' | 'new-connection'

export type Verdict = {
  outcome: Outcome
  remedy?: Remedy
  /** Nothing more may be sent on the connection this came on. */
  spoilsConnection?: boolean
  /** Every other device would be told the same, and Apple counts each time it has to. */
  concernsAll?: boolean
}

type Row = {
  kind: Exclude<OutcomeKind, 'accepted' | 'quota'>
  /** Seconds. */
  retryAfter?: number
  remedy?: Remedy
  spoilsConnection?: true
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
  IdleTimeout: { kind: 'unavailable', retryAfter: 0, spoilsConnection: true },
  InvalidPushType: rejected,
  MissingDeviceToken: rejected,
  MissingTopic: misconfigured,
  PayloadEmpty: rejected,
  TopicDisallowed: misconfigured,
  BadCertificate: misconfigured,
  BadCertificateEnvironment: misconfigured,
  ExpiredProviderToken: { kind: 'misconfigured', remedy: 'new-token' },
  Forbidden: misconfigured,
  InvalidProviderToken: misconfigured,
  MissingProviderToken: misconfigured,
  UnrelatedKeyIdInToken: { kind: 'misconfigured', remedy: 'new-connection' },
  // Apple's page has the first spelling, its servers send the second.
  BadEnvironmentKeyIdInToken: misconfigured,
  BadEnvironmentKeyInToken: misconfigured,
  BadPath: rejected,
  MethodNotAllowed: rejected,
  Unregistered: gone,
  ExpiredToken: gone,
  PayloadTooLarge: rejected,
  TooManyProviderTokenUpdates: { kind: 'throttled', retryAfter: 1200 },
  TooManyRequests: { kind: 'throttled', retryAfter: 60 },
  InternalServerError: { kind: 'unavailable', spoilsConnection: true },
  ServiceUnavailable: unavailable,
  Shutdown: { kind: 'unavailable', retryAfter: 0, spoilsConnection: true },
}

const accepted: Verdict = { outcome: { kind: 'accepted' } }

export function classify(reply: ApnsReply): Verdict {
  if (reply.status === 200) return accepted
  const { reason, timestamp } = readBody(reply.body)
  const row = rowOf(reply.status, reason)
  const words = `${reply.status} ${reason ?? 'without a reason'}`
  return {
    outcome: outcomeOf(row, words, reply.retryAfter ?? row.retryAfter, timestamp),
    remedy: row.remedy,
    spoilsConnection: row.spoilsConnection || row.kind === 'misconfigured',
    concernsAll: row.kind === 'misconfigured',
  }
}

/** What APNs told in GOAWAY, if it concerns the credential: a certificate of the other environment gets no HTTP status. */
export function classifyGoaway(data: string): Verdict | undefined {
  const { reason } = readBody(data)
  if (!reason || !Object.hasOwn(reasons, reason) || reasons[reason]!.kind !== 'misconfigured')
    return undefined
  return misconfiguredForAll(`GOAWAY ${reason}`)
}

/** A request without an answer. */
export function classifyFailure(failure: { reason: string; invalid: boolean; goaway?: string }): Verdict {
  const { reason, invalid, goaway = '' } = failure
  if (invalid) return { outcome: { kind: 'rejected', reason: 'the token is no part of a path' } }
  const told = classifyGoaway(goaway)
  if (told) return told
  // The handshake's own words for a client certificate that is revoked, expired or not Apple's.
  if (/alert .*(certificate|unknown ca)/i.test(reason))
    return misconfiguredForAll('TLS: the push certificate was refused')
  const parting = readBody(goaway).reason
  return { outcome: { kind: 'unavailable', reason: parting ? `GOAWAY ${parting}` : reason } }
}

function misconfiguredForAll(reason: string): Verdict {
  return { outcome: { kind: 'misconfigured', reason }, spoilsConnection: true, concernsAll: true }
}

/** A reason Apple has not published condemns the message alone; without any reason the status is all there is to judge. */
function rowOf(status: number, reason: string | undefined): Row {
  if (reason && Object.hasOwn(reasons, reason)) return reasons[reason]!
  if (status >= 500) return unavailable
  if (status === 429) return { kind: 'throttled', retryAfter: 60 }
  if (reason) return rejected
  return status === 410 ? gone : status === 403 ? misconfigured : rejected
}

function outcomeOf(row: Row, reason: string, retryAfter?: number, since?: number): Outcome {
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

function readBody(text: string): { reason?: string; timestamp?: number } {
  try {
    const { reason, timestamp } = JSON.parse(text) as { reason?: unknown; timestamp?: unknown }
    return {
      // A word of the vendor's, never a sentence of somebody's proxy.
      reason: typeof reason === 'string' && /^\w{1,64}$/.test(reason) ? reason : undefined,
      timestamp: typeof timestamp === 'number' ? timestamp : undefined,
    }
  } catch {
    return {}
  }
}
