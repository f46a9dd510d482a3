import type { OutcomeKind } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { classifyAuth, classifySend } from '../../src/oppo/classify.ts'

// According to https://open.oppomobile.com/new/developmentDoc/info?id=11235 (return codes).

const now = Date.parse('2025-10-09T16:53:20+08:00')
const midnight = Date.parse('2025-10-10T00:00:00+08:00')

const reply = (body: unknown, status = 200, headers: Record<string, string> = {}) => ({
  status,
  headers,
  text: typeof body === 'string' ? body : JSON.stringify(body),
})
const refusal = (code: number | string, message = 'words') => reply({ code, message })
const read = (answer: ReturnType<typeof reply>, classFrom: 'message' | 'certificate' = 'certificate') => {
  const result = classifySend(answer, { classFrom, nowMs: now })
  return 'whole' in result ? result.whole : result.resultOf('T1')
}

const table: [OutcomeKind, string | undefined, number[]][] = [
  ['accepted', undefined, [0, 32]],
  ['gone', 'target', [10000]],
  ['unavailable', 'expired', [11, 29]],
  ['unavailable', undefined, [-1]],
  ['throttled', undefined, [-2, 13, 55]],
  ['quota', undefined, [33]],
  ['rejected', 'picture', [34, 51]],
  ['rejected', undefined, [31, 41, 40, 25]],
  ['misconfigured', undefined, [54, 67, 59]],
  ['misconfigured', undefined, [12, 20, 21, 22, 23, 24]],
  ['misconfigured', undefined, [14, 15, 16, 17, 18, 19]],
  ['misconfigured', undefined, [26, 27, 28, 30]],
  ['rejected', undefined, [10001, 15000, 20000, 99999, 35]],
]

describe('oppo return codes', () => {
  it.each(table.flatMap(([kind, cause, codes]) => codes.map((code) => [code, kind, cause] as const)))(
    'reads %i as %s',
    (code, kind, cause) => {
      const reading = read(refusal(code))
      expect(reading.outcome.kind).toBe(kind)
      expect(reading.cause).toBe(cause)
      if (kind !== 'accepted') expect(reading.outcome).toMatchObject({ reason: { code: `oppo.${code}` } })
    },
  )

  it('accepts a code that is a string', () => {
    expect(read(refusal('13')).outcome.kind).toBe('throttled')
  })

  it('ends the daily limit at midnight in Shanghai', () => {
    expect(read(refusal(33)).outcome).toEqual({
      kind: 'quota',
      reason: { code: 'oppo.33', text: 'daily message limit' },
      until: midnight,
    })
  })

  it('reports a refused class as an error of the message or the certificate', () => {
    for (const code of [54, 67]) {
      expect(read(refusal(code), 'certificate').outcome.kind).toBe('misconfigured')
      expect(read(refusal(code), 'message').outcome.kind).toBe('rejected')
    }
  })

  it.each(['Invalid registration_id', 'registrationId illegal', 'bad target_value'])(
    'reads 41 with %j as a dead target',
    (message) => {
      expect(read(refusal(41, message))).toEqual({
        outcome: {
          kind: 'gone',
          reason: { code: 'oppo.41.registration_id', text: 'registration id refused' },
        },
        cause: 'target',
      })
    },
  )

  it('splits a batch by its entries, in any order', () => {
    const result = classifySend(
      reply({
        code: 0,
        message: 'Success',
        data: [
          {
            messageId: 'm3',
            registrationId: 'T3',
            errorCode: 10000,
            errorMessage: 'Invalid Registration_id',
          },
          { messageId: 'm1', registrationId: 'T1' },
          { messageId: 'm2', registrationId: 'T2', errorCode: '13', errorMessage: 'App Call Limited' },
          null,
        ],
      }),
      { classFrom: 'certificate', nowMs: now },
    )
    if ('whole' in result) throw new Error('not split')
    const kinds = ['T1', 'T2', 'T3', 'T4'].map((token) => result.resultOf(token).outcome.kind)
    expect(kinds).toEqual(['accepted', 'throttled', 'gone', 'accepted'])
  })

  it.each([{ messageId: 'm' }, null, undefined])('uses only the code when data is %j', (data) => {
    expect(read(reply({ code: 0, message: 'Success', data })).outcome.kind).toBe('accepted')
  })
})

describe('oppo replies without a return code', () => {
  const statuses: [number, OutcomeKind][] = [
    [500, 'unavailable'],
    [503, 'unavailable'],
    [429, 'throttled'],
    [400, 'misconfigured'],
    [401, 'misconfigured'],
    [404, 'misconfigured'],
    [301, 'unavailable'],
  ]
  it.each(statuses)('reads HTTP %i as %s', (status, kind) => {
    expect(read(reply('<html>', status)).outcome.kind).toBe(kind)
  })

  it('reports Retry-After', () => {
    expect(read(reply('', 429, { 'retry-after': '7' })).outcome).toMatchObject({ retryAfter: 7 })
  })

  it.each(['<html>', '[]', '{"message":"x"}', ''])('reads %j as unavailable', (text) => {
    expect(read(reply(text)).outcome.kind).toBe('unavailable')
  })
})

describe('oppo auth replies', () => {
  const cases: [number, OutcomeKind][] = [
    [14, 'misconfigured'],
    [15, 'misconfigured'],
    [16, 'misconfigured'],
    [17, 'misconfigured'],
    [18, 'misconfigured'],
    [19, 'misconfigured'],
    [28, 'misconfigured'],
    [11, 'misconfigured'],
    [41, 'misconfigured'],
    [99999, 'misconfigured'],
    [-1, 'unavailable'],
    [-2, 'throttled'],
    [13, 'throttled'],
  ]
  it.each(cases)('reads %i as %s', (code, kind) => {
    expect(classifyAuth(refusal(code), now).kind).toBe(kind)
  })

  it('reads a reply without a token as unavailable', () => {
    expect(classifyAuth(reply({ code: 0, data: {} }), now).kind).toBe('unavailable')
    expect(classifyAuth(reply('<html>', 502), now).kind).toBe('unavailable')
  })
})
