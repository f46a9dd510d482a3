import type { Outcome } from '@herald/domain'
import { describe, expect, it } from '@jest/globals'
import { distinctTokens } from '../../src/shared/distinct-tokens.ts'

const recipients = ['a', 'b', 'a', 'c', 'b'].map((token) => ({ token }))
const sent: Outcome = { kind: 'accepted' }

describe('distinct tokens', () => {
  it('lists each token once, in the order of the recipients, and reports to all that have it', () => {
    const reported: number[] = []
    const { tokens, reportToken } = distinctTokens(recipients, (index) => reported.push(index))
    expect(tokens).toEqual(['a', 'b', 'c'])
    reportToken('b', sent)
    reportToken('a', sent)
    expect(reported).toEqual([1, 4, 0, 2])
  })

  it('leaves out recipients that are not asked for', () => {
    const reported: number[] = []
    const { tokens, reportToken } = distinctTokens(recipients, (index) => reported.push(index), [2, 3])
    expect(tokens).toEqual(['a', 'c'])
    reportToken('a', sent)
    expect(reported).toEqual([2])
  })
})
