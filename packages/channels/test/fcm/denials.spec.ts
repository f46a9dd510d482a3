import type { Outcome } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { followDenials } from '../../src/fcm/denials.ts'

describe('a denial of FCM', () => {
  const denial: Outcome = {
    kind: 'misconfigured',
    reason: { code: 'fcm.PERMISSION_DENIED', text: '403 PERMISSION_DENIED' },
  }
  const reason = { code: 'fcm.any', text: 'any' }
  /** The kinds that are reported for these outcomes, each after its seconds. */
  const judged = (...steps: [seconds: number, outcome: Outcome][]) => {
    let now = 0
    const found: string[] = []
    const { report } = followDenials(() => now).watch({
      signal: new AbortController().signal,
      report: (_index, { kind }) => void found.push(kind),
    })
    for (const [seconds, outcome] of steps) {
      now += seconds * 1000
      report(0, outcome)
    }
    return found
  }

  it('is forgotten after a dead token, which proves that the credential works', () => {
    expect(judged([0, denial], [100, { kind: 'gone', reason }], [100, denial], [120, denial])).toEqual([
      'unavailable',
      'gone',
      'unavailable',
      'misconfigured',
    ])
  })

  it('is not forgotten after a reply that says nothing about the credential', () => {
    expect(judged([0, denial], [60, { kind: 'unavailable', reason }], [60, denial])).toEqual([
      'unavailable',
      'unavailable',
      'misconfigured',
    ])
  })

  it('is forgotten ten minutes after the last one', () => {
    expect(judged([0, denial], [601, denial], [119, denial], [1, denial])).toEqual([
      'unavailable',
      'unavailable',
      'unavailable',
      'misconfigured',
    ])
    expect(judged([0, denial], [600, denial])).toEqual(['unavailable', 'misconfigured'])
  })
})
