import type { OutcomeKind } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { classifyCheck, classifySend } from '../../src/xiaomi/classify.ts'

// According to https://dev.mi.com/xiaomihyperos/documentation/detail?pId=1560 (error codes).

const now = Date.parse('2025-10-09T16:53:20+08:00')
const midnight = Date.parse('2025-10-10T00:00:00+08:00')

const reply = (body: unknown, status = 200, headers: Record<string, string> = {}) => ({
  status,
  headers,
  text: typeof body === 'string' ? body : JSON.stringify(body),
})
const refusal = (code: number | string, reason = 'some words') =>
  reply({ result: 'error', code, reason, description: '…', trace_id: 'X' })

const read = (answer: ReturnType<typeof reply>) => {
  const result = classifySend(answer, now)
  return 'whole' in result ? result : { whole: result.outcomeOf('R1'), cause: undefined }
}
const outcome = (answer: ReturnType<typeof reply>) => read(answer).whole

const table: [OutcomeKind, number[]][] = [
  ['gone', [10029]],
  ['unavailable', [-1, 1, 10001, 10002, 10003, 10009, 10010, 10011, 10037]],
  ['unavailable', [20607, 22102, 26003, 65029, 10004, 21302, 21303]],
  ['throttled', [10022, 10023, 10024, 10027, 10028, 26004, 200002]],
  ['quota', [200001, 10034]],
  ['rejected', [100, 10008, 10012, 10016, 10017, 21305, 65011, 65030, 65009, 65014, 65015, 65036]],
  ['rejected', [20209, 20215, 20216, 20315, 65006, 65007, 65008, 65010, 65012, 65013, 65016, 65017, 65035]],
  ['rejected', [10005, 10006, 10007, 10013, 10014, 10018, 10020, 10021, 10025, 65037, 65038]],
  ['rejected', [22003, 22004, 22005, 22020, 22021, 22100, 22101, 22103]],
  ['rejected', [10036, 27001, 26005, 26006, 65040, 65041, 66108]],
  ['rejected', [10030, 10032, 10033, 10035, 10038, 10039, 65028]],
  ['misconfigured', [21301, 10026, 10031, 22000, 22001, 22002, 22006, 22007, 22008, 22022]],
]

describe('xiaomi error codes', () => {
  it.each(table.flatMap(([kind, codes]) => codes.map((code) => [code, kind] as const)))(
    'reads %i as %s, with the code in the reason',
    (code, kind) => {
      const found = outcome(refusal(code))
      expect(found.kind).toBe(kind)
      expect(found).not.toHaveProperty('maxTries')
      expect(found).toMatchObject({ reason: { code: `xiaomi.${code}`, text: expect.stringMatching(/^\w/) } })
    },
  )

  it('reads 65003 as an answer about one device, which is tried three times', () => {
    expect(outcome(refusal(65003))).toEqual({
      kind: 'unavailable',
      reason: { code: 'xiaomi.65003', text: 'device not found' },
      minWait: 60,
      maxTries: 3,
    })
  })

  it('accepts a code that is a string', () => {
    expect(outcome(refusal('21301')).kind).toBe('misconfigured')
  })

  it('ends the daily quota at midnight in Shanghai', () => {
    expect(outcome(refusal(200001))).toEqual({
      kind: 'quota',
      reason: { code: 'xiaomi.200001', text: 'daily quota used' },
      until: midnight,
    })
  })

  it.each([
    ['2025-10-10T00:00:02+08:00', '2025-10-10T00:02:02+08:00'],
    ['2025-10-10T00:11:00+08:00', '2025-10-11T00:00:00+08:00'],
  ])('ends the daily quota, refused at %s, at %s', (at, until) => {
    expect(classifySend(refusal(200001), Date.parse(at))).toMatchObject({
      whole: { kind: 'quota', until: Date.parse(until) },
    })
  })

  it('tries a code that no table contains three times, with the vendor’s words in the reason', () => {
    expect(outcome(refusal(99999, 'quite new'))).toEqual({
      kind: 'unavailable',
      reason: { code: 'xiaomi.99999', text: 'unknown code: quite new' },
      maxTries: 3,
    })
    expect(outcome(reply({ code: 99999 }))).toMatchObject({ reason: { text: 'unknown code' } })
  })

  const causes: [number, string | undefined][] = [
    [10018, 'too-large'],
    [10025, 'receipts'],
    [65037, 'receipts'],
    [65038, 'receipts'],
    [10029, 'one-target'],
    [27001, undefined],
  ]
  it.each(causes)('says how %i can be sent in another way: %s', (code, cause) => {
    expect(read(refusal(code)).cause).toBe(cause)
  })

  it('reports gone for 20301 only when the reason mentions targets', () => {
    expect(outcome(refusal(20301, 'No valid targets!')).kind).toBe('gone')
    expect(outcome(refusal(20301, 'invalid regid')).kind).toBe('gone')
    expect(outcome(refusal(20301, 'internal trouble')).kind).toBe('unavailable')
    expect(outcome(reply({ code: 20301 })).kind).toBe('unavailable')
  })

  it.each(['bad_regids', 'bad_regIds', 'badRegIds'])('splits a success by %s', (spelling) => {
    const result = classifySend(reply({ code: 0, data: { id: 'scm1', [spelling]: ' R2 ,,R3' } }), now)
    if ('whole' in result) throw new Error('not a partial success')
    expect(['R1', 'R2', 'R3', 'R4'].map((token) => result.outcomeOf(token).kind)).toEqual([
      'accepted',
      'gone',
      'gone',
      'accepted',
    ])
  })

  it('accepts a success without data', () => {
    expect(outcome(reply({ code: 0 })).kind).toBe('accepted')
  })
})

describe('xiaomi replies without an error code', () => {
  const statuses: [number, OutcomeKind][] = [
    [500, 'unavailable'],
    [502, 'unavailable'],
    [503, 'unavailable'],
    [429, 'throttled'],
    [401, 'unavailable'],
    [403, 'unavailable'],
    [404, 'unavailable'],
    [408, 'unavailable'],
    [400, 'unavailable'],
    [413, 'rejected'],
    [414, 'rejected'],
    [431, 'rejected'],
    [302, 'unavailable'],
  ]
  it.each(statuses)('reads HTTP %i as %s', (status, kind) => {
    const found = read(reply('<html>', status))
    expect(found.whole.kind).toBe(kind)
    expect(found.cause).toBe(kind === 'rejected' ? 'too-large' : undefined)
  })

  it('never closes a certificate because of an HTTP status', () => {
    for (let status = 300; status < 600; status++)
      for (const text of ['', '<html>', '{"code":21301}'])
        expect(outcome(reply(text, status)).kind).not.toBe('misconfigured')
  })

  it('reports Retry-After, in seconds or as a date', () => {
    expect(outcome(reply('', 429, { 'retry-after': '7' }))).toMatchObject({ retryAfter: 7 })
    const date = new Date(now + 90_000).toUTCString()
    expect(outcome(reply('', 503, { 'retry-after': date }))).toMatchObject({ retryAfter: 90 })
    for (const value of ['soon', '0', new Date(now - 1000).toUTCString()])
      expect(outcome(reply('', 503, { 'retry-after': value }))).not.toHaveProperty('retryAfter')
  })

  it.each(['<html>oops</html>', '[]', '{"result":"ok"}', '{"code":"zero"}', ''])(
    'reads %j as unavailable',
    (text) => {
      expect(outcome(reply(text)).kind).toBe('unavailable')
    },
  )
})

describe('xiaomi check', () => {
  it('distinguishes a refused secret from a temporary failure', () => {
    const kind = (answer: ReturnType<typeof reply>) => classifyCheck(answer, now).kind
    expect(kind(reply({ code: 0, data: {} }))).toBe('accepted')
    expect(kind(refusal(21301))).toBe('misconfigured')
    expect(kind(refusal(10033))).toBe('unavailable')
    expect(kind(refusal(99999))).toBe('unavailable')
    expect(kind(reply('', 500))).toBe('unavailable')
    expect(kind(refusal(22001))).toBe('misconfigured')
    expect(kind(refusal(27001))).toBe('unavailable')
    expect(kind(reply('', 401))).toBe('unavailable')
    expect(kind(reply('<html>', 403))).toBe('unavailable')
    expect(kind(reply('nonsense'))).toBe('unavailable')
  })
})
