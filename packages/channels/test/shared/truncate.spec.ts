import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { countCodePoints, cutCodePoints, cutUtf8Bytes, cutUtf16Units } from '../../src/shared/truncate.ts'

describe('cutting texts', () => {
  const cases: [(text: string, most: number) => string, string, number, string][] = [
    [cutUtf8Bytes, 'abc', 3, 'abc'],
    [cutUtf8Bytes, 'abcd', 3, 'abc'],
    [cutUtf8Bytes, 'aü', 2, 'a'],
    [cutUtf8Bytes, '文文', 5, '文'],
    [cutUtf8Bytes, '😀', 3, ''],
    [cutUtf8Bytes, 'a', 0, ''],
    [cutUtf16Units, '文文', 1, '文'],
    [cutUtf16Units, 'a😀b', 2, 'a'],
    [cutUtf16Units, 'a😀b', 3, 'a😀'],
    [cutUtf16Units, '😀', 0, ''],
    [cutCodePoints, 'a😀b', 2, 'a😀'],
    [cutCodePoints, '😀😀', 2, '😀😀'],
    [cutCodePoints, '😀😀', 1, '😀'],
    [cutCodePoints, 'a', 0, ''],
  ]
  it.each(cases)('%p cuts %j at %i to %j', (cut, text, most, expected) => {
    expect(cut(text, most)).toBe(expected)
  })

  const measures: [string, (text: string, most: number) => string, (text: string) => number][] = [
    ['UTF-8 bytes', cutUtf8Bytes, (text) => Buffer.byteLength(text)],
    ['UTF-16 units', cutUtf16Units, (text) => text.length],
    ['code points', cutCodePoints, countCodePoints],
  ]
  it.each(measures)('by %s keeps the longest whole beginning that fits', (_, cut, measure) => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(30), (text, most) => {
        const kept = cut(text, most)
        expect(text.startsWith(kept)).toBe(true)
        expect(measure(kept)).toBeLessThanOrEqual(most)
        expect(kept.isWellFormed()).toBe(true)
        const next = [...text.slice(kept.length)][0]
        if (next !== undefined) expect(measure(kept + next)).toBeGreaterThan(most)
      }),
    )
  })
})
