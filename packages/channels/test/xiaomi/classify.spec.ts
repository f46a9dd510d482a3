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

const outcome = (
  answer: ReturnType<typeof reply>,
  channelFrom: 'message' | 'certificate' = 'certificate',
) => {
  const result = classifySend(answer, channelFrom, now)
  return 'noValidTarget' in result ? result.noValidTarget : result.outcomeOf('R1')
}

const table: [OutcomeKind, number[]][] = [
  ['gone', [10029]],
  ['unavailable', [65003, -1, 1, 10001, 10002, 10003, 20607, 22102, 26003, 65029, 10037]],
  ['throttled', [10027, 26004, 200002]],
  ['quota', [200001, 10034]],
  ['rejected', [10008, 10012, 10016, 10017, 21305, 65011, 65030, 65009, 65014, 65015, 65036]],
  ['rejected', [20209, 20215, 20216, 20315, 65006, 65007, 65008, 65010, 65012, 65013, 65016, 65017, 65035]],
  [
    'misconfigured',
    [65037, 65038, 21301, 21302, 21303, 22000, 22006, 22007, 22022, 66108, 10031, 10036, 26006],
  ],
  ['misconfigured', [27001]],
  ['rejected', [10030, 10032, 10033, 10035, 10038, 10039, 65028]],
  ['rejected', [99999]],
]

describe('xiaomi error codes', () => {
  it.each(table.flatMap(([kind, codes]) => codes.map((code) => [code, kind] as const)))(
    'reads %i as %s, with the code in the reason',
    (code, kind) => {
      const read = outcome(refusal(code))
      expect(read.kind).toBe(kind)
      expect(read).toMatchObject({ reason: { code: `xiaomi.${code}`, text: expect.stringMatching(/^\w/) } })
    },
  )

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

  it('reports a refused channel as an error of the message or the certificate', () => {
    expect(outcome(refusal(27001), 'certificate').kind).toBe('misconfigured')
    expect(outcome(refusal(27001), 'message').kind).toBe('rejected')
  })

  it('reports gone for 20301 only when the reason mentions targets', () => {
    expect(outcome(refusal(20301, 'No valid targets!')).kind).toBe('gone')
    expect(outcome(refusal(20301, 'invalid regid')).kind).toBe('gone')
    expect(outcome(refusal(20301, 'internal trouble')).kind).toBe('unavailable')
    expect(outcome(reply({ code: 20301 })).kind).toBe('unavailable')
  })

  it.each(['bad_regids', 'bad_regIds', 'badRegIds'])('splits a success by %s', (spelling) => {
    const result = classifySend(
      reply({ code: 0, data: { id: 'scm1', [spelling]: ' R2 ,,R3' } }),
      'certificate',
      now,
    )
    if ('noValidTarget' in result) throw new Error('not a partial success')
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
    [401, 'misconfigured'],
    [403, 'misconfigured'],
    [400, 'rejected'],
    [413, 'rejected'],
    [302, 'unavailable'],
  ]
  it.each(statuses)('reads HTTP %i as %s', (status, kind) => {
    expect(outcome(reply('<html>', status)).kind).toBe(kind)
  })

  it('reports Retry-After, in seconds or as a date', () => {
    expect(outcome(reply('', 429, { 'retry-after': '7' }))).toMatchObject({ retryAfter: 7 })
    const date = new Date(now + 90_000).toUTCString()
    expect(outcome(reply('', 503, { 'retry-after': date }))).toMatchObject({ retryAfter: 90 })
    expect(outcome(reply('', 503, { 'retry-after': 'soon' }))).not.toHaveProperty('retryAfter')
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
    expect(kind(reply('', 401))).toBe('misconfigured')
    expect(kind(reply('nonsense'))).toBe('unavailable')
  })
})
