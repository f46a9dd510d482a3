import type { OutcomeKind } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import type { HttpReply } from '../../src/shared/http.ts'
import {
  classifyList,
  classifySingle,
  isReply,
  outcomeOfInvalid,
  outcomeOfResult,
  readReply,
  resultCodes,
  type VivoReply,
} from '../../src/vivo/classify.ts'

/** 2025-10-09 16:53:20 in China. */
const now = 1_760_000_000_000
const midnight = Date.parse('2025-10-10T00:00:00+08:00')
const opening = Date.parse('2025-10-10T07:00:00+08:00')
const a = '15638535410301000000001'
const b = '15638535410301000000002'
const c = '15638535410301000000003'

const http = (text: string, status = 200, headers: Record<string, string> = {}): HttpReply => ({
  status,
  headers,
  text,
})
function reply(text: string): VivoReply {
  const reading = readReply(http(text), now)
  if (!isReply(reading)) throw new Error(reading.kind)
  return reading
}
const result = (code: number, desc = '') => outcomeOfResult({ result: code, desc, invalid: new Map() }, now)

/** Every code of the vendor's page, by outcome. */
const expected: Record<Exclude<OutcomeKind, 'accepted' | 'unsupported'>, number[]> = {
  gone: [10302],
  misconfigured: [10043, 10202, 10205, 10206],
  quota: [10070, 10071, 10073, 10250, 10252, 10254],
  throttled: [10072, 10093],
  unavailable: [10000, 10040, 10207],
  rejected: [
    ...[10045, 10050, 10051, 10054, 10055, 10056, 10057, 10058, 10059, 10060, 10061, 10062, 10063, 10064],
    ...[10065, 10066, 10067, 10068, 10069, 10082, 10085, 10094, 10095, 10096, 10097, 10101, 10103, 10104],
    ...[10150, 10151, 10152, 10153, 10154, 10155, 10200, 10201, 10203, 10204, 10301, 10304, 10305, 10306],
    ...[10307, 10311, 10352, 10353, 11000],
  ],
}

describe('a vivo result', () => {
  const rows = Object.entries(expected).flatMap(([kind, codes]) => codes.map((code) => [code, kind] as const))
  it.each(rows)('%i is %s', (code, kind) => {
    const outcome = result(code)
    expect(outcome.kind).toBe(kind)
    expect(outcome).toMatchObject({ reason: { code: `vivo.${code}`, text: expect.stringMatching(/^\S/) } })
  })

  it('is in the table for every documented code, and for no other', () => {
    const listed = Object.values(expected).flat()
    expect(Object.keys(resultCodes).map(Number).sort()).toEqual(listed.sort())
  })

  it.each([10070, 10073, 10250, 10252, 10254])('%i waits for midnight in China', (code) => {
    expect(result(code)).toMatchObject({ until: midnight })
  })

  it('10071 waits for 07:00 in China', () => {
    expect(result(10071)).toMatchObject({ until: opening })
  })

  it.each([
    [10070, '2025-10-10T00:00:02+08:00', '2025-10-10T00:02:02+08:00'],
    [10071, '2025-10-10T07:00:02+08:00', '2025-10-10T07:02:02+08:00'],
    [10070, '2025-10-10T00:11:00+08:00', '2025-10-11T00:00:00+08:00'],
    [10071, '2025-10-10T07:11:00+08:00', '2025-10-11T07:00:00+08:00'],
  ])('%i at %s waits until %s', (code, at, until) => {
    const outcome = outcomeOfResult({ result: code, desc: '', invalid: new Map() }, Date.parse(at))
    expect(outcome).toMatchObject({ kind: 'quota', until: Date.parse(until) })
  })

  it('10093 waits two seconds', () => {
    expect(result(10093)).toMatchObject({ retryAfter: 2 })
  })

  it('of an unknown code is tried three times, with vivo’s text but without anything like a token', () => {
    expect(result(10999, `新规则 ${a}\n限制`)).toEqual({
      kind: 'unavailable',
      reason: { code: 'vivo.10999', text: '新规则 … 限制' },
      maxTries: 3,
    })
    expect(result(10998)).toMatchObject({ reason: { code: 'vivo.10998', text: 'unknown code' } })
  })
})

describe('an invalid user', () => {
  it.each([
    [1, 'gone'],
    [2, 'gone'],
    [3, 'rejected'],
    [4, 'rejected'],
    [9, 'rejected'],
  ])('of status %i is %s', (status, kind) => {
    expect(outcomeOfInvalid(status)).toMatchObject({
      kind,
      reason: { code: `vivo.status_${status}`, text: expect.stringContaining(`status ${status}`) },
    })
  })
})

describe('the reply to a single send', () => {
  const cases: [text: string, kind: OutcomeKind][] = [
    ['{"result":0,"desc":"请求成功","taskId":"121397329"}', 'accepted'],
    ['{"result":"0","desc":"请求成功","taskId":121397329}', 'accepted'],
    [`{"result":10302,"desc":"regId不合法","invalidUser":{"status":1,"userid":"${a}"}}`, 'gone'],
    [`{"result":10302,"desc":"regId不合法","invalidUser":{"status":2,"userid":${a}}}`, 'gone'],
    ['{"result":10302,"desc":"regId不合法","invalidUser":{"status":3}}', 'rejected'],
    [`{"result":10302,"desc":"regId不合法","invalidUser":{"status":4,"userid":"${a}"}}`, 'rejected'],
    ['{"result":10302,"desc":"regId不合法"}', 'gone'],
    ['{"result":10302,"desc":"regId不合法","invalidUser":null}', 'gone'],
    ['{"result":10302,"desc":"regId不合法","invalidUser":{}}', 'gone'],
    [`{"result":10302,"invalidUser":{},"invalidUsers":[{"status":3,"userid":"${a}"}]}`, 'rejected'],
    ['{"result":10072,"desc":"推送速度过快"}', 'throttled'],
    ['{"result":10072,"invalidUser":{}}', 'throttled'],
    [`{"result":10072,"invalidUser":{"status":1,"userid":"${a}"}}`, 'throttled'],
  ]
  it.each(cases)('%s is %s', (text, kind) => {
    expect(classifySingle(reply(text), now).kind).toBe(kind)
  })
})

describe('the reply to a list send', () => {
  const kinds = (text: string) => classifyList(reply(text), [a, b, c], now).map((outcome) => outcome.kind)

  it('accepts all tokens that it does not list', () => {
    expect(kinds('{"requestId":"r","result":0,"desc":"请求成功"}')).toEqual([
      'accepted',
      'accepted',
      'accepted',
    ])
    expect(kinds('{"result":0,"invalidUsers":[]}')).toEqual(['accepted', 'accepted', 'accepted'])
    expect(
      kinds(`{"result":0,"invalidUsers":[{"status":2,"userid":"${c}"},{"status":3,"userid":"${a}"}]}`),
    ).toEqual(['rejected', 'accepted', 'gone'])
  })

  it('reads both lists of invalid tokens', () => {
    const both = `"invalidUser":{},"invalidUsers":[{"status":2,"userid":"${c}"}]`
    expect(kinds(`{"result":0,${both}}`)).toEqual(['accepted', 'accepted', 'gone'])
    expect(kinds(`{"result":0,"invalidUsers":[{"userid":"${b}"}]}`)).toEqual([
      'accepted',
      'rejected',
      'accepted',
    ])
  })

  it('reads a number of 23 digits without loss', () => {
    expect(kinds(`{"result":0,"invalidUsers":[{"status":1,"userid":${b}}]}`)).toEqual([
      'accepted',
      'gone',
      'accepted',
    ])
  })

  it('never retires tokens by a code of the whole list', () => {
    expect(kinds('{"result":10302,"desc":"regId不合法"}')).toEqual(['rejected', 'rejected', 'rejected'])
    expect(kinds(`{"result":10302,"invalidUsers":[{"status":1,"userid":"${a}"}]}`)).toEqual([
      'gone',
      'rejected',
      'rejected',
    ])
  })

  it('has one outcome for all when the call was refused', () => {
    expect(kinds('{"result":10070,"desc":"发送总量超出限制"}')).toEqual(['quota', 'quota', 'quota'])
  })
})

describe('an unreadable reply', () => {
  const cases: [what: string, reply: HttpReply, expected: object][] = [
    [
      'plain text of a 500',
      http('Internal Server Error', 500),
      { kind: 'unavailable', reason: { code: 'vivo.http_500', text: 'HTTP 500' } },
    ],
    ['a 503 with a wait', http('', 503, { 'retry-after': '7' }), { kind: 'unavailable', retryAfter: 7 }],
    ['a 429', http('{}', 429, { 'retry-after': '3' }), { kind: 'throttled', retryAfter: 3 }],
    ['a page of a proxy', http('<html></html>'), { kind: 'unavailable' }],
    ['a 413', http('', 413), { kind: 'rejected', reason: { code: 'vivo.http_413', text: 'HTTP 413' } }],
    ['a 414', http('', 414), { kind: 'rejected' }],
    ['a 431', http('', 431), { kind: 'rejected' }],
    [
      'a redirect',
      http('', 302),
      { kind: 'unavailable', reason: { code: 'vivo.http_302', text: 'HTTP 302' } },
    ],
    ['an empty body', http(''), { kind: 'unavailable' }],
    ['a list', http('[]'), { kind: 'unavailable' }],
    ['no result', http('{"desc":"?"}'), { kind: 'unavailable' }],
    ['a result that is no number', http('{"result":"ok"}'), { kind: 'unavailable' }],
    ['a result that is an object', http('{"result":{}}'), { kind: 'unavailable' }],
  ]
  it.each(cases)('%s', (_what, answer, expected) => {
    expect(readReply(answer, now)).toMatchObject(expected)
  })

  const unavailable = (status: number) => ({
    kind: 'unavailable',
    reason: { code: `vivo.http_${status}`, text: `HTTP ${status}` },
  })
  it.each([401, 403, 404, 408])('of a gateway (%i) is retried as long as the message lives', (status) => {
    expect(readReply(http('<html></html>', status), now)).toEqual(unavailable(status))
  })
  it.each([400, 405, 422])('that refuses the request (%i) is tried three times', (status) => {
    expect(readReply(http('', status), now)).toEqual({ ...unavailable(status), maxTries: 3 })
  })
  it('whose Retry-After is 0 names no wait', () => {
    expect(readReply(http('', 503, { 'retry-after': '0' }), now)).toEqual(unavailable(503))
  })

  it('accepts malformed lists of invalid users', () => {
    const odd = reply('{"result":0,"invalidUsers":[null,7,"x",{"userid":null},{"status":"2","userid":"t"}]}')
    expect(classifyList(odd, ['t', 'u'], now).map((outcome) => outcome.kind)).toEqual(['gone', 'accepted'])
  })
})
