import { describe, expect, it } from '@jest/globals'
import { conditionOf, healthWarnings, type ShownHold } from '../src/index.ts'

const at = Date.UTC(2027, 0, 1, 10, 2, 59) / 1000
const healthy = { breaker: null, holds: [], check_error: null, check_error_at: null }
const hold = (change: Partial<ShownHold>): ShownHold => ({
  scope: 'class service',
  kind: 'rejected',
  code: 'oppo.67',
  reason: '67 category error',
  since: at,
  until: at + 600,
  active: true,
  ...change,
})

describe('the warnings of a certificate', () => {
  it('say what is refused, since when and until when', () => {
    const warningOf = (change: Partial<ShownHold>) =>
      healthWarnings('OPPO', { ...healthy, holds: [hold(change)] })
    expect(healthWarnings('OPPO', healthy)).toEqual([])
    expect(warningOf({})).toEqual([
      'OPPO has refused messages of class service since 2027-01-01 10:02 UTC: 67 category error. They are not sent until 2027-01-01 10:12 UTC; all others are.',
    ])
    expect(warningOf({ active: false })).toEqual([
      'OPPO has refused messages of class service, first at 2027-01-01 10:02 UTC: 67 category error. The next one is sent again.',
    ])
    expect(warningOf({ scope: 'pass-through messages' })[0]).toMatch(
      /^OPPO has refused pass-through messages since/,
    )
    expect(warningOf({ scope: 'without receipts' })).toEqual([
      'OPPO has refused receipts since 2027-01-01 10:02 UTC: 67 category error. Messages are sent without receipts until 2027-01-01 10:12 UTC.',
    ])
    expect(warningOf({ scope: 'without receipts', active: false })).toEqual([
      'OPPO has refused receipts, first at 2027-01-01 10:02 UTC: 67 category error. The next message is sent with receipts again.',
    ])
    expect(warningOf({ kind: 'quota', scope: 'quota system messages' })).toEqual([
      'The quota of OPPO for system messages has been used up since 2027-01-01 10:02 UTC: 67 category error. They take the device’s next channel, or wait, until 2027-01-01 10:12 UTC; all others are sent.',
    ])
    expect(warningOf({ kind: 'quota', scope: 'quota all messages', active: false })).toEqual([
      'The quota of OPPO for all messages was used up from 2027-01-01 10:02 UTC to 2027-01-01 10:12 UTC: 67 category error.',
    ])
  })

  it('begin with a silent vendor and end with a failed check', () => {
    const breaker = { since: at, retry_at: at + 60, code: 'vivo.http_503', reason: 'HTTP 503.' }
    expect(
      healthWarnings('vivo', { breaker, holds: [], check_error: 'no reply', check_error_at: at }),
    ).toEqual([
      'vivo has not answered since 2027-01-01 10:02 UTC: HTTP 503. One batch is tried at 2027-01-01 10:03 UTC; the others wait.',
      'The last check, at 2027-01-01 10:02 UTC, failed: no reply.',
    ])
  })
})

it('the condition of a certificate is the worst of what is the matter', () => {
  const breaker = {}
  const holds = [hold({})]
  expect(conditionOf({ state: 'open', breaker: null, holds: [] })).toBe('sending')
  expect(conditionOf({ state: 'open', breaker: null, holds: [hold({ active: false })] })).toBe('sending')
  expect(conditionOf({ state: 'open', breaker: null, holds })).toBe('partial')
  expect(conditionOf({ state: 'suspect', breaker: null, holds })).toBe('suspect')
  expect(conditionOf({ state: 'suspect', breaker, holds })).toBe('silent')
  expect(conditionOf({ state: 'closed', breaker, holds })).toBe('closed')
})
