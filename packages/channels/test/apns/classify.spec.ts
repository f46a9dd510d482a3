import { ownReasons } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import {
  classify,
  classifyFailure,
  classifyGoaway,
  passingRefusals,
  topicRefusals,
} from '../../src/apns/classify.ts'

const now = 1_760_000_000_000
const answer = (status: number, reason?: string, more: object = {}) => ({
  now,
  status,
  body: reason === undefined ? '' : JSON.stringify({ reason, ...more }),
})

// Every row of https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns
const documented: [status: number, reason: string, kind: string, waits: object][] = (
  [
    [400, 'BadCollapseId', 'rejected'],
    [400, 'BadDeviceToken', 'gone'],
    [400, 'BadExpirationDate', 'rejected'],
    [400, 'BadMessageId', 'rejected'],
    [400, 'BadPriority', 'rejected'],
    [400, 'BadTopic', 'rejected'],
    [400, 'DeviceTokenNotForTopic', 'gone'],
    [400, 'DuplicateHeaders', 'rejected'],
    [400, 'IdleTimeout', 'unavailable', { retryAfter: 0 }],
    [400, 'InvalidPushType', 'rejected'],
    [400, 'MissingDeviceToken', 'rejected'],
    [400, 'MissingTopic', 'rejected'],
    [400, 'PayloadEmpty', 'rejected'],
    [400, 'TopicDisallowed', 'rejected'],
    [403, 'BadCertificate', 'misconfigured'],
    [403, 'BadCertificateEnvironment', 'misconfigured'],
    [403, 'ExpiredProviderToken', 'unavailable', { minWait: 60 }],
    [403, 'Forbidden', 'rejected'],
    [403, 'InvalidProviderToken', 'misconfigured'],
    [403, 'MissingProviderToken', 'rejected'],
    [403, 'UnrelatedKeyIdInToken', 'unavailable'],
    [403, 'BadEnvironmentKeyIdInToken', 'misconfigured'],
    [403, 'BadEnvironmentKeyInToken', 'misconfigured'],
    [404, 'BadPath', 'rejected'],
    [405, 'MethodNotAllowed', 'rejected'],
    [410, 'Unregistered', 'gone'],
    [410, 'ExpiredToken', 'gone'],
    [413, 'PayloadTooLarge', 'rejected'],
    [429, 'TooManyProviderTokenUpdates', 'quota', { until: now + 1_200_000 }],
    [429, 'TooManyRequests', 'throttled', { minWait: 60 }],
    [500, 'InternalServerError', 'unavailable'],
    [503, 'ServiceUnavailable', 'unavailable'],
    [503, 'Shutdown', 'unavailable', { retryAfter: 0 }],
  ] satisfies [number, string, string, object?][]
).map(([status, reason, kind, waits]) => [status, reason, kind, waits ?? {}])

const hints: Record<string, string> = {
  BadTopic: 'the credential is not valid for this bundle id',
  MissingTopic: 'the credential is not valid for this bundle id',
  TopicDisallowed: 'the credential is not valid for this bundle id',
  BadEnvironmentKeyIdInToken: 'the key is for the other environment',
  BadEnvironmentKeyInToken: 'the key is for the other environment',
  ExpiredProviderToken: 'check the clock of this server',
  InvalidProviderToken: 'key id, team id and key do not match, or the key was revoked',
  TooManyProviderTokenUpdates: 'the key was used with too many provider tokens',
}
const hint = (reason: string) => (hints[reason] ? `: ${hints[reason]}` : '')

describe('a reply of APNs', () => {
  it('of 200 is accepted', () => {
    expect(classify({ now, status: 200, body: '' })).toEqual({ outcome: { kind: 'accepted' } })
  })

  it.each(documented)('%i %s is %s %j', (status, reason, kind, waits) => {
    expect(classify(answer(status, reason)).outcome).toEqual({
      kind,
      reason: { code: `apns.${reason}`, text: `${status} ${reason}${hint(reason)}` },
      ...waits,
    })
  })

  it.each([
    [418, 'Teapot', { kind: 'unavailable', maxTries: 3 }],
    [400, 'SomethingNew', { kind: 'unavailable', maxTries: 3 }],
    [403, 'SomethingNew', { kind: 'unavailable', maxTries: 3 }],
    [410, 'SomethingNew', { kind: 'unavailable', maxTries: 3 }],
    [429, 'SomethingNew', { kind: 'throttled', minWait: 60 }],
    [500, 'SomethingNew', { kind: 'unavailable' }],
    [599, 'SomethingNew', { kind: 'unavailable' }],
    [400, 'constructor', { kind: 'unavailable', maxTries: 3 }],
  ])('with an unknown reason is tried three times at most: %i %s', (status, reason, expected) => {
    expect(classify(answer(status, reason)).outcome).toEqual({
      reason: { code: `apns.${reason}`, text: `${status} ${reason}` },
      ...expected,
    })
  })

  it.each([
    [302, { kind: 'unavailable', maxTries: 3 }],
    [400, { kind: 'unavailable', maxTries: 3 }],
    [401, { kind: 'unavailable' }],
    [403, { kind: 'unavailable' }],
    [404, { kind: 'unavailable', maxTries: 3 }],
    [407, { kind: 'unavailable' }],
    [408, { kind: 'unavailable' }],
    [410, { kind: 'unavailable', maxTries: 3 }],
    [413, { kind: 'rejected' }],
    [414, { kind: 'rejected' }],
    [431, { kind: 'rejected' }],
    [429, { kind: 'throttled', minWait: 60 }],
    [502, { kind: 'unavailable' }],
  ])('without a reason may be that of a gateway and closes nothing: %i is %j', (status, expected) => {
    for (const body of ['', '<html>Forbidden</html>', 'null', '[]', '{"reason":5}'])
      expect(classify({ now, status, body }).outcome).toEqual({
        reason: { code: `apns.http_${status}`, text: `${status} without a reason` },
        ...expected,
      })
  })

  it('never repeats text that is not a reason of APNs', () => {
    const body = JSON.stringify({ reason: 'token 00fc13adff785122 is bad' })
    expect(classify({ now, status: 400, body }).outcome).toMatchObject({
      reason: { code: 'apns.http_400', text: '400 without a reason' },
    })
  })

  it('reports since when a token is dead', () => {
    expect(classify(answer(410, 'Unregistered', { timestamp: 1_721_990_000_123 })).outcome).toEqual({
      kind: 'gone',
      reason: { code: 'apns.Unregistered', text: '410 Unregistered' },
      since: 1_721_990_000_123,
    })
    expect(classify(answer(410, 'Unregistered')).outcome).not.toHaveProperty('since')
  })

  it.each(['0', '-1', '8.64000001e15', '1e308', '1e999', 'null', '"1721990000123"'])(
    'does not report the time %s, which no date has',
    (timestamp) => {
      const body = `{"reason":"Unregistered","timestamp":${timestamp}}`
      expect(classify({ now, status: 410, body }).outcome).toEqual({
        kind: 'gone',
        reason: { code: 'apns.Unregistered', text: '410 Unregistered' },
      })
    },
  )

  it('contains the wait from the reply, but never less than Apple’s minimum', () => {
    const waitOf = (status: number, reason: string, retryAfter?: number) =>
      classify({ ...answer(status, reason), retryAfter }).outcome
    expect(waitOf(503, 'ServiceUnavailable', 7)).toMatchObject({ retryAfter: 7 })
    expect(waitOf(429, 'TooManyRequests', 7)).toMatchObject({ retryAfter: 7, minWait: 60 })
    expect(waitOf(429, 'TooManyProviderTokenUpdates', 7)).toMatchObject({ until: now + 1_200_000 })
    expect(waitOf(429, 'TooManyProviderTokenUpdates', 3000)).toMatchObject({ until: now + 3_000_000 })
    // It would stop everything that is sent with the credential.
    expect(waitOf(429, 'TooManyProviderTokenUpdates', 999_999)).toMatchObject({ until: now + 3_600_000 })
  })

  it.each([
    ['ExpiredProviderToken', 'new-token'],
    ['UnrelatedKeyIdInToken', 'new-connection'],
    ['InvalidProviderToken', 'new-connection'],
    ['MissingProviderToken', 'new-connection'],
    ['BadCertificate', 'new-connection'],
    ['BadCertificateEnvironment', undefined],
    ['BadEnvironmentKeyInToken', undefined],
  ])('403 %s concerns the credential and is retried with a %s', (reason, retryWith) => {
    const result = classify(answer(403, reason))
    expect(result).toMatchObject({ concerns: 'credential', endsConnection: true })
    expect(result.retryWith).toBe(retryWith)
    expect(result.stopsAfter).toBeUndefined()
  })

  it('429 TooManyProviderTokenUpdates concerns the credential and is not retried', () => {
    expect(classify(answer(429, 'TooManyProviderTokenUpdates'))).toEqual({
      outcome: expect.objectContaining({ kind: 'quota' }),
      concerns: 'credential',
    })
  })

  it('only InvalidProviderToken may pass while the credential is valid', () => {
    const passing = documented.filter(([status, reason]) => classify(answer(status, reason)).passing)
    expect(passing.map(([, reason]) => reason)).toEqual(['InvalidProviderToken'])
    expect([...passingRefusals]).toEqual(['apns.InvalidProviderToken'])
  })

  it.each(['BadTopic', 'MissingTopic', 'TopicDisallowed'])('%s concerns one topic', (reason) => {
    expect(classify(answer(400, reason))).toMatchObject({ concerns: 'topic' })
    expect(topicRefusals.has(`apns.${reason}`)).toBe(true)
  })

  it('403 without a reason concerns the credential only if it is repeated', () => {
    expect(classify(answer(403))).toMatchObject({ concerns: 'credential', stopsAfter: 20 })
  })

  it.each(['InternalServerError', 'Shutdown', 'IdleTimeout', 'Forbidden'])(
    '%s ends the use of the connection',
    (reason) => {
      expect(classify(answer(500, reason)).endsConnection).toBe(true)
    },
  )

  it.each(['BadDeviceToken', 'Unregistered', 'TooManyRequests', 'PayloadTooLarge'])(
    '%s concerns one device and leaves the connection alone',
    (reason) => {
      const { concerns, endsConnection } = classify(answer(400, reason))
      expect([concerns, endsConnection]).toEqual([undefined, undefined])
    },
  )
})

describe('a connection that ended without a reply', () => {
  const closed = ownReasons.vendor_unreachable('closed')
  const failure = { reason: closed, invalid: false }
  const goaway = (reason: string) => JSON.stringify({ reason })

  it.each(['BadCertificate', 'BadCertificateEnvironment', 'InvalidProviderToken'])(
    'with GOAWAY %s is a credential’s fault',
    (reason) => {
      const text = `GOAWAY ${reason}${hint(reason)}`
      const expected = {
        outcome: { kind: 'misconfigured', reason: { code: `apns.${reason}`, text } },
        endsConnection: true,
        concerns: 'credential',
      }
      expect(classifyFailure({ ...failure, goaway: goaway(reason) })).toMatchObject(expected)
      expect(classifyGoaway(goaway(reason))).toMatchObject(expected)
    },
  )

  it.each(['Shutdown', 'IdleTimeout'])('with GOAWAY %s is retried', (reason) => {
    expect(classifyFailure({ ...failure, goaway: goaway(reason) })).toEqual({
      outcome: { kind: 'unavailable', reason: { code: `apns.${reason}`, text: `GOAWAY ${reason}` } },
    })
    expect(classifyGoaway(goaway(reason))).toBeUndefined()
  })

  it.each(['', 'not JSON', '{}'])('with empty or invalid data %j is retried', (data) => {
    expect(classifyFailure({ ...failure, goaway: data })).toEqual({
      outcome: { kind: 'unavailable', reason: closed },
    })
  })

  it.each([
    'connect (alert certificate expired)',
    'closed (alert bad certificate)',
    'connect (alert unknown ca)',
  ])('in the handshake (%s) may be the word of a proxy, so it closes nothing', (text) => {
    expect(classifyFailure({ ...failure, reason: { ...closed, text } })).toEqual({
      outcome: { kind: 'unavailable', reason: ownReasons.push_certificate_refused },
      endsConnection: true,
      concerns: 'credential',
    })
  })

  it('with another handshake failure is retried', () => {
    const reason = { ...closed, text: 'connect (alert internal error)' }
    expect(classifyFailure({ ...failure, reason }).outcome.kind).toBe('unavailable')
  })

  it('before anything could be written is an error of the token', () => {
    expect(classifyFailure({ ...failure, invalid: true }).outcome.kind).toBe('rejected')
  })
})
