import { type Outcome, ownReasons, type Reason } from '@herald/domain'
import { unknownCodeTries, vendorText } from '../shared/outcome.ts'
import { reason } from '../shared/reason.ts'
import { refusalsToStop } from '../shared/refusals-in-a-row.ts'

/** One reply of the send API. Over HTTP/2 the body is bytes, because that of an accepted message is not needed as text. */
export type FcmReply = { status: number; body: string | Buffer; retryAfter?: number }

export type FcmResult = {
  outcome: Outcome
  /** Retry once with a new access token. */
  tokenRefused?: boolean
  /**
   * All other devices may get the same reply, and Google counts refusals against the quota: after this number of such replies in a row
   * the others are not sent.
   */
  stopsAfter?: number
}

const accepted: FcmResult = { outcome: { kind: 'accepted' } }

/** Shortest pauses in seconds, from Google's documentation. */
const quotaPause = 60
export const outagePause = 10

/** A proxy or a captive portal replied instead of Google. */
const unreadable: FcmResult = {
  outcome: {
    kind: 'unavailable',
    reason: ownReasons.vendor_reply_unreadable('the reply is not a JSON object'),
    minWait: outagePause,
  },
}

/** https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode */
export function classify(reply: FcmReply): FcmResult {
  if (reply.status === 200) return isObject(reply.body) ? accepted : unreadable
  const error = readError(reply.body.toString())
  const outcome = outcomeOf(reply, error)
  const tokenRefused = reply.status === 401 && error.fcmCode === undefined
  if (outcome.kind === 'misconfigured') return { outcome, stopsAfter: 1 }
  const isRefusal = tokenRefused || outcome.kind === 'throttled' || (reply.status === 403 && !error.fcmCode)
  return { outcome, ...(tokenRefused && { tokenRefused }), ...(isRefusal && { stopsAfter: refusalsToStop }) }
}

/** Looks at the first and the last character only: every message that Google accepts has such a reply, and parsing it costs time. */
function isObject(body: string | Buffer): boolean {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  let first = 0
  let last = bytes.length - 1
  while (first < last && isBlank(bytes[first]!)) first++
  while (first < last && isBlank(bytes[last]!)) last--
  return first < last && bytes[first] === 0x7b && bytes[last] === 0x7d
}

const isBlank = (byte: number) => byte <= 0x20

function outcomeOf({ status, retryAfter }: FcmReply, error: FcmError): Outcome {
  const code = error.fcmCode ?? error.status
  const text = `${status} ${code ?? 'without a code'}`
  const because = (more = '', detail?: string) => reason('fcm', code ?? `http_${status}`, text + more, detail)
  const outage = (): Outcome => ({ kind: 'unavailable', reason: because(), retryAfter, minWait: outagePause })
  switch (code) {
    case 'INVALID_ARGUMENT':
      return outcomeOfArgument(error, (detail) =>
        because(detail && ` ${detail}`, detail?.replaceAll(' ', '_')),
      )
    case 'UNREGISTERED':
    case 'UNREGISTERED_FID':
    case 'SENDER_ID_MISMATCH':
      return { kind: 'gone', reason: because() }
    // The APNs or web push key in Firebase is invalid. That concerns only Apple and web targets, so the channel must not be
    // closed for all Android devices. The second is its older name.
    case 'THIRD_PARTY_AUTH_ERROR':
    case 'APNS_AUTH_ERROR':
      return {
        kind: 'rejected',
        reason: because(': Firebase has no valid APNs or web push key for this app'),
      }
    case 'QUOTA_EXCEEDED':
    case 'RESOURCE_EXHAUSTED':
      return { kind: 'throttled', reason: because(), retryAfter, minWait: quotaPause }
    // Google also refuses valid accounts so for a while; a deleted key shows at the token endpoint.
    case 'UNAUTHENTICATED':
      return {
        kind: 'unavailable',
        reason: error.detail ? because(` ${error.detail}`, error.detail) : because(),
        minWait: outagePause,
      }
    case 'PERMISSION_DENIED':
      return error.detail
        ? { kind: 'misconfigured', reason: because(` ${error.detail}${hintOf(error.detail)}`, error.detail) }
        : outage()
    case 'UNAVAILABLE':
    case 'INTERNAL':
    case 'CANCELLED':
      return outage()
    // Neither the token nor the project is named, so neither is given up.
    case 'NOT_FOUND':
      return { kind: 'rejected', reason: because(': no such project, or the wrong URL') }
  }
  if (status === 429) return { kind: 'throttled', reason: because(), retryAfter, minWait: quotaPause }
  if (status >= 500 || status === 408) return outage()
  if (status === 413 || status === 414 || status === 431) return { kind: 'rejected', reason: because() }
  // Without a code the reply may be that of a gateway.
  if (code === undefined && (status === 401 || status === 403 || status === 407)) return outage()
  const said = vendorText(error.message)
  return { kind: 'unavailable', reason: because(said && `: ${said}`), maxTries: unknownCodeTries }
}

function hintOf(detail: string): string {
  if (detail === 'SERVICE_DISABLED') return ': enable the Firebase Cloud Messaging API in Google Cloud'
  if (detail === 'IAM_PERMISSION_DENIED')
    return ': the account lacks cloudmessaging.messages.create, or the project id is wrong'
  return ''
}

/** The message alone is not enough, because Google rewords it: there must be an FCM code or the name of the field. */
function outcomeOfArgument(error: FcmError, because: (detail?: string) => Reason): Outcome {
  const badToken =
    error.fields.some((field) => field === 'message.token' || field === 'message.fid') ||
    (error.fcmCode !== undefined &&
      /registration token is not a valid|invalid registration token/i.test(error.message))
  if (badToken) return { kind: 'gone', reason: because('message.token') }
  if (error.apns?.status === 410 || error.apns?.reason === 'Unregistered')
    return { kind: 'gone', reason: because(`APNs ${error.apns.reason ?? error.apns.status}`) }
  if (/too (big|large)/i.test(error.message)) return { kind: 'rejected', reason: because('too large') }
  return { kind: 'rejected', reason: because(error.fields.find(isPicture) ?? error.fields[0]) }
}

const isPicture = (field: string) =>
  /^message\.(notification|android\.notification|apns\.fcm_options)\.image$/.test(field)

/** Google refused the address of the picture; without it the message may be accepted. */
export function refusesPicture(outcome: Outcome): boolean {
  if (outcome.kind !== 'rejected') return false
  const [, field] = outcome.reason.code.split('.INVALID_ARGUMENT.')
  return field !== undefined && isPicture(field)
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
