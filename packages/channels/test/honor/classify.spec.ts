import { describe, expect, it } from '@jest/globals'
import { classifyAuth, classifySend } from '../../src/honor/classify.ts'

const now = 1_760_000_000_000
const reply = (status: number, body: unknown = '', headers: Record<string, string> = {}) => ({
  status,
  headers,
  text: typeof body === 'string' ? body : JSON.stringify(body),
})
const coded = (code: unknown, data?: object, status = 200) =>
  classifySend(reply(status, { code, message: 'token BAEAAAAAB-secret', data }), now)
const lists = (failTokens: string[], expireTokens: string[], sendResult = true) => ({
  sendResult,
  requestId: 'r',
  failTokens,
  expireTokens,
})

describe('honor send replies', () => {
  it.each([200, 0, 80000000, '200', '0', '80000000'])('accepts %p as success', (code) => {
    expect(coded(code, lists([], [])).outcomeOf('t').kind).toBe('accepted')
    expect(coded(code).outcomeOf('t').kind).toBe('accepted')
  })

  it('does not report success when sendResult is false or HTTP is not 2xx', () => {
    expect(coded(200, lists([], [], false)).outcomeOf('t')).toMatchObject({
      kind: 'unavailable',
      maxTries: 3,
    })
    expect(coded(200, lists([], []), 503).outcomeOf('t').kind).toBe('throttled')
    expect(coded(200, lists([], []), 404).outcomeOf('t').kind).toBe('unavailable')
  })

  const codes: [code: number, kind: string, tokenRefused: boolean][] = [
    [400, 'rejected', false],
    [401, 'unavailable', true],
    [403, 'rejected', false],
    [404, 'rejected', false],
    [413, 'rejected', false],
    [429, 'throttled', false],
    [500, 'unavailable', false],
    [502, 'unavailable', false],
    [503, 'throttled', false],
    [504, 'unavailable', false],
    [80100000, 'accepted', false],
    [80100001, 'rejected', false],
    [80100003, 'rejected', false],
    [80100004, 'rejected', false],
    [80100016, 'rejected', false],
    [80200001, 'unavailable', true],
    [80200003, 'unavailable', true],
    [80300002, 'rejected', false],
    [80300007, 'gone', false],
    [80300008, 'rejected', false],
    [80300010, 'rejected', false],
    [81000001, 'unavailable', false],
    [89999999, 'unavailable', false],
  ]
  it.each(codes)('reads code %d as %s', (code, kind, tokenRefused) => {
    const result = coded(code)
    expect(result.outcomeOf('t').kind).toBe(kind)
    expect(result.tokenRefused).toBe(tokenRefused)
    expect(JSON.stringify(result.outcomeOf('t'))).not.toContain('secret')
  })

  it('names code 413 like the HTTP status, so that the request is halved', () => {
    expect(coded(413).outcomeOf('t')).toEqual({
      kind: 'rejected',
      reason: { code: 'honor.http_413', text: 'body too large' },
    })
  })

  const statuses: [number, string, boolean][] = [
    [400, 'unavailable', false],
    [401, 'unavailable', true],
    [403, 'unavailable', false],
    [404, 'unavailable', false],
    [408, 'unavailable', false],
    [413, 'rejected', false],
    [414, 'rejected', false],
    [418, 'unavailable', false],
    [431, 'rejected', false],
    [429, 'throttled', false],
    [500, 'unavailable', false],
    [503, 'throttled', false],
    [599, 'unavailable', false],
    [200, 'unavailable', false],
  ]
  it.each(statuses)('reads HTTP %d without JSON as %s', (status, kind, tokenRefused) => {
    const result = classifySend(reply(status, '<html>'), now)
    expect(result.outcomeOf('t').kind).toBe(kind)
    expect(result.tokenRefused).toBe(tokenRefused)
  })

  it('gets a new token on HTTP 401 whatever the code', () => {
    expect(coded(12345, undefined, 401)).toMatchObject({ tokenRefused: true })
    expect(coded(12345, undefined, 401).outcomeOf('t').kind).toBe('unavailable')
  })

  it('gives up an unknown code after three attempts, with its text', () => {
    const unknown = { code: 89999999, message: 'Tenant frozen, token BAEAAAAAB-secret' }
    expect(classifySend(reply(200, unknown), now).outcomeOf('t')).toEqual({
      kind: 'unavailable',
      reason: { code: 'honor.89999999', text: 'unknown code Tenant frozen, token …' },
      maxTries: 3,
    })
    expect(coded(81000001).outcomeOf('t')).not.toHaveProperty('maxTries')
  })

  it('honours Retry-After', () => {
    const result = classifySend(reply(429, '', { 'retry-after': '9' }), now)
    expect(result.outcomeOf('t')).toMatchObject({ kind: 'throttled', retryAfter: 9 })
  })

  it.each([200, 80100000])('reads both lists with code %d', (code) => {
    const { outcomeOf } = coded(code, lists(['f'], ['e']))
    expect(outcomeOf('f')).toEqual({
      kind: 'rejected',
      reason: { code: `honor.${code}.failTokens`, text: 'listed in failTokens' },
    })
    expect(outcomeOf('e')).toEqual({
      kind: 'gone',
      reason: { code: `honor.${code}.expireTokens`, text: 'listed in expireTokens' },
    })
    expect(outcomeOf('t').kind).toBe('accepted')
  })

  it('reads the lists also when nothing was accepted', () => {
    const all = coded(80300007, lists(['f'], ['e'], false))
    expect([all.outcomeOf('f').kind, all.outcomeOf('e').kind, all.outcomeOf('t').kind]).toEqual([
      'rejected',
      'gone',
      'gone',
    ])
    const refused = coded(400, lists([], ['e'], false), 400)
    expect([refused.outcomeOf('e').kind, refused.outcomeOf('t').kind]).toEqual(['gone', 'rejected'])
  })

  it('accepts values that are not lists', () => {
    const odd = { sendResult: true, failTokens: 'all', expireTokens: [1, null, 'e'] }
    expect(coded(200, odd).outcomeOf('e').kind).toBe('gone')
    expect(coded(200, odd).outcomeOf('t').kind).toBe('accepted')
  })
})

describe('honor token replies', () => {
  it.each(['unauthorized_client', 'invalid_client'])('reads %s as misconfigured', (error) => {
    for (const status of [400, 401])
      expect(classifyAuth(reply(status, { error, error_description: 'words' }), now)).toEqual({
        kind: 'misconfigured',
        reason: { code: `honor.oauth_${status}`, text: `oauth ${status} ${error}` },
      })
  })

  it('takes only Honor’s words about the client as a refusal of the credentials', () => {
    for (const status of [400, 401, 403, 404, 405]) {
      expect(classifyAuth(reply(status), now).kind).toBe('unavailable')
      expect(classifyAuth(reply(status, '<html>'), now).kind).toBe('unavailable')
      expect(classifyAuth(reply(status, { error: 'invalid_grant' }), now).kind).toBe('unavailable')
    }
    expect(classifyAuth(reply(500, { error: 'invalid_client' }), now).kind).toBe('unavailable')
  })

  it('reads 429 as throttled, 5xx and a missing token as unavailable', () => {
    expect(classifyAuth(reply(429, '', { 'retry-after': '30' }), now)).toMatchObject({
      kind: 'throttled',
      retryAfter: 30,
    })
    for (const status of [500, 503, 200])
      expect(classifyAuth(reply(status), now)).toEqual({
        kind: 'unavailable',
        reason: { code: `honor.oauth_${status}`, text: `oauth ${status} no access token` },
      })
  })

  it('repeats no text that could contain a secret', () => {
    expect(classifyAuth(reply(401, { error: 's3cr3t is wrong' }), now)).toEqual({
      kind: 'unavailable',
      reason: { code: 'honor.oauth_401', text: 'oauth 401 no access token' },
    })
  })
})
