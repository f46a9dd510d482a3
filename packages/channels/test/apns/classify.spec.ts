import { ownReasons } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { classify, classifyFailure, classifyGoaway } from '../../src/apns/classify.ts'

const answer = (status: number, reason?: string, more: object = {}) => ({
  status,
  body: reason === undefined ? '' : JSON.stringify({ reason, ...more }),
})

// Every row of https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns
const documented: [status: number, reason: string, kind: string, retryAfter: number | undefined][] = (
  [
    [400, 'BadCollapseId', 'rejected'],
    [400, 'BadDeviceToken', 'gone'],
    [400, 'BadExpirationDate', 'rejected'],
    [400, 'BadMessageId', 'rejected'],
    [400, 'BadPriority', 'rejected'],
    [400, 'BadTopic', 'misconfigured'],
    [400, 'DeviceTokenNotForTopic', 'gone'],
    [400, 'DuplicateHeaders', 'rejected'],
    [400, 'IdleTimeout', 'unavailable', 0],
    [400, 'InvalidPushType', 'rejected'],
    [400, 'MissingDeviceToken', 'rejected'],
    [400, 'MissingTopic', 'misconfigured'],
    [400, 'PayloadEmpty', 'rejected'],
    [400, 'TopicDisallowed', 'misconfigured'],
    [403, 'BadCertificate', 'misconfigured'],
    [403, 'BadCertificateEnvironment', 'misconfigured'],
    [403, 'ExpiredProviderToken', 'misconfigured'],
    [403, 'Forbidden', 'misconfigured'],
    [403, 'InvalidProviderToken', 'misconfigured'],
    [403, 'MissingProviderToken', 'misconfigured'],
    [403, 'UnrelatedKeyIdInToken', 'misconfigured'],
    [403, 'BadEnvironmentKeyIdInToken', 'misconfigured'],
    [403, 'BadEnvironmentKeyInToken', 'misconfigured'],
    [404, 'BadPath', 'rejected'],
    [405, 'MethodNotAllowed', 'rejected'],
    [410, 'Unregistered', 'gone'],
    [410, 'ExpiredToken', 'gone'],
    [413, 'PayloadTooLarge', 'rejected'],
    [429, 'TooManyProviderTokenUpdates', 'throttled', 1200],
    [429, 'TooManyRequests', 'throttled', 60],
    [500, 'InternalServerError', 'unavailable'],
    [503, 'ServiceUnavailable', 'unavailable'],
    [503, 'Shutdown', 'unavailable', 0],
  ] satisfies [number, string, string, number?][]
).map(([status, reason, kind, retryAfter]) => [status, reason, kind, retryAfter])

describe('a reply of APNs', () => {
  it('of 200 is accepted', () => {
    expect(classify({ status: 200, body: '' })).toEqual({ outcome: { kind: 'accepted' } })
  })

  it.each(documented)('%i %s is %s (after %p s)', (status, reason, kind, retryAfter) => {
    expect(classify(answer(status, reason)).outcome).toEqual({
      kind,
      reason: { code: `apns.${reason}`, text: `${status} ${reason}` },
      ...(retryAfter === undefined ? {} : { retryAfter }),
    })
  })

  it.each([
    [418, 'Teapot', 'rejected'],
    [403, 'SomethingNew', 'rejected'],
    [410, 'SomethingNew', 'rejected'],
    [429, 'SomethingNew', 'throttled'],
    [500, 'SomethingNew', 'unavailable'],
    [599, 'SomethingNew', 'unavailable'],
    [400, 'constructor', 'rejected'],
  ])('with an unknown reason is classified by its status: %i %s is %s', (status, reason, kind) => {
    expect(classify(answer(status, reason)).outcome.kind).toBe(kind)
  })

  it.each([
    [400, 'rejected'],
    [403, 'misconfigured'],
    [410, 'gone'],
    [413, 'rejected'],
    [429, 'throttled'],
    [502, 'unavailable'],
  ])('without a reason is classified by its status: %i is %s', (status, kind) => {
    for (const body of ['', '<html>Bad Gateway</html>', 'null', '[]', '{"reason":5}'])
      expect(classify({ status, body }).outcome).toMatchObject({
        kind,
        reason: { code: `apns.http_${status}`, text: `${status} without a reason` },
      })
  })

  it('never repeats text that is not a reason of APNs', () => {
    const body = JSON.stringify({ reason: 'token 00fc13adff785122 is bad' })
    expect(classify({ status: 400, body }).outcome).toEqual({
      kind: 'rejected',
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

  it('contains the wait from the reply', () => {
    expect(classify({ ...answer(503, 'ServiceUnavailable'), retryAfter: 7 }).outcome).toMatchObject({
      retryAfter: 7,
    })
    expect(classify({ ...answer(429, 'TooManyRequests'), retryAfter: 7 }).outcome).toMatchObject({
      retryAfter: 7,
    })
  })

  it.each([
    ['ExpiredProviderToken', 'new-token'],
    ['UnrelatedKeyIdInToken', 'new-connection'],
    ['InvalidProviderToken', undefined],
    ['Forbidden', undefined],
  ])('403 %s is retried with a %s', (reason, retryWith) => {
    expect(classify(answer(403, reason))).toMatchObject({
      retryWith,
      concernsAll: true,
      endsConnection: true,
    })
  })

  it.each(['InternalServerError', 'Shutdown', 'IdleTimeout'])(
    '%s ends the use of the connection',
    (reason) => {
      expect(classify(answer(500, reason)).endsConnection).toBe(true)
    },
  )

  it.each(['BadDeviceToken', 'Unregistered', 'TooManyRequests', 'PayloadTooLarge'])(
    '%s concerns one device and leaves the connection alone',
    (reason) => {
      expect(classify(answer(400, reason))).toMatchObject({ concernsAll: false, endsConnection: false })
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
      const expected = {
        outcome: { kind: 'misconfigured', reason: { code: `apns.${reason}`, text: `GOAWAY ${reason}` } },
        endsConnection: true,
        concernsAll: true,
      }
      expect(classifyFailure({ ...failure, goaway: goaway(reason) })).toEqual(expected)
      expect(classifyGoaway(goaway(reason))).toEqual(expected)
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
  ])('in the handshake (%s) is an error of the certificate', (text) => {
    expect(classifyFailure({ ...failure, reason: { ...closed, text } })).toMatchObject({
      outcome: { kind: 'misconfigured' },
      concernsAll: true,
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
