import { describe, expect, it } from '@jest/globals'
import { type Answer, foldAttempt, type Outcome, sortAnswers } from '../src/index.ts'
import { judge, patience } from '../src/verdict.ts'

const trouble = { troubledFor: 0, now: 1_000_000, jitter: 1 }
const answersOf = (...answers: Answer[]) => new Map(answers.map((answer, index) => [index, answer]))
const nobody = { batches: [], inbox: [], unreachable: 0 }

describe('judge', () => {
  const rows: [Outcome, object][] = [
    [{ kind: 'accepted' }, { do: 'sent' }],
    [
      { kind: 'gone', reason: 'r' },
      { do: 'next', reason: 'r' },
    ],
    [
      { kind: 'rejected', reason: 'r' },
      { do: 'next', reason: 'r' },
    ],
    [
      { kind: 'unsupported', reason: 'r' },
      { do: 'next', reason: 'r' },
    ],
    [
      { kind: 'throttled', reason: 'r', retryAfter: 7 },
      { do: 'again', wait: 7 },
    ],
    [
      { kind: 'unavailable', reason: 'r' },
      { do: 'again', wait: 1 },
    ],
    [
      { kind: 'quota', reason: 'r', until: 1_060_000 },
      { do: 'next', reason: 'r', elseWait: 60 },
    ],
    [
      { kind: 'misconfigured', reason: 'r' },
      { do: 'next', reason: 'r', elseWait: 0 },
    ],
  ]
  it.each(rows)('%j → %j', (outcome, verdict) => {
    expect(judge(outcome, trouble)).toEqual(verdict)
  })

  it('gives the next channel its turn once the trouble has lasted', () => {
    expect(
      judge({ kind: 'throttled', reason: 'r', retryAfter: 7 }, { ...trouble, troubledFor: patience }),
    ).toEqual({
      do: 'next',
      reason: 'r',
      elseWait: 7,
    })
  })

  it('backs off from one second to a minute', () => {
    const waits = [0, 0.5, 2, 30, 61, 200].map((troubledFor) => {
      const verdict = judge({ kind: 'unavailable', reason: 'r' }, { ...trouble, troubledFor })
      return verdict.do === 'again' && verdict.wait
    })
    expect(waits).toEqual([1, 1, 2, 30, 60, 60])
  })

  it('waits at least as long as the vendor wants, and longer as the trouble lasts', () => {
    const waitAfter = (troubledFor: number, jitter: number) =>
      judge({ kind: 'unavailable', reason: 'r', atLeast: 10 }, { ...trouble, troubledFor, jitter })
    expect(waitAfter(0, 0)).toEqual({ do: 'again', wait: 10 })
    expect(waitAfter(0, 1)).toEqual({ do: 'again', wait: 15 })
    expect(waitAfter(40, 1)).toEqual({ do: 'again', wait: 40 })
  })

  it('does not wait for a Retry-After that ends after patience does', () => {
    expect(judge({ kind: 'throttled', reason: 'r', retryAfter: 3600 }, trouble)).toEqual({
      do: 'next',
      reason: 'r',
      elseWait: 3600,
    })
  })
})

describe('what vendors say', () => {
  it('is written as Postgres can keep it, however it is worded or timed', () => {
    const words = ['nul \0 inside', `half a pair ${'x'.repeat(287)}\u{1f600}`, 'long '.repeat(2000)]
    const batch = { recipients: [1, 2, 3, 4], status: '....' }
    const sorted = sortAnswers(
      answersOf(...words.map((reason) => ({ kind: 'rejected', reason }) as const), {
        kind: 'throttled',
        reason: 'r',
        retryAfter: Number.NaN,
      }),
      trouble,
    )
    const { reasons, wait } = foldAttempt(batch, sorted, { batches: [], inbox: [], unreachable: 0 })
    expect(reasons).toHaveLength(3)
    for (const { reason } of reasons) {
      expect(reason.isWellFormed()).toBe(true)
      expect(reason).not.toContain('\0')
      expect(reason.length).toBeLessThanOrEqual(300)
    }
    expect(wait).toBe(60)
  })
})

describe('foldAttempt', () => {
  const batch = { recipients: [11, 12, 13, 14, 15], status: '.....' }

  it('puts into the inbox who failed, and lets who can still be sent to wait', () => {
    const sorted = sortAnswers(
      answersOf(
        { kind: 'rejected', reason: 'bad' },
        { kind: 'misconfigured', reason: 'refused' },
        { kind: 'quota', reason: 'used up', until: trouble.now + 60_000 },
      ),
      trouble,
    )
    const fold = foldAttempt(batch, sorted, { batches: [], inbox: [11, 12, 13], unreachable: 0 })
    expect(fold).toMatchObject({ status: 'm....', moved: 1, pending: 4, inbox: [11] })
  })

  it('writes one letter a recipient and counts them', () => {
    const sorted = sortAnswers(
      answersOf(
        { kind: 'accepted' },
        { kind: 'gone', reason: 'dead' },
        { kind: 'rejected', reason: 'bad' },
        { kind: 'unavailable', reason: 'down' },
        { kind: 'left' },
      ),
      trouble,
    )
    const fold = foldAttempt(batch, sorted, {
      batches: [{ channel: 'fcm', recipients: [12], tried: ['huawei'] }],
      inbox: [],
      unreachable: 1,
    })
    expect(fold).toMatchObject({
      status: 'smf.x',
      pending: 1,
      wait: 1,
      sent: 1,
      moved: 1,
      failed: 1,
      expired: 1,
    })
    expect(fold.reasons).toEqual([
      { fate: 'expired', reason: 'the device belongs to another user now', count: 1, samples: [15] },
      { fate: 'moved', reason: 'dead', count: 1, samples: [12] },
      { fate: 'failed', reason: 'bad', count: 1, samples: [13] },
    ])
    expect(sorted).toMatchObject({ answered: 2, gone: [{ index: 1 }], troubled: true })
  })

  it('moves to the inbox counts as moved', () => {
    const sorted = sortAnswers(answersOf({ kind: 'rejected', reason: 'bad' }), trouble)
    expect(foldAttempt(batch, sorted, { batches: [], inbox: [11], unreachable: 0 })).toMatchObject({
      status: 'm....',
      moved: 1,
      failed: 0,
      inbox: [11],
    })
  })

  it('waits instead of failing while a quota or a certificate may come back', () => {
    const sorted = sortAnswers(
      answersOf({ kind: 'quota', reason: 'day', until: 1_060_000 }, { kind: 'misconfigured', reason: 'key' }),
      trouble,
    )
    expect(foldAttempt(batch, sorted, nobody)).toMatchObject({
      status: '.....',
      failed: 0,
      pending: 5,
      wait: 60,
    })
  })

  it('is not in trouble when only the governor asks to wait', () => {
    const sorted = sortAnswers(answersOf({ kind: 'held', wait: 2.5 }), trouble)
    expect(sorted.troubled).toBe(false)
    expect(foldAttempt(batch, sorted, nobody).wait).toBe(2.5)
  })

  it('lets a short wait go before the reset of a day', () => {
    const sorted = sortAnswers(
      answersOf(
        { kind: 'quota', reason: 'day', until: 1_000_000 + 3_600_000 },
        { kind: 'throttled', reason: 'slow', retryAfter: 3 },
        { kind: 'throttled', reason: 'slow', retryAfter: 9 },
      ),
      trouble,
    )
    expect(foldAttempt(batch, sorted, nobody).wait).toBe(9)
  })

  it('keeps the letters of earlier attempts', () => {
    const later = { recipients: [11, 12, 13], status: 's.f' }
    expect(
      foldAttempt(later, sortAnswers(new Map([[1, { kind: 'accepted' }]]), trouble), nobody).status,
    ).toBe('ssf')
  })
})
