import type { Outcome } from '@herald/domain'

/** One answer of the send API. `projectKnown`: this project has answered a send before. */
type FcmReply = { status: number; body: string; retryAfter?: number; projectKnown: boolean }

export type Verdict = {
  outcome: Outcome
  /** Our access token was refused: mint another, send once more. */
  refresh?: boolean
  /** The answer came from the project itself, whatever it said of this message. */
  fromProject?: boolean
}

const accepted: Verdict = { outcome: { kind: 'accepted' }, fromProject: true }

/** Seconds to wait where Google names the time in its documents instead of the answer. */
const quotaPause = 60
export const outagePause = 10

/** https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode */
export function classify(reply: FcmReply): Verdict {
  if (reply.status === 200) return accepted
  const error = readError(reply.body)
  const outcome = judge(reply, error)
  return {
    outcome,
    refresh: reply.status === 401 && error.fcmCode === undefined,
    fromProject: error.fcmCode !== undefined,
  }
}

function judge(reply: FcmReply, error: ReadError): Outcome {
  const { status, retryAfter } = reply
  const code = error.fcmCode ?? error.status
  const reason = `${status} ${code ?? 'without a code'}`
  switch (code) {
    case 'INVALID_ARGUMENT':
      return judgeArgument(error, reason)
    case 'UNREGISTERED':
    case 'SENDER_ID_MISMATCH':
      return { kind: 'gone', reason }
    // The APNs or web push key inside Firebase is bad: it concerns Apple and web targets only, and closing the channel
    // for it would stop every Android device.
    case 'THIRD_PARTY_AUTH_ERROR':
      return { kind: 'rejected', reason }
    case 'QUOTA_EXCEEDED':
    case 'RESOURCE_EXHAUSTED':
      return { kind: 'throttled', reason, retryAfter: retryAfter ?? quotaPause }
    case 'UNAUTHENTICATED':
    case 'PERMISSION_DENIED':
      return { kind: 'misconfigured', reason: error.detail ? `${reason} ${error.detail}` : reason }
    case 'UNAVAILABLE':
    case 'INTERNAL':
      return { kind: 'unavailable', reason, retryAfter, atLeast: outagePause }
    case 'NOT_FOUND':
      return judgeMissing(reply, `${reason}: no such project, or the wrong URL`, 'rejected')
  }
  if (status === 429) return { kind: 'throttled', reason, retryAfter: retryAfter ?? quotaPause }
  if (status === 401 || status === 403) return { kind: 'misconfigured', reason }
  if (status >= 500) return { kind: 'unavailable', reason, retryAfter, atLeast: outagePause }
  if (status === 404) return judgeMissing(reply, reason, 'unavailable')
  return { kind: 'rejected', reason }
}

/**
 * A 404 that does not speak of the token never condemns it. From a project that answered before it is a passing oddity;
 * otherwise the project id or the URL is wrong.
 */
function judgeMissing(reply: FcmReply, reason: string, known: 'rejected' | 'unavailable'): Outcome {
  return { kind: reply.projectKnown ? known : 'misconfigured', reason }
}

/** The text alone never decides: Google rewords it. It must come with the code, or the field must be named. */
function judgeArgument(error: ReadError, reason: string): Outcome {
  const badToken =
    error.fields.some((field) => field === 'message.token' || field === 'message.fid') ||
    (error.fcmCode !== undefined && /registration token is not a valid/i.test(error.message))
  if (badToken) return { kind: 'gone', reason: `${reason} message.token` }
  if (error.apns?.status === 410 || error.apns?.reason === 'Unregistered')
    return { kind: 'gone', reason: `${reason} APNs ${error.apns.reason ?? error.apns.status}` }
  if (/too (big|large)/i.test(error.message)) return { kind: 'rejected', reason: `${reason} too large` }
  return { kind: 'rejected', reason: error.fields[0] ? `${reason} ${error.fields[0]}` : reason }
}

type ReadError = {
  status?: string
  message: string
  fcmCode?: string
  apns?: { status?: number; reason?: string }
  /** Fields the request was wrong in, e.g. message.token. */
  fields: string[]
  /** ErrorInfo's word, e.g. ACCESS_TOKEN_EXPIRED. */
  detail?: string
}

/** Reads `{"error": {...}}`; details may be missing and come in any order. */
function readError(text: string): ReadError {
  const read: ReadError = { message: '', fields: [] }
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
        // A path of field names, so that no content of the message comes along.
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
