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
const read = (answer: ReturnType<typeof reply>) => {
  const result = classifySend(answer, now)
  return 'whole' in result ? result.whole : result.resultOf('T1')
}

const table: [OutcomeKind, string | undefined, number[]][] = [
  ['accepted', undefined, [0, 32]],
  ['gone', 'target', [10000]],
  ['unavailable', 'expired', [11, 29, 14, 16]],
  ['unavailable', undefined, [-1, 19, 26, 500, 503, 599]],
  ['throttled', undefined, [-2, 13, 55]],
  ['quota', undefined, [33]],
  ['rejected', 'picture', [34, 51]],
  ['rejected', 'level', [67]],
  ['rejected', 'add-ons', [27, 59]],
  ['rejected', undefined, [54, 31, 41, 40, 25, 12, 20, 21, 22, 23, 24, 15, 17, 18]],
  ['misconfigured', undefined, [28, 30]],
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

  it.each([10001, 15000, 20000, 99999, 35, 499, 600])(
    'tries %i, which no table contains, three times, with the vendor’s words in the reason',
    (code) => {
      expect(read(refusal(code, 'quite new'))).toEqual({
        outcome: {
          kind: 'unavailable',
          reason: { code: `oppo.${code}`, text: 'unknown code: quite new' },
          maxTries: 3,
        },
      })
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

  it.each([
    ['2025-10-10T00:00:02+08:00', '2025-10-10T00:02:02+08:00'],
    ['2025-10-10T00:11:00+08:00', '2025-10-11T00:00:00+08:00'],
  ])('ends the daily limit, refused at %s, at %s', (at, until) => {
    expect(classifySend(refusal(33), Date.parse(at))).toMatchObject({
      whole: { outcome: { kind: 'quota', until: Date.parse(until) } },
    })
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
          { messageId: 'm5', registrationId: 'T5', errorCode: 28, errorMessage: 'App Disabled' },
          null,
        ],
      }),
      now,
    )
    if ('whole' in result) throw new Error('not split')
    const kinds = ['T1', 'T2', 'T3', 'T4', 'T5'].map((token) => result.resultOf(token).outcome.kind)
    expect(kinds).toEqual(['accepted', 'throttled', 'gone', 'accepted', 'rejected'])
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
    [400, 'unavailable'],
    [403, 'unavailable'],
    [404, 'unavailable'],
    [405, 'unavailable'],
    [408, 'unavailable'],
    [301, 'unavailable'],
  ]
  it.each(statuses)('reads HTTP %i as %s', (status, kind) => {
    expect(read(reply('<html>', status))).toMatchObject({ outcome: { kind } })
    expect(read(reply('<html>', status)).cause).toBeUndefined()
  })

  it('refreshes the token after 401, and halves a batch that is too large', () => {
    expect(read(reply('', 401))).toMatchObject({ outcome: { kind: 'unavailable' }, cause: 'expired' })
    for (const status of [413, 414, 431])
      expect(read(reply('', status))).toMatchObject({ outcome: { kind: 'rejected' }, cause: 'too-large' })
  })

  it('never closes a certificate because of an HTTP status', () => {
    for (let status = 300; status < 600; status++)
      for (const text of ['', '<html>', '{"code":28}'])
        for (const outcome of [read(reply(text, status)).outcome, classifyAuth(reply(text, status), now)])
          expect(outcome.kind).not.toBe('misconfigured')
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
    [16, 'misconfigured'],
    [28, 'misconfigured'],
    [30, 'misconfigured'],
    [19, 'unavailable'],
    [26, 'unavailable'],
    [-1, 'unavailable'],
    [-2, 'throttled'],
    [13, 'throttled'],
    [33, 'quota'],
  ]
  it.each(cases)('reads %i as %s', (code, kind) => {
    const outcome = classifyAuth(refusal(code), now)
    expect(outcome).toMatchObject({ kind, reason: { code: `oppo.${code}` } })
    expect(outcome).not.toHaveProperty('maxTries')
  })

  it.each([11, 12, 15, 17, 18, 27, 29, 41, 10000, 99999])('tries three times after %i', (code) => {
    expect(classifyAuth(refusal(code), now)).toMatchObject({
      kind: 'unavailable',
      maxTries: 3,
      reason: { code: `oppo.${code}` },
    })
  })

  it('reads a reply without a token as unavailable', () => {
    expect(classifyAuth(reply({ code: 0, data: {} }), now).kind).toBe('unavailable')
    expect(classifyAuth(reply('<html>', 502), now).kind).toBe('unavailable')
  })
})
