import type { Outcome } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { followDenials } from '../../src/shared/denials.ts'

describe('a refusal that may pass', () => {
  const refusal = (code: string): Outcome => ({ kind: 'misconfigured', reason: { code, text: 'refused' } })
  const denial = refusal('apns.InvalidProviderToken')
  const reason = { code: 'apns.any', text: 'any' }
  /** What is reported for these outcomes, each after its seconds. */
  const judged = (...steps: [seconds: number, outcome: Outcome][]) => {
    let now = 0
    const found: Outcome[] = []
    const { report } = followDenials({
      mayPass: ({ code }) => code === 'apns.InvalidProviderToken',
      believeAfterMs: 180_000,
      minWait: 10,
      now: () => now,
    }).watch({
      signal: new AbortController().signal,
      report: (_index, outcome) => void found.push(outcome),
    })
    for (const [seconds, outcome] of steps) {
      now += seconds * 1000
      report(0, outcome)
    }
    return found
  }
  const kinds = (...steps: Parameters<typeof judged>) => judged(...steps).map(({ kind }) => kind)

  it('is believed when it has been repeated for long enough', () => {
    const [first, second, third] = judged([0, denial], [179, denial], [1, denial])
    const unbelieved = { kind: 'unavailable', reason: { code: 'apns.InvalidProviderToken', text: 'refused' } }
    expect([first, second]).toEqual(Array(2).fill({ ...unbelieved, minWait: 10 }))
    expect(third).toEqual(denial)
  })

  it.each([{ kind: 'accepted' }, { kind: 'gone', reason }] satisfies Outcome[])(
    'is forgotten after a reply that proves that the credential works: $kind',
    (proof) => {
      expect(kinds([0, denial], [100, proof], [100, denial], [179, denial], [1, denial])).toEqual([
        'unavailable',
        proof.kind,
        'unavailable',
        'unavailable',
        'misconfigured',
      ])
    },
  )

  it('is not forgotten after a reply that says nothing about the credential', () => {
    expect(kinds([0, denial], [90, { kind: 'unavailable', reason }], [90, denial])).toEqual([
      'unavailable',
      'unavailable',
      'misconfigured',
    ])
  })

  it('is forgotten ten minutes after the last one', () => {
    expect(kinds([0, denial], [601, denial], [179, denial])).toEqual(Array(3).fill('unavailable'))
    expect(kinds([0, denial], [600, denial])).toEqual(['unavailable', 'misconfigured'])
  })

  it('leaves all others alone', () => {
    const other = refusal('apns.BadCertificate')
    expect(judged([0, other])).toEqual([other])
  })
})
