import { describe, expect, it } from '@jest/globals'
import {
  foldAttempt,
  foldNative,
  type NativeResult,
  ownReasons,
  type Plan,
  type Strategy,
  sortResults,
} from '../src/index.ts'

const emptyPlan: Plan = { batches: [], inbox: [], unreachable: 0 }
const vendor = (...recipients: number[]): Plan => ({
  ...emptyPlan,
  batches: [{ channel: 'oppo', certificateId: 3, recipients, tried: [] }],
})
const otherGateway = (...recipients: number[]): Plan => ({
  ...emptyPlan,
  batches: [{ channel: 'native', node: 'b', recipients, tried: [] }],
})
const inbox = (...ids: number[]): Plan => ({ ...emptyPlan, inbox: ids })

type Case = {
  result: NativeResult
  plan: Plan
  strategy: Strategy
  letter: string
  row: string
  ack?: number
  store?: boolean
}

describe('the result of one recipient of a native batch', () => {
  const cases: Case[] = [
    { result: 'acknowledged', strategy: 'combined', plan: emptyPlan, letter: 's', row: 'none' },
    { result: 'written', strategy: 'combined', plan: emptyPlan, letter: 's', row: 'sent, vendor in 10 s' },
    { result: 'written', strategy: 'combined', ack: 0, plan: emptyPlan, letter: 's', row: 'sent' },
    { result: 'written', strategy: 'nativepush_only', plan: emptyPlan, letter: 's', row: 'sent' },
    { result: 'written', strategy: 'combined', store: false, plan: emptyPlan, letter: 's', row: 'none' },
    {
      result: 'unwritten',
      strategy: 'combined',
      plan: otherGateway(7),
      letter: 'i',
      row: 'pending, vendor in 10 s',
    },
    {
      result: 'unwritten',
      strategy: 'combined',
      ack: 0,
      plan: otherGateway(7),
      letter: 'i',
      row: 'pending, vendor in 10 s',
    },
    { result: 'unwritten', strategy: 'nativepush_only', plan: otherGateway(7), letter: 'i', row: 'pending' },
    { result: 'unwritten', strategy: 'combined', plan: vendor(7), letter: 'm', row: 'none' },
    { result: 'unwritten', strategy: 'combined', plan: inbox(7), letter: 'i', row: 'pending' },
    { result: 'unwritten', strategy: 'nativepush_only', plan: inbox(7), letter: 'i', row: 'pending' },
    {
      result: 'unwritten',
      strategy: 'nativepush_only',
      store: false,
      plan: emptyPlan,
      letter: 'x',
      row: 'none',
    },
    { result: 'ownerChanged', strategy: 'combined', plan: vendor(7), letter: 'x', row: 'none' },
    { result: 'removed', strategy: 'combined', plan: vendor(7), letter: 'x', row: 'none' },
    { result: 'disabled', strategy: 'combined', plan: vendor(7), letter: 'x', row: 'none' },
  ]
  it.each(cases)('$result under $strategy → $letter, inbox row: $row', (one) => {
    const fold = foldNative({ recipients: [7], status: '.' }, new Map([[0, one.result]]), one.plan, {
      strategy: one.strategy,
      mayStore: one.store ?? true,
      ackSeconds: one.ack ?? 10,
    })
    const [row] = fold.inbox
    const shown = row
      ? `${row.sent ? 'sent' : 'pending'}${row.fallbackIn === null ? '' : `, vendor in ${row.fallbackIn} s`}`
      : 'none'
    expect([fold.status, shown]).toEqual([one.letter, one.row])
    // The recipient is counted exactly once.
    const pending = fold.inbox.filter(({ sent }) => !sent).flatMap(({ recipients }) => recipients).length
    expect(fold.sent + fold.moved + fold.expired + pending).toBe(1)
  })

  it('returns the vendor batches and the reasons of a whole batch', () => {
    const results: NativeResult[] = ['written', 'acknowledged', 'unwritten', 'unwritten', 'ownerChanged']
    const fold = foldNative(
      { recipients: [1, 2, 3, 4, 5, 6], status: '.....s' },
      new Map(results.entries()),
      { ...vendor(3), inbox: [4] },
      { strategy: 'combined', mayStore: true, ackSeconds: 10 },
    )
    expect(fold).toEqual({
      status: 'ssmixs',
      sent: 2,
      moved: 1,
      expired: 1,
      acknowledged: [2],
      inbox: [
        { recipients: [1], sent: true, fallbackIn: 10 },
        { recipients: [4], sent: false, fallbackIn: null },
      ],
      fallback: vendor(3).batches,
      reasons: [
        { fate: 'moved', ...ownReasons.device_disconnected, count: 1, samples: [3] },
        { fate: 'expired', ...ownReasons.owner_changed, count: 1, samples: [5] },
      ],
      whys: [
        {
          f: 'moved',
          c: ownReasons.device_disconnected.code,
          t: ownReasons.device_disconnected.text,
          p: [2],
        },
        { f: 'expired', c: ownReasons.owner_changed.code, t: ownReasons.owner_changed.text, p: [4] },
      ],
    })
  })
})

it('cancels a vendor send whose device has acknowledged on the native channel', () => {
  const sorted = sortResults([{ kind: 'acknowledged' }], {
    troubledFor: 0,
    unknownCodes: 0,
    now: 0,
    jitter: 0,
  })
  expect(foldAttempt({ recipients: [7], status: '.' }, sorted, emptyPlan)).toMatchObject({
    status: 'c',
    cancelled: 1,
    sent: 0,
    pending: 0,
    reasons: [{ fate: 'cancelled', count: 1, samples: [7] }],
  })
})
