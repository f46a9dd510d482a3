import type { RecipientResult } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import type { Attempt } from '../src/attempt.ts'
import { createSilenceCounter, evidenceOf } from '../src/vendor-silence.ts'

const reason = { code: 'fcm.r', text: 'r' }
const silent: RecipientResult = { kind: 'unavailable', reason }
const attemptWith = (...results: RecipientResult[]) =>
  ({
    targets: results.map((_, index) => ({ index })),
    results,
  }) as unknown as Attempt

describe('what the calls of a job tell about the vendor', () => {
  it.each<[string, RecipientResult[], unknown]>([
    ['all calls failed', [silent, silent], { kind: 'silence', outcome: silent }],
    [
      'the longest wish',
      [silent, { ...silent, retryAfter: 9 }],
      { kind: 'silence', outcome: { ...silent, retryAfter: 9 } },
    ],
    ['one was accepted', [silent, { kind: 'accepted' }], { kind: 'answer', trusted: true }],
    ['a token is dead', [silent, { kind: 'gone', reason }], { kind: 'answer', trusted: true }],
    ['one was rejected', [silent, { kind: 'rejected', reason }], { kind: 'answer', trusted: false }],
    ['a quota is used up', [{ kind: 'quota', reason, until: 1 }], { kind: 'answer', trusted: false }],
    ['an unknown code', [{ ...silent, maxTries: 3 }], { kind: 'answer', trusted: false }],
    ['a refused version', [{ ...silent, maxSeconds: 600 }], { kind: 'answer', trusted: false }],
    [
      'a stored refusal is no call',
      [{ kind: 'rejected', reason, held: true }, silent],
      { kind: 'silence', outcome: silent },
    ],
    ['only stored refusals', [{ kind: 'quota', reason, until: 1, held: true }], undefined],
    ['one was throttled', [silent, { kind: 'throttled', reason }], undefined],
    ['the governor deferred all', [{ kind: 'deferred', reason, wait: 1 }], undefined],
    ['no call', [], undefined],
  ])('%s', (_, results, evidence) => {
    expect(evidenceOf([attemptWith(...results)])).toEqual(evidence)
  })

  it('ignores results of recipients that were not sent to', () => {
    const attempt = { ...attemptWith(silent), targets: [] }
    expect(evidenceOf([attempt])).toBeUndefined()
  })
})

describe('counting jobs without an answer', () => {
  it('begins again when other processes got answers, also those that were written late', () => {
    const counter = createSilenceCounter()
    expect([1, 2, 3].map(() => counter.silent(1, 'a', 5))).toEqual([false, false, true])
    expect(counter.wasAnswered(1, 'a', 5)).toBe(false)
    expect(counter.wasAnswered(1, 'a', 6)).toBe(true)
    expect([1, 2, 3].map(() => counter.silent(1, 'a', 6))).toEqual([false, false, true])
    // The vendor answered this process while it waited.
    counter.answered(1, 'a')
    expect(counter.wasAnswered(1, 'a', 6)).toBe(true)
  })

  it('opens at the third in a row of a certificate', () => {
    const counter = createSilenceCounter()
    expect([1, 2, 3, 4].map(() => counter.silent(1, 'a', 0))).toEqual([false, false, true, true])
  })

  it('starts again when other processes got answers: then this one has lost its network', () => {
    const counter = createSilenceCounter()
    const answers = [5, 5, 6, 6, 7, 7, 7]
    expect(answers.map((count) => counter.silent(1, 'a', count))).toEqual([...Array(6).fill(false), true])
  })

  it('starts again at the address too when other processes got answers', () => {
    const counter = createSilenceCounter()
    for (const id of [1, 2, 3, 4, 5]) counter.silent(id, 'a', 0)
    expect(counter.silent(1, 'a', 1)).toBe(false)
    expect(counter.silent(6, 'a', 0)).toBe(false)
  })

  it('opens at the first of a certificate when the last five of its address had no answer', () => {
    const counter = createSilenceCounter()
    expect([1, 2, 3, 4, 5].map((id) => counter.silent(id, 'a', 0))).toEqual(Array(5).fill(false))
    expect(counter.silent(6, 'another', 0)).toBe(false)
    expect(counter.silent(7, 'a', 0)).toBe(true)
    counter.answered(8, 'a')
    expect(counter.silent(9, 'a', 0)).toBe(false)
  })
})
