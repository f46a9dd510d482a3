import type { OutcomeKind } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import {
  callCodes,
  classify,
  isReply,
  type MeizuReply,
  readReply,
  targetCodes,
} from '../../src/meizu/classify.ts'
import type { HttpReply } from '../../src/shared/http.ts'

/** 2025-10-09 16:53:20 in China. */
const now = 1_760_000_000_000
const midnight = Date.parse('2025-10-10T00:00:00+08:00')
const a = 'RA50c6348036344485d01776773577c64740465480a6b'
const b = 'J0476035d625e6c64567f71487e040e7d017f0558675b'

const http = (text: string, status = 200, headers: Record<string, string> = {}): HttpReply => ({
  status,
  headers,
  text,
})
function reply(body: unknown): MeizuReply {
  const reading = readReply(http(typeof body === 'string' ? body : JSON.stringify(body)), now)
  if (!isReply(reading)) throw new Error(reading.kind)
  return reading
}
const outcomes = (body: unknown) => classify(reply(body), [a, b], now)
const failed = (code: string, message = '') => ({ code, message, value: '', redirect: '' })

type Kinds = Partial<Record<OutcomeKind, number[]>>
const rowsOf = (kinds: Kinds) =>
  Object.entries(kinds).flatMap(([kind, codes]) => codes.map((code) => [code, kind] as const))

describe('a code of the whole call', () => {
  const expected: Kinds = {
    unavailable: [300, 500, 1001, 1003],
    rejected: [1005, 110001, 110004, 110031, 110032, 110053],
    misconfigured: [1006, 110000, 110009, 110033],
    gone: [110002, 110003],
    throttled: [110010],
    quota: [110019, 110051],
  }
  it.each(rowsOf(expected))('%i is %s for everyone', (code, kind) => {
    const both = outcomes(failed(String(code)))
    expect(both.map((outcome) => outcome.kind)).toEqual([kind, kind])
    expect(both[0]).toMatchObject({ reason: { code: `flyme.${code}`, text: expect.stringMatching(/^\S/) } })
  })

  it('is in the table for every documented code, and for no other', () => {
    expect(Object.keys(callCodes).sort()).toEqual(Object.values(expected).flat().map(String).sort())
  })

  it.each(['110019', '110051'])('%s waits for midnight in China', (code) => {
    expect(outcomes(failed(code))[0]).toMatchObject({ until: midnight })
  })

  it.each([
    ['2025-10-10T00:00:02+08:00', '2025-10-10T00:02:02+08:00'],
    ['2025-10-10T00:11:00+08:00', '2025-10-11T00:00:00+08:00'],
  ])('110019 at %s waits until %s', (at, until) => {
    const [outcome] = classify(reply(failed('110019')), [a], Date.parse(at))
    expect(outcome).toMatchObject({ kind: 'quota', until: Date.parse(until) })
  })

  it('that no table contains is tried three times, with Meizu’s text but without anything like a token', () => {
    expect(outcomes(failed('110099', `新错误 ${a}`))[0]).toEqual({
      kind: 'unavailable',
      reason: { code: 'flyme.110099', text: '新错误 …' },
      maxTries: 3,
    })
  })

  it('500, which Meizu uses for bad parameters too, is tried three times', () => {
    expect(outcomes(failed('500'))[0]).toMatchObject({ kind: 'unavailable', maxTries: 3 })
    expect(outcomes(failed('1001'))[0]).not.toHaveProperty('maxTries')
  })
})

describe('a code of one target', () => {
  const expected: Kinds = {
    rejected: [201, 520, 110005, 110010, 110011],
    unavailable: [501, 513, 519],
    throttled: [518],
    gone: [110002, 110003],
  }
  const named = (code: number | string) => ({ code: '200', message: '', value: { [code]: [b] }, msgId: 'm' })

  it.each(rowsOf(expected))('%i is %s for it, and the other was accepted', (code, kind) => {
    expect(outcomes(named(code)).map((outcome) => outcome.kind)).toEqual(['accepted', kind])
  })

  it('is in the table for every documented code, and for no other', () => {
    expect(Object.keys(targetCodes).sort()).toEqual(Object.values(expected).flat().map(String).sort())
  })

  it('that no table contains is tried three times', () => {
    expect(outcomes(named(999))[1]).toEqual({
      kind: 'unavailable',
      reason: { code: 'flyme.999', text: 'unknown code' },
      maxTries: 3,
    })
  })

  it.each([501, 513, 519])('%i is an answer about it, which is tried three times', (code) => {
    expect(outcomes(named(code))[1]).toMatchObject({ kind: 'unavailable', minWait: 60, maxTries: 3 })
  })

  it('110010 means disabled messages here, and a rate limit for the call', () => {
    expect(outcomes(named(110010))[1]).toMatchObject({
      kind: 'rejected',
      reason: { code: 'flyme.110010.target' },
    })
    expect(outcomes(failed('110010'))[1]).toMatchObject({
      kind: 'throttled',
      reason: { code: 'flyme.110010' },
    })
  })

  it('may be given as target → code', () => {
    const reversed = { code: '200', message: '', value: { [b]: '110002' } }
    expect(outcomes(reversed).map((outcome) => outcome.kind)).toEqual(['accepted', 'gone'])
    const listed = { code: 200, message: '', value: { [a]: ['110002'], [b]: 513 } }
    expect(outcomes(listed).map((outcome) => outcome.kind)).toEqual(['gone', 'unavailable'])
  })
})

describe('a success', () => {
  it.each([
    [{ code: '200', message: '', value: {}, msgId: 'c2ee5c3bf00448cfbceb7fdf68c3c8eb' }],
    [{ code: 200, value: '' }],
    [{ code: '200', value: null }],
    [{ code: '200', value: [1, 2] }],
    [{ code: '200', value: { 110002: null, 110003: [null, {}] } }],
    [{ code: '200', value: { odd: 'text' } }],
  ])('%j accepts all targets', (body) => {
    expect(outcomes(body)).toEqual([{ kind: 'accepted' }, { kind: 'accepted' }])
  })
})

describe('an unreadable reply', () => {
  const cases: [what: string, reply: HttpReply, expected: object][] = [
    ['a 503 with a wait', http('', 503, { 'retry-after': '7' }), { kind: 'unavailable', retryAfter: 7 }],
    ['a 429', http('', 429, { 'retry-after': '3' }), { kind: 'throttled', retryAfter: 3 }],
    ['a 413', http('', 413), { kind: 'rejected', reason: { code: 'flyme.http_413', text: 'HTTP 413' } }],
    ['a 414', http('', 414), { kind: 'rejected' }],
    ['a 431', http('', 431), { kind: 'rejected' }],
    [
      'a redirect',
      http('', 302),
      { kind: 'unavailable', reason: { code: 'flyme.http_302', text: 'HTTP 302' } },
    ],
    ['a page of a proxy', http('<html></html>'), { kind: 'unavailable' }],
    ['an empty body', http(''), { kind: 'unavailable' }],
    ['no code', http('{"message":"?"}'), { kind: 'unavailable' }],
    ['a code that is an object', http('{"code":{}}'), { kind: 'unavailable' }],
  ]
  it.each(cases)('%s', (_what, answer, expected) => {
    expect(readReply(answer, now)).toMatchObject(expected)
  })

  const unavailable = (status: number) => ({
    kind: 'unavailable',
    reason: { code: `flyme.http_${status}`, text: `HTTP ${status}` },
  })
  it.each([401, 403, 404, 408])('of a gateway (%i) is retried as long as the message lives', (status) => {
    expect(readReply(http('<html></html>', status), now)).toEqual(unavailable(status))
  })
  it.each([400, 405, 415])('that refuses the request (%i) is tried three times', (status) => {
    expect(readReply(http('', status), now)).toEqual({ ...unavailable(status), maxTries: 3 })
  })
})
