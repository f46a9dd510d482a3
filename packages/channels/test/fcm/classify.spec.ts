import { describe, expect, it } from '@jest/globals'
import { classify } from '../../src/fcm/classify.ts'

const fcmError = (errorCode: string) => ({
  '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError',
  errorCode,
})
const badRequest = (field: string) => ({
  '@type': 'type.googleapis.com/google.rpc.BadRequest',
  fieldViolations: [{ field, description: 'wrong' }],
})
const apnsError = (statusCode: number, reason: string) => ({
  '@type': 'type.googleapis.com/google.firebase.fcm.v1.ApnsError',
  statusCode,
  reason,
})
const errorInfo = (reason: string) => ({ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason })

const reply = (status: number, code: string, details: object[] = [], message = '') => ({
  status,
  body: JSON.stringify({ error: { code: status, message, status: code, details } }),
  projectKnown: false,
})

// Every row of https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode, and how it is recognized
const documented: [name: string, reply: ReturnType<typeof reply>, outcome: object][] = [
  [
    'a token that is none',
    reply(400, 'INVALID_ARGUMENT', [fcmError('INVALID_ARGUMENT'), badRequest('message.token')]),
    {
      kind: 'gone',
      reason: { code: 'fcm.INVALID_ARGUMENT.message.token', text: '400 INVALID_ARGUMENT message.token' },
    },
  ],
  [
    'a token that is none, details in another order',
    reply(400, 'INVALID_ARGUMENT', [badRequest('message.token'), fcmError('INVALID_ARGUMENT')]),
    {
      kind: 'gone',
      reason: { code: 'fcm.INVALID_ARGUMENT.message.token', text: '400 INVALID_ARGUMENT message.token' },
    },
  ],
  [
    'an installation id that is none',
    reply(400, 'INVALID_ARGUMENT', [badRequest('message.fid')]),
    {
      kind: 'gone',
      reason: { code: 'fcm.INVALID_ARGUMENT.message.token', text: '400 INVALID_ARGUMENT message.token' },
    },
  ],
  [
    'an invalid token, recognized by code and text',
    reply(
      400,
      'INVALID_ARGUMENT',
      [fcmError('INVALID_ARGUMENT')],
      'The registration token is not a valid FCM registration token',
    ),
    {
      kind: 'gone',
      reason: { code: 'fcm.INVALID_ARGUMENT.message.token', text: '400 INVALID_ARGUMENT message.token' },
    },
  ],
  [
    'the text alone, which proves nothing',
    reply(400, 'INVALID_ARGUMENT', [], 'The registration token is not a valid FCM registration token'),
    { kind: 'rejected', reason: { code: 'fcm.INVALID_ARGUMENT', text: '400 INVALID_ARGUMENT' } },
  ],
  [
    'an Apple device that is gone',
    reply(400, 'INVALID_ARGUMENT', [fcmError('INVALID_ARGUMENT'), apnsError(410, 'Unregistered')]),
    {
      kind: 'gone',
      reason: {
        code: 'fcm.INVALID_ARGUMENT.APNs_Unregistered',
        text: '400 INVALID_ARGUMENT APNs Unregistered',
      },
    },
  ],
  [
    'a message that is too large',
    reply(400, 'INVALID_ARGUMENT', [fcmError('INVALID_ARGUMENT')], 'Message is too large. The maximum is 4K'),
    {
      kind: 'rejected',
      reason: { code: 'fcm.INVALID_ARGUMENT.too_large', text: '400 INVALID_ARGUMENT too large' },
    },
  ],
  [
    'the older text',
    reply(400, 'INVALID_ARGUMENT', [], 'Android message is too big'),
    {
      kind: 'rejected',
      reason: { code: 'fcm.INVALID_ARGUMENT.too_large', text: '400 INVALID_ARGUMENT too large' },
    },
  ],
  [
    'another wrong field',
    reply(400, 'INVALID_ARGUMENT', [badRequest('message.data[0].value')]),
    {
      kind: 'rejected',
      reason: {
        code: 'fcm.INVALID_ARGUMENT.message.data[0].value',
        text: '400 INVALID_ARGUMENT message.data[0].value',
      },
    },
  ],
  [
    'no details at all',
    reply(400, 'INVALID_ARGUMENT'),
    { kind: 'rejected', reason: { code: 'fcm.INVALID_ARGUMENT', text: '400 INVALID_ARGUMENT' } },
  ],
  [
    'a refused access token',
    reply(401, 'UNAUTHENTICATED', [errorInfo('ACCESS_TOKEN_EXPIRED')]),
    {
      kind: 'misconfigured',
      reason: {
        code: 'fcm.UNAUTHENTICATED.ACCESS_TOKEN_EXPIRED',
        text: '401 UNAUTHENTICATED ACCESS_TOKEN_EXPIRED',
      },
    },
  ],
  [
    'an APNs key that Firebase cannot use',
    reply(401, 'UNAUTHENTICATED', [
      fcmError('THIRD_PARTY_AUTH_ERROR'),
      apnsError(403, 'InvalidProviderToken'),
    ]),
    { kind: 'rejected', reason: { code: 'fcm.THIRD_PARTY_AUTH_ERROR', text: '401 THIRD_PARTY_AUTH_ERROR' } },
  ],
  [
    'a token of another project',
    reply(403, 'PERMISSION_DENIED', [fcmError('SENDER_ID_MISMATCH')], 'SenderId mismatch'),
    { kind: 'gone', reason: { code: 'fcm.SENDER_ID_MISMATCH', text: '403 SENDER_ID_MISMATCH' } },
  ],
  [
    'a role that is missing',
    reply(403, 'PERMISSION_DENIED', [errorInfo('IAM_PERMISSION_DENIED')]),
    {
      kind: 'misconfigured',
      reason: {
        code: 'fcm.PERMISSION_DENIED.IAM_PERMISSION_DENIED',
        text: '403 PERMISSION_DENIED IAM_PERMISSION_DENIED',
      },
    },
  ],
  [
    'an API that is off',
    reply(403, 'PERMISSION_DENIED'),
    { kind: 'misconfigured', reason: { code: 'fcm.PERMISSION_DENIED', text: '403 PERMISSION_DENIED' } },
  ],
  [
    'a token that is gone',
    reply(404, 'NOT_FOUND', [fcmError('UNREGISTERED')]),
    { kind: 'gone', reason: { code: 'fcm.UNREGISTERED', text: '404 UNREGISTERED' } },
  ],
  [
    'a quota used up, by Firebase’s code',
    reply(429, 'RESOURCE_EXHAUSTED', [fcmError('QUOTA_EXCEEDED')]),
    { kind: 'throttled', reason: { code: 'fcm.QUOTA_EXCEEDED', text: '429 QUOTA_EXCEEDED' }, retryAfter: 60 },
  ],
  [
    'a quota used up, by Google’s code',
    reply(429, 'RESOURCE_EXHAUSTED'),
    {
      kind: 'throttled',
      reason: { code: 'fcm.RESOURCE_EXHAUSTED', text: '429 RESOURCE_EXHAUSTED' },
      retryAfter: 60,
    },
  ],
  [
    'an internal error',
    reply(500, 'INTERNAL', [fcmError('INTERNAL')]),
    { kind: 'unavailable', reason: { code: 'fcm.INTERNAL', text: '500 INTERNAL' }, minWait: 10 },
  ],
  [
    'overload',
    reply(503, 'UNAVAILABLE', [fcmError('UNAVAILABLE')]),
    { kind: 'unavailable', reason: { code: 'fcm.UNAVAILABLE', text: '503 UNAVAILABLE' }, minWait: 10 },
  ],
  [
    'an error without a name',
    reply(400, 'UNKNOWN', [fcmError('UNSPECIFIED_ERROR')]),
    { kind: 'rejected', reason: { code: 'fcm.UNSPECIFIED_ERROR', text: '400 UNSPECIFIED_ERROR' } },
  ],
  [
    'an unknown code',
    reply(409, 'ABORTED', [fcmError('SOMETHING_NEW')]),
    { kind: 'rejected', reason: { code: 'fcm.SOMETHING_NEW', text: '409 SOMETHING_NEW' } },
  ],
  [
    'an unknown code, with a 5xx',
    reply(503, 'SOMETHING_NEW'),
    { kind: 'unavailable', reason: { code: 'fcm.SOMETHING_NEW', text: '503 SOMETHING_NEW' }, minWait: 10 },
  ],
]

describe('a reply of FCM', () => {
  it('of 200 is accepted', () => {
    expect(classify({ status: 200, body: '', projectKnown: false })).toEqual({
      outcome: { kind: 'accepted' },
      fromProject: true,
    })
  })

  it.each(documented)('with %s', (_name, given, outcome) => {
    expect(classify(given).outcome).toEqual(outcome)
  })

  it('contains the wait from the reply', () => {
    expect(classify({ ...reply(429, 'RESOURCE_EXHAUSTED'), retryAfter: 7 }).outcome).toMatchObject({
      retryAfter: 7,
    })
    expect(classify({ ...reply(503, 'UNAVAILABLE'), retryAfter: 7 }).outcome).toMatchObject({ retryAfter: 7 })
  })

  it('gets another access token only if ours was refused', () => {
    expect(classify(reply(401, 'UNAUTHENTICATED')).tokenRefused).toBe(true)
    expect(classify({ status: 401, body: '', projectKnown: false }).tokenRefused).toBe(true)
    expect(classify(reply(401, 'UNAUTHENTICATED', [fcmError('THIRD_PARTY_AUTH_ERROR')])).tokenRefused).toBe(
      false,
    )
    expect(classify(reply(403, 'PERMISSION_DENIED')).tokenRefused).toBe(false)
  })

  it.each([
    ['JSON', reply(404, 'NOT_FOUND'), 'rejected'],
    ['a page', { status: 404, body: '<html>404</html>', projectKnown: false }, 'unavailable'],
  ])('404 that does not mention the token, as %s, never retires it', (_name, given, known) => {
    expect(classify(given).outcome.kind).toBe('misconfigured')
    expect(classify({ ...given, projectKnown: true }).outcome.kind).toBe(known)
  })

  it.each([
    [400, 'rejected'],
    [401, 'misconfigured'],
    [403, 'misconfigured'],
    [429, 'throttled'],
    [502, 'unavailable'],
    [504, 'unavailable'],
  ])('%i without readable JSON is %s', (status, kind) => {
    for (const body of ['', '<html>Bad Gateway</html>', 'null', '{"error":"invalid"}'])
      expect(classify({ status, body, projectKnown: true }).outcome.kind).toBe(kind)
  })

  it('repeats nothing of the message in its reason', () => {
    const given = reply(400, 'INVALID_ARGUMENT', [badRequest('message.data "secret of d1:APA91b" is wrong')])
    expect(classify(given).outcome).toEqual({
      kind: 'rejected',
      reason: { code: 'fcm.INVALID_ARGUMENT', text: '400 INVALID_ARGUMENT' },
    })
  })
})
