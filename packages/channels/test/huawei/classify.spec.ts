import { describe, expect, it } from '@jest/globals'
import { classifyAuth, classifySend } from '../../src/huawei/classify.ts'

const now = 1_760_000_000_000
const reply = (status: number, body: unknown = '', headers: Record<string, string> = {}) => ({
  status,
  headers,
  text: typeof body === 'string' ? body : JSON.stringify(body),
})
const coded = (code: unknown, msg: unknown = 'words', status = 200) =>
  classifySend(reply(status, { code, msg, requestId: 'r' }), now)

describe('huawei send replies', () => {
  const codes: [code: string, kind: string][] = [
    ['80000000', 'accepted'],
    ['80100001', 'rejected'],
    ['80100002', 'rejected'],
    ['80100003', 'rejected'],
    ['80100004', 'rejected'],
    ['80100013', 'rejected'],
    ['80100016', 'rejected'],
    ['80100017', 'throttled'],
    ['80100018', 'rejected'],
    ['80100022', 'rejected'],
    ['80200001', 'unavailable'],
    ['80200003', 'unavailable'],
    ['80200005', 'unavailable'],
    ['80300002', 'misconfigured'],
    ['80300007', 'gone'],
    ['80300008', 'rejected'],
    ['80300010', 'rejected'],
    ['80300011', 'rejected'],
    ['80300013', 'rejected'],
    ['80300029', 'rejected'],
    ['80300030', 'rejected'],
    ['80300036', 'unavailable'],
    ['80300037', 'misconfigured'],
    ['80600003', 'unavailable'],
    ['81000001', 'unavailable'],
    ['82000001', 'rejected'],
    ['82000011', 'rejected'],
    ['82000012', 'rejected'],
    ['82000013', 'rejected'],
    ['89999999', 'unavailable'],
  ]
  it.each(codes)('reads %s as %s', (code, kind) => {
    const result = coded(code)
    expect(result.outcomeOf('t').kind).toBe(kind)
    const refusals = ['80200001', '80200003', '80200005', '80300036', '80600003']
    expect(result.tokenRefused).toBe(refusals.includes(code))
  })

  it.each([
    ['80100022', 'picture'],
    ['80300011', 'high'],
    ['80300013', 'receipts'],
    ['80300029', 'test'],
    ['80100001', undefined],
  ])('finds the part that %s refuses for all tokens', (code, part) => {
    const { refused } = coded(code)
    expect(refused?.part).toBe(part)
    if (refused) expect(refused.concerns('t')).toBe(true)
  })

  it('gives up an unknown code after three attempts, with its text', () => {
    expect(coded('89999999', 'Frequency of the tenant exceeded').outcomeOf('t')).toEqual({
      kind: 'unavailable',
      reason: { code: 'huawei.89999999', text: 'unknown code Frequency of the tenant exceeded' },
      maxTries: 3,
    })
    for (const code of ['81000001', '80200001', '80600003'])
      expect(coded(code).outcomeOf('t')).not.toHaveProperty('maxTries')
  })

  it.each([
    ['82000012', /data storage location not selected/],
    ['82000013', /data storage location does not match/],
    ['82000001', /topic or group/],
  ])('names the cause of %s', (code, words) => {
    expect(coded(code).outcomeOf('t')).toMatchObject({ reason: { text: expect.stringMatching(words) } })
  })

  it('decides by the code at any HTTP status, also when it is a number', () => {
    expect(coded('80000000', 'Success', 503).outcomeOf('t').kind).toBe('accepted')
    expect(coded(80300002, '', 200).outcomeOf('t')).toEqual({
      kind: 'misconfigured',
      reason: {
        code: 'huawei.80300002',
        text: 'app may not push: enable Push Kit, compare project and region',
      },
    })
  })

  const statuses: [number, string, boolean][] = [
    [400, 'unavailable', false],
    [401, 'unavailable', true],
    [403, 'unavailable', false],
    [404, 'unavailable', false],
    [405, 'unavailable', false],
    [408, 'unavailable', false],
    [413, 'rejected', false],
    [414, 'rejected', false],
    [418, 'unavailable', false],
    [431, 'rejected', false],
    [429, 'throttled', false],
    [500, 'unavailable', false],
    [502, 'unavailable', false],
    [503, 'throttled', false],
    [200, 'unavailable', false],
  ]
  it.each(statuses)('reads HTTP %d without JSON as %s', (status, kind, tokenRefused) => {
    const result = classifySend(reply(status, '<html>'), now)
    expect(result.outcomeOf('t').kind).toBe(kind)
    expect(result.tokenRefused).toBe(tokenRefused)
  })

  it('honours Retry-After', () => {
    expect(classifySend(reply(503, '', { 'retry-after': '7' }), now).outcomeOf('t')).toEqual({
      kind: 'throttled',
      reason: { code: 'huawei.http_503', text: 'HTTP 503 flow control' },
      retryAfter: 7,
    })
  })

  it('finds the refused tokens of v1 and v2 in the JSON inside msg', () => {
    const msg = '{"success":3,"failure":1,"illegal_tokens":["t1"]}'
    const { outcomeOf } = coded('80100000', msg)
    expect(outcomeOf('t1')).toEqual({
      kind: 'gone',
      reason: { code: 'huawei.80100000', text: 'illegal token' },
    })
    expect(outcomeOf('t2').kind).toBe('accepted')
  })

  it('reports an unreadable partial reply as accepted, so that nothing is sent twice', () => {
    for (const msg of ['half of them', undefined, 5, '[]'])
      expect(coded('80100000', msg).outcomeOf('t1').kind).toBe('accepted')
  })

  const reasons: [string, string][] = [
    ['tokenFormatError', 'gone'],
    ['tokenPlatformNotSupport', 'gone'],
    ['noRight', 'rejected'],
    ['constructor', 'rejected'],
    ['noPushTypeRight', 'rejected'],
    ['notSupportPlayVoice', 'rejected'],
    ['noRightToSendThisLiveNotificationEvent', 'rejected'],
    ['disableSendHuaweiMsgBecauseOfPenalty', 'rejected'],
    ['appinfoError', 'unavailable'],
    ['countryNotSupport', 'rejected'],
    ['differentImgVerifyPolicy', 'rejected'],
    ['atomicUnableSendUnsubscribedMsg', 'rejected'],
    ['somethingNew', 'rejected'],
  ]
  it.each(reasons)('reads the v3 reason %s as %s', (reason, kind) => {
    const msg = JSON.stringify({ illegalTokens: { [reason]: ['t1'] }, success: 1, failure: 1 })
    const { outcomeOf } = coded('80100000', msg)
    expect(outcomeOf('t1')).toMatchObject({ kind, reason: { code: `huawei.80100000.${reason}` } })
    expect(outcomeOf('t2').kind).toBe('accepted')
  })

  it('asks for a pause before an app is looked up again, three times at most', () => {
    const { outcomeOf } = coded('80100000', '{"illegalTokens":{"appinfoError":["t1"]}}')
    expect(outcomeOf('t1')).toMatchObject({ minWait: 60, maxTries: 3 })
  })

  it('finds the tokens whose app may not show the picture', () => {
    const msg = '{"illegalTokens":{"differentImgVerifyPolicy":["t1"],"noRight":["t2"]}}'
    const { refused } = coded('80100000', msg)
    expect(refused?.part).toBe('picture')
    expect(['t1', 't2', 't3'].map((token) => refused!.concerns(token))).toEqual([true, false, false])
  })

  it('prefers a reason to "all tokens invalid"', () => {
    const { outcomeOf } = coded('80300007', '{"illegalTokens":{"noRight":["t1"]}}')
    expect(outcomeOf('t1').kind).toBe('rejected')
    expect(outcomeOf('t2').kind).toBe('gone')
  })

  it('never repeats the vendor’s text', () => {
    for (const code of ['80100001', '89999999', '80200001'])
      expect(JSON.stringify(coded(code, 'token IQAAAACy0secret').outcomeOf('t'))).not.toContain('secret')
    const hostile = '{"illegalTokens":{"IQAAAACy0-is bad":["t1"]}}'
    expect(coded('80100000', hostile).outcomeOf('t1')).toEqual({
      kind: 'rejected',
      reason: { code: 'huawei.80100000', text: 'illegal token' },
    })
  })
})

describe('huawei token replies', () => {
  const refusals: [number, string][] = [
    [12304, 'client_secret wrong'],
    [20002, 'client_id malformed'],
    [20171, 'client_secret missing'],
    [20172, 'client_secret malformed'],
  ]
  it.each(refusals)('reads 1101 / %d as misconfigured', (sub_error, words) => {
    const body = { error: 1101, sub_error, error_description: 'secret text' }
    expect(classifyAuth(reply(400, body), now)).toEqual({
      kind: 'misconfigured',
      reason: { code: `huawei.oauth_${sub_error}`, text: `oauth ${sub_error} ${words}` },
    })
  })

  it.each([20182, 99999])(
    'reads 1101 / %d, which does not concern the credentials, as unavailable',
    (sub_error) => {
      expect(classifyAuth(reply(400, { error: 1101, sub_error }), now)).toMatchObject({
        kind: 'unavailable',
        maxTries: 3,
      })
    },
  )

  it('does not take the word of a gateway for Huawei’s', () => {
    for (const body of ['<html>', '', { sub_error: 12304 }, { error: 1102, sub_error: 12304 }])
      for (const status of [400, 401, 403, 404, 405])
        expect(classifyAuth(reply(status, body), now).kind).toBe('unavailable')
  })

  it.each([500, 502, 504, 590, 200])('reads HTTP %d without a token as unavailable', (status) => {
    expect(classifyAuth(reply(status), now).kind).toBe('unavailable')
  })

  it('waits at least a minute after 503, longer with Retry-After, at most an hour', () => {
    expect(classifyAuth(reply(503), now)).toMatchObject({ kind: 'throttled', minWait: 60 })
    for (const [asked, retryAfter] of [
      ['120', 120],
      ['86400', 3600],
    ] as const)
      expect(classifyAuth(reply(503, '', { 'retry-after': asked }), now)).toMatchObject({
        retryAfter,
        minWait: 60,
      })
  })
})
