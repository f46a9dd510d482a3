import type { Outcome, Reason } from '@herald/domain'
import { reason } from '../shared/reason.ts'

/** One reply of the send API. */
export type FcmReply = { status: number; body: string; retryAfter?: number }
/** `projectKnown`: this project has replied to a send before. */
type KnownReply = FcmReply & { projectKnown: boolean }

export type FcmResult = {
  outcome: Outcome
  /** Retry once with a new access token. */
  tokenRefused?: boolean
  /** The reply shows that the project exists. */
  fromProject?: boolean
}

const accepted: FcmResult = { outcome: { kind: 'accepted' }, fromProject: true }

/** Seconds to wait when the reply has no Retry-After, from Google's documentation. */
const quotaPause = 60
export const outagePause = 10

/** https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode */
export function classify(reply: KnownReply): FcmResult {
  if (reply.status === 200) return accepted
  const error = readError(reply.body)
  return {
    outcome: outcomeOf(reply, error),
    tokenRefused: reply.status === 401 && error.fcmCode === undefined,
    fromProject: error.fcmCode !== undefined,
  }
}

function outcomeOf(reply: KnownReply, error: FcmError): Outcome {
  const { status, retryAfter } = reply
  const code = error.fcmCode ?? error.status
  const text = `${status} ${code ?? 'without a code'}`
  const because = (more = '', detail?: string) => reason('fcm', code ?? `http_${status}`, text + more, detail)
  const why = because()
  switch (code) {
    case 'INVALID_ARGUMENT':
      return outcomeOfArgument(error, (detail) =>
        because(detail && ` ${detail}`, detail?.replaceAll(' ', '_')),
      )
    case 'UNREGISTERED':
    case 'SENDER_ID_MISMATCH':
      return { kind: 'gone', reason: why }
    // The APNs or web push key in Firebase is invalid. That concerns only Apple and web targets, so the channel must not be
    // disabled for all Android devices.
    case 'THIRD_PARTY_AUTH_ERROR':
      return { kind: 'rejected', reason: why }
    case 'QUOTA_EXCEEDED':
    case 'RESOURCE_EXHAUSTED':
      return { kind: 'throttled', reason: why, retryAfter: retryAfter ?? quotaPause }
    case 'UNAUTHENTICATED':
    case 'PERMISSION_DENIED':
      return { kind: 'misconfigured', reason: error.detail ? because(` ${error.detail}`, error.detail) : why }
    case 'UNAVAILABLE':
    case 'INTERNAL':
      return { kind: 'unavailable', reason: why, retryAfter, minWait: outagePause }
    case 'NOT_FOUND':
      return outcomeOfMissing(reply, because(': no such project, or the wrong URL'), 'rejected')
  }
  if (status === 429) return { kind: 'throttled', reason: why, retryAfter: retryAfter ?? quotaPause }
  if (status === 401 || status === 403) return { kind: 'misconfigured', reason: why }
  if (status >= 500) return { kind: 'unavailable', reason: why, retryAfter, minWait: outagePause }
  if (status === 404) return outcomeOfMissing(reply, why, 'unavailable')
  return { kind: 'rejected', reason: why }
}

/**
 * A 404 that does not mention the token never retires it. If the project has replied before, it is treated as temporary;
 * otherwise the project id or the URL is wrong.
 */
function outcomeOfMissing(reply: KnownReply, reason: Reason, known: 'rejected' | 'unavailable'): Outcome {
  return { kind: reply.projectKnown ? known : 'misconfigured', reason }
}

/** The message alone is not enough, because Google rewords it: there must be an FCM code or the name of the field. */
function outcomeOfArgument(error: FcmError, because: (detail?: string) => Reason): Outcome {
  const badToken =
    error.fields.some((field) => field === 'message.token' || field === 'message.fid') ||
    (error.fcmCode !== undefined && /registration token is not a valid/i.test(error.message))
  if (badToken) return { kind: 'gone', reason: because('message.token') }
  if (error.apns?.status === 410 || error.apns?.reason === 'Unregistered')
    return { kind: 'gone', reason: because(`APNs ${error.apns.reason ?? error.apns.status}`) }
  if (/too (big|large)/i.test(error.message)) return { kind: 'rejected', reason: because('too large') }
  return { kind: 'rejected', reason: because(error.fields[0]) }
}

type FcmError = {
  status?: string
  message: string
  fcmCode?: string
  apns?: { status?: number; reason?: string }
  /** Invalid fields of the request, e.g. message.token. */
  fields: string[]
  /** The reason of ErrorInfo, e.g. ACCESS_TOKEN_EXPIRED. */
  detail?: string
}

/** Reads `{"error": {...}}`; details may be missing and are in any order. */
function readError(text: string): FcmError {
  const read: FcmError = { message: '', fields: [] }
  const error = objectOf(objectOf(parse(text)).error)
  read.status = word(error.status)
  read.message = typeof error.message === 'string' ? error.message : ''
  for (const item of Array.isArray(error.details) ? error.details : []) {
    const detail = objectOf(item)
    const type = String(detail['@type'] ?? '')
    if (type.endsWith('FcmError')) read.fcmCode = word(detail.errorCode)
    else if (type.endsWith('ApnsError'))
      read.apns = {
        status: typeof detail.statusCode === 'number' ? detail.statusCode : undefined,
        reason: word(detail.reason),
      }
    else if (type.endsWith('ErrorInfo')) read.detail = word(detail.reason)
    else if (type.endsWith('BadRequest'))
      for (const violation of Array.isArray(detail.fieldViolations) ? detail.fieldViolations : []) {
        const field = objectOf(violation).field
        // Only a path of field names, never content of the message.
        if (typeof field === 'string' && /^[\w.[\]]{1,100}$/.test(field)) read.fields.push(field)
      }
  }
  return read
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function word(value: unknown): string | undefined {
  return typeof value === 'string' && /^\w{1,64}$/.test(value) ? value : undefined
}
