import { describe, expect, it } from '@jest/globals'
import {
  foldAttempt,
  foldNative,
  type NativeAnswer,
  type Plan,
  type Strategy,
  sortAnswers,
} from '../src/index.ts'

const nobody: Plan = { batches: [], inbox: [], unreachable: 0 }
const vendor = (...recipients: number[]): Plan => ({
  ...nobody,
  batches: [{ channel: 'oppo', certificateId: 3, recipients, tried: [] }],
})
const elsewhere = (...recipients: number[]): Plan => ({
  ...nobody,
  batches: [{ channel: 'native', node: 'b', recipients, tried: [] }],
})
const boxed = (...inbox: number[]): Plan => ({ ...nobody, inbox })

type Case = {
  answer: NativeAnswer
  plan: Plan
  strategy: Strategy
  letter: string
  row: string
  ack?: number
  store?: boolean
}

describe('what becomes of one recipient of a native batch', () => {
  const cases: Case[] = [
    { answer: 'acknowledged', strategy: 'combined', plan: nobody, letter: 's', row: 'none' },
    { answer: 'written', strategy: 'combined', plan: nobody, letter: 's', row: 'sent, vendor in 10 s' },
    { answer: 'written', strategy: 'combined', ack: 0, plan: nobody, letter: 's', row: 'sent' },
    { answer: 'written', strategy: 'nativepush_only', plan: nobody, letter: 's', row: 'sent' },
    { answer: 'written', strategy: 'combined', store: false, plan: nobody, letter: 's', row: 'none' },
    {
      answer: 'unwritten',
      strategy: 'combined',
      plan: elsewhere(7),
      letter: 'i',
      row: 'pending, vendor in 10 s',
    },
    {
      answer: 'unwritten',
      strategy: 'combined',
      ack: 0,
      plan: elsewhere(7),
      letter: 'i',
      row: 'pending, vendor in 10 s',
    },
    { answer: 'unwritten', strategy: 'nativepush_only', plan: elsewhere(7), letter: 'i', row: 'pending' },
    { answer: 'unwritten', strategy: 'combined', plan: vendor(7), letter: 'm', row: 'none' },
    { answer: 'unwritten', strategy: 'combined', plan: boxed(7), letter: 'i', row: 'pending' },
    { answer: 'unwritten', strategy: 'nativepush_only', plan: boxed(7), letter: 'i', row: 'pending' },
    {
      answer: 'unwritten',
      strategy: 'nativepush_only',
      store: false,
      plan: nobody,
      letter: 'x',
      row: 'none',
    },
    { answer: 'left', strategy: 'combined', plan: vendor(7), letter: 'x', row: 'none' },
  ]
  it.each(cases)('$answer under $strategy → $letter, inbox row: $row', (one) => {
    const fold = foldNative({ recipients: [7], status: '.' }, new Map([[0, one.answer]]), one.plan, {
      strategy: one.strategy,
      mayStore: one.store ?? true,
      ackSeconds: one.ack ?? 10,
    })
    const [row] = fold.inbox
    const shown = row
      ? `${row.sent ? 'sent' : 'pending'}${row.fallbackIn === null ? '' : `, vendor in ${row.fallbackIn} s`}`
      : 'none'
    expect([fold.status, shown]).toEqual([one.letter, one.row])
    // Whatever happens, the recipient is in exactly one place.
    const pending = fold.inbox.filter(({ sent }) => !sent).flatMap(({ recipients }) => recipients).length
    expect(fold.sent + fold.moved + fold.expired + pending).toBe(1)
  })

  it('carries the vendor batches and the reasons of a whole batch', () => {
    const answers: NativeAnswer[] = ['written', 'acknowledged', 'unwritten', 'unwritten', 'left']
    const fold = foldNative(
      { recipients: [1, 2, 3, 4, 5, 6], status: '.....s' },
      new Map(answers.map((answer, index) => [index, answer])),
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
        { fate: 'moved', reason: 'the device was no longer connected', count: 1, samples: [3] },
        { fate: 'expired', reason: 'the device belongs to another user now', count: 1, samples: [5] },
      ],
    })
  })
})

it('drops a vendor send whose device has acknowledged on the native channel', () => {
  const sorted = sortAnswers(new Map([[0, { kind: 'acknowledged' }]]), {
    troubledFor: 0,
    now: 0,
    jitter: 0,
  })
  expect(foldAttempt({ recipients: [7], status: '.' }, sorted, nobody)).toMatchObject({
    status: 'c',
    cancelled: 1,
    sent: 0,
    pending: 0,
    reasons: [{ fate: 'cancelled', count: 1, samples: [7] }],
  })
})
