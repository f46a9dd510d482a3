import { describe, expect, it } from '@jest/globals'
import { foldAttempt, ownReasons, type RecipientResult, sortResults } from '../src/index.ts'
import { judge, PATIENCE_SECONDS } from '../src/verdict.ts'

const trouble = { troubledFor: 0, unknownCodes: 0, now: 1_000_000, jitter: 1 }
const resultsOf = (...results: RecipientResult[]) => results
const why = (text: string) => ({ code: `fcm.${text}`, text })
const emptyPlan = { batches: [], inbox: [], unreachable: 0 }

describe('judge', () => {
  const rows: [Parameters<typeof judge>[0], object][] = [
    [
      { kind: 'gone', reason: why('r') },
      { do: 'nextChannel', reason: why('r') },
    ],
    [
      { kind: 'rejected', reason: why('r') },
      { do: 'nextChannel', reason: why('r') },
    ],
    [
      { kind: 'unsupported', reason: why('r') },
      { do: 'nextChannel', reason: why('r') },
    ],
    [
      { kind: 'throttled', reason: why('r'), retryAfter: 7 },
      { do: 'retry', wait: 7 },
    ],
    [
      { kind: 'unavailable', reason: why('r') },
      { do: 'retry', wait: 1 },
    ],
    [
      { kind: 'quota', reason: why('r'), until: 1_060_000 },
      { do: 'nextChannel', reason: why('r'), waitIfNone: 60 },
    ],
    [
      { kind: 'misconfigured', reason: why('r') },
      { do: 'nextChannel', reason: why('r'), waitIfNone: Infinity },
    ],
  ]
  it.each(rows)('%j → %j', (outcome, verdict) => {
    expect(judge(outcome, trouble)).toEqual(verdict)
  })

  it('moves to the next channel once the trouble has lasted long enough', () => {
    expect(
      judge(
        { kind: 'throttled', reason: why('r'), retryAfter: 7 },
        { ...trouble, troubledFor: PATIENCE_SECONDS },
      ),
    ).toEqual({ do: 'nextChannel', reason: why('r'), waitIfNone: 7 })
  })

  it('backs off from one second to a minute', () => {
    const waits = [0, 0.5, 2, 30, 61, 200].map((troubledFor) => {
      const verdict = judge({ kind: 'unavailable', reason: why('r') }, { ...trouble, troubledFor })
      return verdict.do === 'retry' && verdict.wait
    })
    expect(waits).toEqual([1, 1, 2, 30, 60, 60])
  })

  it('waits at least minWait, and longer as the trouble lasts', () => {
    const waitAfter = (troubledFor: number, jitter: number) =>
      judge({ kind: 'unavailable', reason: why('r'), minWait: 10 }, { ...trouble, troubledFor, jitter })
    expect(waitAfter(0, 0)).toEqual({ do: 'retry', wait: 10 })
    expect(waitAfter(0, 1)).toEqual({ do: 'retry', wait: 15 })
    expect(waitAfter(40, 1)).toEqual({ do: 'retry', wait: 40 })
  })

  it('does not wait for a Retry-After that exceeds the patience', () => {
    expect(judge({ kind: 'throttled', reason: why('r'), retryAfter: 3600 }, trouble)).toEqual({
      do: 'nextChannel',
      reason: why('r'),
      waitIfNone: 3600,
    })
  })
})

describe('a vendor’s reason and wait', () => {
  it('are made fit for Postgres', () => {
    const texts = ['nul \0 inside', `half a pair ${'x'.repeat(287)}\u{1f600}`, 'long '.repeat(2000)]
    const batch = { recipients: [1, 2, 3, 4], status: '....' }
    const sorted = sortResults(
      resultsOf(...texts.map((text) => ({ kind: 'rejected', reason: why(text) }) as const), {
        kind: 'throttled',
        reason: why('r'),
        retryAfter: Number.NaN,
      }),
      trouble,
    )
    const { reasons, wait } = foldAttempt(batch, sorted, emptyPlan)
    expect(reasons).toHaveLength(3)
    for (const value of reasons.flatMap(({ code, text }) => [code, text])) {
      expect(value.isWellFormed()).toBe(true)
      expect(value).not.toContain('\0')
      expect(value.length).toBeLessThanOrEqual(300)
    }
    expect(wait).toBe(60)
  })
})

describe('foldAttempt', () => {
  it('offers a recipient that waits without a time again if its other channel does not send either', () => {
    const waiting = sortResults(resultsOf({ kind: 'unsent', reason: why('closed') }), trouble)
    const one = { recipients: [10], status: '.' }
    expect(foldAttempt(one, waiting, emptyPlan)).toMatchObject({ pending: 1, wait: Infinity })
    expect(foldAttempt(one, waiting, { ...emptyPlan, otherUnavailable: new Set([10]) })).toMatchObject({
      pending: 1,
      wait: 300,
    })
  })

  const batch = { recipients: [11, 12, 13, 14, 15], status: '.....' }

  it('puts failed recipients into the inbox, and lets those wait that can still be sent to', () => {
    const sorted = sortResults(
      resultsOf(
        { kind: 'rejected', reason: why('bad') },
        { kind: 'misconfigured', reason: why('refused') },
        { kind: 'quota', reason: why('used up'), until: trouble.now + 60_000 },
      ),
      trouble,
    )
    const fold = foldAttempt(batch, sorted, { batches: [], inbox: [11, 12, 13], unreachable: 0 })
    expect(fold).toMatchObject({ status: 'm....', moved: 1, pending: 4, inbox: [11] })
  })

  it('writes one letter per recipient and counts them', () => {
    const sorted = sortResults(
      resultsOf(
        { kind: 'accepted' },
        { kind: 'gone', reason: why('dead') },
        { kind: 'rejected', reason: why('bad') },
        { kind: 'unavailable', reason: why('down') },
        { kind: 'ownerChanged' },
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
      { fate: 'expired', ...ownReasons.owner_changed, count: 1, samples: [15] },
      { fate: 'moved', ...why('dead'), count: 1, samples: [12] },
      { fate: 'failed', ...why('bad'), count: 1, samples: [13] },
    ])
    expect(fold.whys).toEqual([
      { f: 'expired', c: ownReasons.owner_changed.code, t: ownReasons.owner_changed.text, p: [4] },
      { f: 'pending', c: 'fcm.down', t: 'down', p: [3] },
      { f: 'moved', c: 'fcm.dead', t: 'dead', p: [1] },
      { f: 'failed', c: 'fcm.bad', t: 'bad', p: [2] },
    ])
    expect(sorted).toMatchObject({ answered: 2, gone: [{ index: 1 }], troubled: true })
  })

  it('says why recipients wait: the vendor, the governor, or a certificate that nothing else can replace', () => {
    const results = resultsOf(
      { kind: 'throttled', reason: why('slow') },
      { kind: 'deferred', reason: why('rate'), wait: 1 },
      { kind: 'unsent', reason: why('closed') },
      { kind: 'throttled', reason: why('slow') },
      { kind: 'accepted' },
    )
    const fold = foldAttempt(batch, sortResults(results, trouble), emptyPlan)
    expect(fold).toMatchObject({ status: '....s', reasons: [] })
    expect(fold.whys).toEqual([
      { f: 'pending', c: 'fcm.slow', t: 'slow', p: [0, 3] },
      { f: 'pending', c: 'fcm.rate', t: 'rate', p: [1] },
      { f: 'pending', c: 'fcm.closed', t: 'closed', p: [2] },
    ])
  })

  it('has nothing to say about a batch in which all were sent', () => {
    const results = resultsOf(...batch.recipients.map(() => ({ kind: 'accepted' }) as const))
    expect(foldAttempt(batch, sortResults(results, trouble), emptyPlan)).toMatchObject({
      whys: [],
      reasons: [],
    })
  })

  it('expires devices that were disabled', () => {
    const sorted = sortResults(resultsOf({ kind: 'disabled' }, { kind: 'accepted' }), trouble)
    const fold = foldAttempt(batch, sorted, emptyPlan)
    expect(fold).toMatchObject({ status: 'xs...', expired: 1, sent: 1, failed: 0 })
    expect(fold.reasons).toEqual([
      { fate: 'expired', ...ownReasons.device_disabled, count: 1, samples: [batch.recipients[0]] },
    ])
  })

  it('expires devices that were removed, without samples of them', () => {
    const sorted = sortResults(resultsOf({ kind: 'removed' }, { kind: 'accepted' }), trouble)
    const fold = foldAttempt(batch, sorted, emptyPlan)
    expect(fold).toMatchObject({ status: 'xs...', expired: 1, sent: 1, failed: 0 })
    expect(fold.reasons).toEqual([{ fate: 'expired', ...ownReasons.device_removed, count: 1, samples: [] }])
  })

  it('groups reasons by their codes and keeps the first text', () => {
    const rejected = (text: string) => ({ kind: 'rejected', reason: { code: 'fcm.X', text } }) as const
    const { reasons } = foldAttempt(
      batch,
      sortResults(resultsOf(rejected('one'), rejected('two')), trouble),
      emptyPlan,
    )
    expect(reasons).toEqual([{ fate: 'failed', code: 'fcm.X', text: 'one', count: 2, samples: [11, 12] }])
  })

  it('counts a recipient put into the inbox as moved', () => {
    const sorted = sortResults(resultsOf({ kind: 'rejected', reason: why('bad') }), trouble)
    expect(foldAttempt(batch, sorted, { batches: [], inbox: [11], unreachable: 0 })).toMatchObject({
      status: 'm....',
      moved: 1,
      failed: 0,
      inbox: [11],
    })
  })

  it('waits instead of failing when a quota or a certificate is the cause', () => {
    const sorted = sortResults(
      resultsOf(
        { kind: 'quota', reason: why('day'), until: 1_060_000 },
        { kind: 'misconfigured', reason: why('key') },
      ),
      trouble,
    )
    expect(foldAttempt(batch, sorted, emptyPlan)).toMatchObject({
      status: '.....',
      failed: 0,
      pending: 5,
      wait: 60,
    })
  })

  it('is not troubled when only the governor asks to wait', () => {
    const sorted = sortResults(resultsOf({ kind: 'deferred', reason: why('slow'), wait: 2.5 }), trouble)
    expect(sorted.troubled).toBe(false)
    expect(foldAttempt(batch, sorted, emptyPlan).wait).toBe(2.5)
  })

  it('retries after the short waits, not after the reset of the daily quota', () => {
    const sorted = sortResults(
      resultsOf(
        { kind: 'quota', reason: why('day'), until: 1_000_000 + 3_600_000 },
        { kind: 'throttled', reason: why('slow'), retryAfter: 3 },
        { kind: 'throttled', reason: why('slow'), retryAfter: 9 },
      ),
      trouble,
    )
    expect(foldAttempt(batch, sorted, emptyPlan).wait).toBe(9)
  })

  it.each([0, 150, PATIENCE_SECONDS])(
    'does not retry before the vendor’s Retry-After because the governor asks for less: after %i s of trouble',
    (troubledFor) => {
      const sorted = sortResults(
        resultsOf(
          { kind: 'throttled', reason: why('slow'), retryAfter: 200 },
          { kind: 'deferred', reason: why('rate'), wait: 1 },
        ),
        { ...trouble, troubledFor },
      )
      expect(foldAttempt(batch, sorted, emptyPlan).wait).toBe(200)
    },
  )

  it.each<[string, RecipientResult]>([
    ['a closed certificate', { kind: 'unsent', reason: why('closed') }],
    ['a long Retry-After', { kind: 'throttled', reason: why('slow'), retryAfter: 3600 }],
  ])('does not wait for recipients that are only offered to a closed channel again: %s', (_, one) => {
    const sorted = sortResults(resultsOf(one, { kind: 'deferred', reason: why('rate'), wait: 1 }), trouble)
    const plan = { ...emptyPlan, otherUnavailable: new Set([11]) }
    expect(foldAttempt(batch, sorted, plan).wait).toBe(1)
  })

  it('keeps the letters of earlier attempts', () => {
    const later = { recipients: [11, 12, 13], status: 's.f' }
    expect(
      foldAttempt(later, sortResults([undefined, { kind: 'accepted' }], trouble), emptyPlan).status,
    ).toBe('ssf')
  })
})

describe('a batch that waits for its certificate', () => {
  it('moves where there is another channel after the patience, and otherwise waits without a time', () => {
    const outcome = { kind: 'unavailable', reason: why('r') } as const
    expect(judge(outcome, { ...trouble, breakerOpenFor: PATIENCE_SECONDS - 1 })).toMatchObject({
      do: 'retry',
    })
    expect(judge(outcome, { ...trouble, breakerOpenFor: PATIENCE_SECONDS })).toEqual({
      do: 'nextChannel',
      reason: why('r'),
      waitIfNone: Infinity,
    })
    expect(judge(outcome, { ...trouble, breakerOpenFor: 1, troubledFor: PATIENCE_SECONDS })).toMatchObject({
      do: 'nextChannel',
      waitIfNone: 60,
    })
  })

  it('is retried at the earliest time if some of its recipients have one', () => {
    const batch = { recipients: [1, 2], status: '..' }
    const waitAfter = (...results: RecipientResult[]) =>
      foldAttempt(batch, sortResults(resultsOf(...results), trouble), emptyPlan).wait
    const unsent: RecipientResult = { kind: 'unsent', reason: why('closed') }
    expect(waitAfter(unsent, unsent)).toBe(Infinity)
    expect(waitAfter(unsent, { kind: 'deferred', reason: why('slow'), wait: 7 })).toBe(7)
  })

  it('is not in trouble: the vendor was not called', () => {
    const sorted = sortResults(resultsOf({ kind: 'unsent', reason: why('closed') }), trouble)
    expect(sorted).toMatchObject({ troubled: false, answered: 0 })
  })
})

describe('a Retry-After of the vendor', () => {
  it('does not shorten the pause of its documents', () => {
    const outcome = { kind: 'throttled', reason: why('r'), retryAfter: 1, minWait: 60 } as const
    expect(judge(outcome, { ...trouble, jitter: 0 })).toEqual({ do: 'retry', wait: 60 })
    expect(judge({ ...outcome, retryAfter: 90 }, { ...trouble, jitter: 0 })).toEqual({
      do: 'retry',
      wait: 90,
    })
  })
})

it('rejects after as many attempts as an unknown code allows', () => {
  const outcome = { kind: 'unavailable', reason: why('r'), maxTries: 3 } as const
  expect(judge(outcome, { ...trouble, unknownCodes: 1, jitter: 0 })).toEqual({ do: 'retry', wait: 20 })
  expect(judge(outcome, { ...trouble, unknownCodes: 2 })).toEqual({ do: 'nextChannel', reason: why('r') })
})

describe('an outcome that is rejected after a time', () => {
  const refused = { kind: 'unavailable', reason: why('refused'), maxSeconds: 600 } as const
  const unknown = { kind: 'unavailable', reason: why('unknown'), maxTries: 3 } as const

  it('does not use up the attempts of an unknown code', () => {
    expect(sortResults(resultsOf(refused), trouble)).toMatchObject({ troubled: true, unknownCode: false })
    expect(sortResults(resultsOf(refused, unknown), trouble)).toMatchObject({ unknownCode: true })
  })

  it('is not rejected by the attempts of an unknown code', () => {
    expect(judge(refused, { ...trouble, unknownCodes: 20 })).toMatchObject({ do: 'retry' })
  })

  it('moves to the next channel after the patience, and fails without one after ten minutes of trouble', () => {
    const batch = { recipients: [11], status: '.' }
    const foldAfter = (troubledFor: number) =>
      foldAttempt(batch, sortResults(resultsOf(refused), { ...trouble, troubledFor }), emptyPlan)
    expect(judge(refused, { ...trouble, troubledFor: PATIENCE_SECONDS - 1 })).toMatchObject({ do: 'retry' })
    expect(judge(refused, { ...trouble, troubledFor: PATIENCE_SECONDS })).toMatchObject({
      do: 'nextChannel',
      waitIfNone: 60,
    })
    expect(foldAfter(599)).toMatchObject({ status: '.', failed: 0, pending: 1 })
    const { status, failed, reasons } = foldAfter(600)
    expect({ status, failed, reasons }).toEqual({
      status: 'f',
      failed: 1,
      reasons: [{ fate: 'failed', ...why('refused'), count: 1, samples: [11] }],
    })
  })
})

it('lists the reasons of recipients that have ended in the same order, whatever the order of the recipients', () => {
  const batch = { recipients: [1, 2, 3, 4, 5, 6], status: '......' }
  const results = resultsOf(
    { kind: 'acknowledged' },
    { kind: 'superseded' },
    { kind: 'disabled' },
    { kind: 'removed' },
    { kind: 'ownerChanged' },
    { kind: 'deferred', reason: why('rate'), wait: 1 },
  )
  const fold = foldAttempt(batch, sortResults(results, trouble), emptyPlan)
  expect(fold).toMatchObject({ status: 'cxxxx.', expired: 4, cancelled: 1, pending: 1 })
  expect(fold.whys.map(({ f, c, p }) => [f, c, p])).toEqual([
    ['expired', ownReasons.owner_changed.code, [4]],
    ['expired', ownReasons.device_removed.code, [3]],
    ['expired', ownReasons.device_disabled.code, [2]],
    ['expired', ownReasons.newer_activity_update.code, [1]],
    ['cancelled', ownReasons.acknowledged_on_native.code, [0]],
    ['pending', 'fcm.rate', [5]],
  ])
  expect(fold.reasons.map(({ samples }) => samples)).toEqual([[5], [], [3], [2], [1]])
})
