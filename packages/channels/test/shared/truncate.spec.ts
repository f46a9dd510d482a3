import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { countCodePoints, cutCodePoints } from '../../src/shared/truncate.ts'

describe('cutting texts', () => {
  it.each([
    ['a😀b', 2, 'a😀'],
    ['😀😀', 2, '😀😀'],
    ['😀😀', 1, '😀'],
    ['文文', 1, '文'],
    ['a', 0, ''],
  ])('cuts %j at %i to %j', (text, most, expected) => {
    expect(cutCodePoints(text, most)).toBe(expected)
  })

  it('keeps the longest whole beginning that fits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(30), (text, most) => {
        const kept = cutCodePoints(text, most)
        expect(text.startsWith(kept)).toBe(true)
        expect(countCodePoints(kept)).toBeLessThanOrEqual(most)
        expect(kept.isWellFormed()).toBe(true)
        const next = [...text.slice(kept.length)][0]
        if (next !== undefined) expect(countCodePoints(kept + next)).toBeGreaterThan(most)
      }),
    )
  })
})
