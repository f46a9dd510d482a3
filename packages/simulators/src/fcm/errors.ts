import type { TlsAnswer } from '../frame/tls-exchange.ts'

const fcmErrorType = 'type.googleapis.com/google.firebase.fcm.v1.FcmError'
const badRequestType = 'type.googleapis.com/google.rpc.BadRequest'
const errorInfoType = 'type.googleapis.com/google.rpc.ErrorInfo'

type Detail = Record<string, unknown>

function refuse(code: number, status: string, message: string, details?: Detail[]): TlsAnswer {
  return answerJson(code, { error: { code, message, status, details } })
}

export function answerJson(status: number, body: unknown, headers: Record<string, string> = {}): TlsAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=UTF-8', ...headers },
    body: JSON.stringify(body),
  }
}

const fcmError = (errorCode: string): Detail => ({ '@type': fcmErrorType, errorCode })

const errorInfo = (reason: string): Detail => ({
  '@type': errorInfoType,
  reason,
  domain: 'googleapis.com',
  metadata: { service: 'fcm.googleapis.com', method: 'google.firebase.fcm.v1.FcmService.SendMessage' },
})

/** A wrong field of the request, found by FCM (`byFcm`) or by the JSON parser before it. */
export function badField(field: string, description: string, byFcm = true): TlsAnswer {
  return refuse(400, 'INVALID_ARGUMENT', description, [
    ...(byFcm ? [fcmError('INVALID_ARGUMENT')] : []),
    { '@type': badRequestType, fieldViolations: [{ field, description }] },
  ])
}

export const badToken = badField(
  'message.token',
  'The registration token is not a valid FCM registration token',
)
export const badCondition = refuse(400, 'INVALID_ARGUMENT', 'Request contains an invalid argument.')
export const noTarget = badField('message', 'Recipient of the message is not set.')
export const tooLarge = refuse(
  400,
  'INVALID_ARGUMENT',
  'Message is too large. The maximum is 4K (4096 bytes).',
  [{ '@type': badRequestType }, fcmError('INVALID_ARGUMENT')],
)

export function unauthenticated(reason: string): TlsAnswer {
  const message =
    reason === 'CREDENTIALS_MISSING'
      ? 'Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid authentication credential.'
      : 'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.'
  return refuse(401, 'UNAUTHENTICATED', message, [errorInfo(reason)])
}

export function denied(project: string, reason = 'IAM_PERMISSION_DENIED'): TlsAnswer {
  const message = `Permission 'cloudmessaging.messages.create' denied on resource '//cloudresourcemanager.googleapis.com/projects/${project}' (or it may not exist).`
  return refuse(403, 'PERMISSION_DENIED', message, [errorInfo(reason)])
}

/** Google’s SDK knows this reply; what causes it is not documented. */
export const notFound = refuse(404, 'NOT_FOUND', 'Requested entity was not found.')
export const cancelled = refuse(499, 'CANCELLED', 'The operation was cancelled.')
export const thirdPartyAuth = refuse(401, 'UNAUTHENTICATED', 'Auth error from APNS or Web Push Service', [
  fcmError('THIRD_PARTY_AUTH_ERROR'),
])
export const unregistered = refuse(404, 'NOT_FOUND', 'Requested entity was not found.', [
  fcmError('UNREGISTERED'),
])
export const mismatched = refuse(403, 'PERMISSION_DENIED', 'SenderId mismatch', [
  fcmError('SENDER_ID_MISMATCH'),
])
export const internal = refuse(500, 'INTERNAL', 'Internal error encountered.', [fcmError('INTERNAL')])
export const unavailable = refuse(503, 'UNAVAILABLE', 'The service is currently unavailable.', [
  fcmError('UNAVAILABLE'),
])

export function quotaExceeded(retryAfter: number): TlsAnswer {
  const answer = refuse(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded.', [fcmError('QUOTA_EXCEEDED')])
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfter) } }
}

/** The reply to a wrong path is HTML, not JSON. */
export const notFoundPage: TlsAnswer = {
  status: 404,
  headers: { 'content-type': 'text/html; charset=UTF-8' },
  body: '<!DOCTYPE html><html lang=en><title>Error 404 (Not Found)!!1</title><p>That’s an error.</html>',
}
