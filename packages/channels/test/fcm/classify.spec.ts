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
    'an invalid token, recognized by code and older text',
    reply(400, 'INVALID_ARGUMENT', [fcmError('INVALID_ARGUMENT')], 'Invalid registration token'),
    {
      kind: 'gone',
      reason: { code: 'fcm.INVALID_ARGUMENT.message.token', text: '400 INVALID_ARGUMENT message.token' },
    },
  ],
  [
    'the older text alone',
    reply(400, 'INVALID_ARGUMENT', [], 'Invalid registration token'),
    { kind: 'rejected', reason: { code: 'fcm.INVALID_ARGUMENT', text: '400 INVALID_ARGUMENT' } },
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
      kind: 'unavailable',
      reason: {
        code: 'fcm.UNAUTHENTICATED.ACCESS_TOKEN_EXPIRED',
        text: '401 UNAUTHENTICATED ACCESS_TOKEN_EXPIRED',
      },
      minWait: 10,
    },
  ],
  [
    'an APNs key that Firebase cannot use',
    reply(401, 'UNAUTHENTICATED', [
      fcmError('THIRD_PARTY_AUTH_ERROR'),
      apnsError(403, 'InvalidProviderToken'),
    ]),
    {
      kind: 'rejected',
      reason: {
        code: 'fcm.THIRD_PARTY_AUTH_ERROR',
        text: '401 THIRD_PARTY_AUTH_ERROR: Firebase has no valid APNs or web push key for this app',
      },
    },
  ],
  [
    'an APNs key that Firebase cannot use, by its older name',
    reply(401, 'UNAUTHENTICATED', [fcmError('APNS_AUTH_ERROR')]),
    {
      kind: 'rejected',
      reason: {
        code: 'fcm.APNS_AUTH_ERROR',
        text: '401 APNS_AUTH_ERROR: Firebase has no valid APNs or web push key for this app',
      },
    },
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
        text: '403 PERMISSION_DENIED IAM_PERMISSION_DENIED: the account lacks cloudmessaging.messages.create, or the project id is wrong',
      },
    },
  ],
  [
    'an API that is off',
    reply(403, 'PERMISSION_DENIED', [errorInfo('SERVICE_DISABLED')]),
    {
      kind: 'misconfigured',
      reason: {
        code: 'fcm.PERMISSION_DENIED.SERVICE_DISABLED',
        text: '403 PERMISSION_DENIED SERVICE_DISABLED: enable the Firebase Cloud Messaging API in Google Cloud',
      },
    },
  ],
  [
    'a denial without ErrorInfo',
    reply(403, 'PERMISSION_DENIED'),
    {
      kind: 'unavailable',
      reason: { code: 'fcm.PERMISSION_DENIED', text: '403 PERMISSION_DENIED' },
      minWait: 10,
    },
  ],
  [
    'an installation id that is gone',
    reply(404, 'NOT_FOUND', [fcmError('UNREGISTERED_FID')]),
    { kind: 'gone', reason: { code: 'fcm.UNREGISTERED_FID', text: '404 UNREGISTERED_FID' } },
  ],
  [
    'a 404 that names neither token nor project',
    reply(404, 'NOT_FOUND'),
    {
      kind: 'rejected',
      reason: { code: 'fcm.NOT_FOUND', text: '404 NOT_FOUND: no such project, or the wrong URL' },
    },
  ],
  [
    'a cancelled call',
    reply(499, 'CANCELLED'),
    { kind: 'unavailable', reason: { code: 'fcm.CANCELLED', text: '499 CANCELLED' }, minWait: 10 },
  ],
  [
    'a token that is gone',
    reply(404, 'NOT_FOUND', [fcmError('UNREGISTERED')]),
    { kind: 'gone', reason: { code: 'fcm.UNREGISTERED', text: '404 UNREGISTERED' } },
  ],
  [
    'a quota used up, by Firebase’s code',
    reply(429, 'RESOURCE_EXHAUSTED', [fcmError('QUOTA_EXCEEDED')]),
    { kind: 'throttled', reason: { code: 'fcm.QUOTA_EXCEEDED', text: '429 QUOTA_EXCEEDED' }, minWait: 60 },
  ],
  [
    'a quota used up, by Google’s code',
    reply(429, 'RESOURCE_EXHAUSTED'),
    {
      kind: 'throttled',
      reason: { code: 'fcm.RESOURCE_EXHAUSTED', text: '429 RESOURCE_EXHAUSTED' },
      minWait: 60,
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
    {
      kind: 'unavailable',
      reason: { code: 'fcm.UNSPECIFIED_ERROR', text: '400 UNSPECIFIED_ERROR' },
      maxTries: 3,
    },
  ],
  [
    'an unknown code',
    reply(409, 'ABORTED', [fcmError('SOMETHING_NEW')], 'Not for d1:APA91bVerySecretToken today.'),
    {
      kind: 'unavailable',
      reason: { code: 'fcm.SOMETHING_NEW', text: '409 SOMETHING_NEW: Not for d1:… today.' },
      maxTries: 3,
    },
  ],
  [
    'an unknown code, with a 5xx',
    reply(503, 'SOMETHING_NEW'),
    { kind: 'unavailable', reason: { code: 'fcm.SOMETHING_NEW', text: '503 SOMETHING_NEW' }, minWait: 10 },
  ],
]

describe('a reply of FCM', () => {
  it.each(['{"name":"projects/p/messages/0:1%a"}', '\r\n{\n  "name": "projects/p/messages/0:1%a"\n}\n'])(
    'of 200 with %j is accepted',
    (text) => {
      for (const body of [text, Buffer.from(text)])
        expect(classify({ status: 200, body })).toEqual({ outcome: { kind: 'accepted' } })
    },
  )

  it.each(['', ' \n', '<html>log in first</html>', 'OK', 'null', '[]', '"{}"', '{', '{"name":"proj'])(
    'of 200 with %j is not Google’s',
    (text) => {
      const reason = { code: 'herald.vendor_reply_unreadable', text: 'the reply is not a JSON object' }
      for (const body of [text, Buffer.from(text)])
        expect(classify({ status: 200, body })).toEqual({
          outcome: { kind: 'unavailable', reason, minWait: 10 },
        })
    },
  )

  it.each(documented)('with %s', (_name, given, outcome) => {
    expect(classify(given).outcome).toEqual(outcome)
  })

  it('contains the wait from the reply and Google’s minimum', () => {
    const waits = (status: number, code: string) =>
      classify({ ...reply(status, code), retryAfter: 7 }).outcome
    expect(waits(429, 'RESOURCE_EXHAUSTED')).toMatchObject({ retryAfter: 7, minWait: 60 })
    expect(waits(503, 'UNAVAILABLE')).toMatchObject({ retryAfter: 7, minWait: 10 })
  })

  it('gets another access token only if ours was refused', () => {
    expect(classify(reply(401, 'UNAUTHENTICATED')).tokenRefused).toBe(true)
    expect(classify({ status: 401, body: '' }).tokenRefused).toBe(true)
    for (const given of [
      reply(401, 'UNAUTHENTICATED', [fcmError('THIRD_PARTY_AUTH_ERROR')]),
      reply(403, 'PERMISSION_DENIED'),
    ])
      expect(classify(given).tokenRefused).toBeUndefined()
  })

  it.each([
    ['a denial in Google’s words', reply(403, 'PERMISSION_DENIED', [errorInfo('SERVICE_DISABLED')]), 1],
    ['a denial without them', { status: 403, body: '<html>' }, 20],
    ['a refused access token', reply(401, 'UNAUTHENTICATED'), 20],
    ['a quota', reply(429, 'RESOURCE_EXHAUSTED', [fcmError('QUOTA_EXCEEDED')]), 20],
    ['a dead token', reply(404, 'NOT_FOUND', [fcmError('UNREGISTERED')]), undefined],
    [
      'a token of another project',
      reply(403, 'PERMISSION_DENIED', [fcmError('SENDER_ID_MISMATCH')]),
      undefined,
    ],
    ['an outage', reply(503, 'UNAVAILABLE'), undefined],
  ])('stops the rest of a call for %s after %p of them', (_name, given, stopsAfter) => {
    expect(classify(given).stopsAfter).toBe(stopsAfter)
  })

  it.each([
    [302, { kind: 'unavailable', maxTries: 3 }],
    [400, { kind: 'unavailable', maxTries: 3 }],
    [401, { kind: 'unavailable', minWait: 10 }],
    [403, { kind: 'unavailable', minWait: 10 }],
    [404, { kind: 'unavailable', maxTries: 3 }],
    [407, { kind: 'unavailable', minWait: 10 }],
    [408, { kind: 'unavailable', minWait: 10 }],
    [413, { kind: 'rejected' }],
    [414, { kind: 'rejected' }],
    [431, { kind: 'rejected' }],
    [429, { kind: 'throttled', minWait: 60 }],
    [502, { kind: 'unavailable', minWait: 10 }],
    [504, { kind: 'unavailable', minWait: 10 }],
  ])('%i without readable JSON may be that of a gateway and closes nothing: %j', (status, expected) => {
    for (const body of ['', '<html>Forbidden</html>', 'null', '{"error":"invalid"}'])
      expect(classify({ status, body }).outcome).toEqual({
        reason: { code: `fcm.http_${status}`, text: `${status} without a code` },
        ...expected,
      })
  })

  it('repeats nothing of the message in its reason', () => {
    const given = reply(400, 'INVALID_ARGUMENT', [badRequest('message.data "secret of d1:APA91b" is wrong')])
    expect(classify(given).outcome).toEqual({
      kind: 'rejected',
      reason: { code: 'fcm.INVALID_ARGUMENT', text: '400 INVALID_ARGUMENT' },
    })
  })
})
