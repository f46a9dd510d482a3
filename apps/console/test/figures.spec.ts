import { describe, expect, it } from '@jest/globals'
import { splitDuration } from '../src/figures/duration.ts'
import { expiryOf } from '../src/figures/expiry.ts'
import { formatIn, shorten } from '../src/figures/format.ts'
import { funnelOf, receivedShare } from '../src/figures/funnel.ts'
import { addSample, isQuiet, KEPT_SECONDS, ratesOf, type Sample } from '../src/figures/rates.ts'
import { doneOf, timeLeft, verbsOf } from '../src/figures/task-progress.ts'

const sample = (at: number, sent: number, received = 0, failed = 0): Sample => ({
  at,
  sent,
  received,
  failed,
})

describe('rates', () => {
  it('are differences of totals over the time between two readings', () => {
    expect(ratesOf([sample(10, 100, 50, 1), sample(12, 300, 70, 2), sample(16, 300, 70, 2)])).toEqual([
      { at: 12, sent: 100, received: 10, failed: 0.5 },
      { at: 16, sent: 0, received: 0, failed: 0 },
    ])
    expect(ratesOf([sample(10, 5)])).toEqual([])
  })

  it('are never negative, though the totals of a day shrink when it moves on', () => {
    expect(ratesOf([sample(10, 500), sample(12, 100)])[0]?.sent).toBe(0)
  })

  it('keep five minutes, and no reading twice', () => {
    const first = addSample([], sample(1, 0))
    expect(addSample(first, sample(1, 9))).toBe(first)
    expect(addSample(first, sample(0.5, 9))).toBe(first)
    const much = Array.from({ length: 400 }, (_, index) => sample(index * 2, index)).reduce(
      addSample,
      [] as readonly Sample[],
    )
    expect(much.at(-1)?.at).toBe(798)
    expect(much[0]!.at).toBeGreaterThan(798 - KEPT_SECONDS)
    expect(much.length).toBeGreaterThan(140)
  })

  it('are quiet when nothing moved', () => {
    expect(isQuiet([sample(1, 0), sample(2, 0)])).toBe(true)
    expect(isQuiet([sample(1, 0), sample(2, 0, 0, 0.1)])).toBe(false)
  })
})

describe('the funnel', () => {
  const counters = {
    task_id: 1,
    huawei_target: 10,
    huawei_sent: 8,
    huawei_received: 4,
    flyme_target: 20,
    flyme_sent: 0,
    flyme_received: 0,
    apns_target: 0,
    apns_sent: 0,
    apns_received: 0,
  }
  it('shows the channels that have a part, the largest first, and their sum', () => {
    const { rows, total } = funnelOf(counters)
    expect(rows.map(({ channel }) => channel)).toEqual(['flyme', 'huawei'])
    expect(total).toMatchObject({ target: 30, sent: 8, received: 4 })
  })
  it('is empty before anything is known', () => {
    expect(funnelOf(undefined)).toEqual({
      rows: [],
      total: { channel: '', target: 0, sent: 0, received: 0 },
    })
  })
  it('knows the share that was received of what was sent', () => {
    const [meizu, huawei] = funnelOf(counters).rows
    expect(receivedShare(meizu!)).toBeUndefined()
    expect(receivedShare(huawei!)).toBe(0.5)
    // A receipt may come before its send is counted.
    expect(receivedShare({ channel: 'x', target: 2, sent: 1, received: 2 })).toBe(1)
  })
})

describe('a task', () => {
  it.each([
    ['sending', ['pause', 'cancel']],
    ['scheduled', ['pause', 'cancel']],
    ['paused', ['resume', 'cancel']],
    ['cancelling', []],
    ['finished', []],
    ['cancelled', []],
  ])('that is %s can be changed by %j', (state, verbs) => {
    expect(verbsOf({ state })).toEqual(verbs)
  })

  it.each([
    ['sending', 12.5, { kind: 'seconds', seconds: 12.5 }],
    ['sending', null, { kind: 'unknown' }],
    ['scheduled', 0, { kind: 'unknown' }],
    ['paused', 12, { kind: 'paused' }],
    ['finished', null, { kind: 'done' }],
  ])('that is %s with an eta of %j has %j left', (state, eta, left) => {
    expect(timeLeft({ state, eta })).toEqual(left)
  })

  it('is done as far as nothing is pending', () => {
    expect(doneOf({ target: 10, pending: 4 })).toBe(6)
    expect(doneOf({ target: 0, pending: 0 })).toBe(0)
    expect(doneOf({ target: 3, pending: 5 })).toBe(0)
  })
})

describe('durations', () => {
  it.each([
    [0, []],
    [-3, []],
    [0.2, [['s', 1]]],
    [59, [['s', 59]]],
    [60, [['m', 1]]],
    [
      3661,
      [
        ['h', 1],
        ['m', 1],
      ],
    ],
    [3601, [['h', 1]]],
    [
      200_000,
      [
        ['d', 2],
        ['h', 7],
      ],
    ],
  ])('of %d seconds have at most two units', (seconds, parts) => {
    expect(splitDuration(seconds).map(({ unit, n }) => [unit, n])).toEqual(parts)
  })
})

describe('expiry', () => {
  const day = 86_400
  it.each([
    [null, { kind: 'never' }],
    [1000, { kind: 'expired', days: 0 }],
    [1000 - day, { kind: 'expired', days: -1 }],
    [1000 + 29 * day, { kind: 'soon', days: 29 }],
    [1000 + 31 * day, { kind: 'fine', days: 31 }],
  ])('of %j is told from now on', (expiresAt, expiry) => {
    expect(expiryOf(expiresAt, 1000)).toEqual(expiry)
  })
})

it('numbers and times are in the words of the language', () => {
  expect(formatIn('en').number(1234567.89)).toBe('1,234,567.9')
  expect(formatIn('en').percent(0.9231)).toBe('92.3%')
  expect(formatIn('zh').time(0)).toContain('1970年')
  expect(formatIn('en').time(null)).toBe('')
})

it('secrets are shortened, short ones are left as they are', () => {
  expect(shorten('abcdefghijklmnopqrstuvwxyz')).toBe('abcdef…uvwxyz')
  expect(shorten('abc')).toBe('abc')
})
