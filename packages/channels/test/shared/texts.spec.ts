import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { cutCodePoints, cutText, fitTexts } from '../../src/shared/texts.ts'

describe('cutCodePoints', () => {
  it.each([
    ['a😀b', 2, 'a😀'],
    ['😀😀', 2, '😀😀'],
    ['😀😀', 1, '😀'],
    ['文文', 1, '文'],
    ['a', 0, ''],
  ])('cuts %j at %i to %j', (text, max, expected) => {
    expect(cutCodePoints(text, max)).toBe(expected)
  })

  it('keeps the longest prefix that fits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(30), (text, max) => {
        const kept = cutCodePoints(text, max)
        expect(kept).toBe([...text].slice(0, max).join(''))
        expect(kept.isWellFormed()).toBe(true)
      }),
    )
  })
})

describe('cutText', () => {
  it.each([
    ['abc', 3, 'abc'],
    ['abcd', 3, 'ab…'],
    ['a cd', 3, 'a…'],
    ['😀😀😀', 3, '😀😀😀'],
    ['😀😀😀😀', 3, '😀😀…'],
  ])('cuts %j at %i to %j', (text, max, expected) => {
    expect(cutText(text, max)).toBe(expected)
  })

  it.each([
    ['😀a', 3, '😀a'],
    ['😀😀', 3, '😀…'],
    ['a😀😀', 4, 'a😀…'],
    ['a😀😀', 3, 'a…'],
    ['文文文文', 3, '文文…'],
  ])('cuts %j at %i UTF-16 units to %j', (text, max, expected) => {
    expect(cutText(text, max, { utf16: true })).toBe(expected)
  })

  it('keeps both limits and whole characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 30 }), (text, max) => {
        const kept = cutText(text, max, { utf16: true })
        expect(kept.length).toBeLessThanOrEqual(max)
        expect(kept.isWellFormed()).toBe(true)
        if (text.length <= max) expect(kept).toBe(text)
        else expect(kept.endsWith('…')).toBe(true)
      }),
    )
  })
})

describe('fitTexts', () => {
  const size = (texts: object) => Buffer.byteLength(JSON.stringify(texts))
  const fit = (texts: Readonly<Record<'big' | 'body', string>>, max: number) =>
    fitTexts(texts, ['big', 'body'], size, max, 'big')

  it('does not change texts that fit', () => {
    const texts = { big: 'b', body: 'a' }
    expect(fit(texts, 100)).toBe(texts)
  })

  it('cuts the first text only as much as necessary', () => {
    const fitted = fit({ big: '"'.repeat(100), body: 'body' }, 60)!
    expect(fitted.body).toBe('body')
    expect(fitted.big).toMatch(/^"+…$/)
    expect(size(fitted)).toBeLessThanOrEqual(60)
    expect(size(fitted)).toBeGreaterThan(57)
  })

  it('empties the optional text, then cuts the next', () => {
    const fitted = fit({ big: 'b'.repeat(100), body: 'a'.repeat(100) }, 40)!
    expect(fitted.big).toBe('')
    expect(size(fitted)).toBe(40)
  })

  it('returns undefined when the shortest texts do not fit', () => {
    expect(fit({ big: 'b', body: 'a' }, 10)).toBeUndefined()
  })

  it('keeps an ellipsis of a text that was not empty', () => {
    const texts = { a: '', b: 'b'.repeat(50), c: 'c'.repeat(50) }
    expect(fitTexts(texts, ['a', 'b', 'c'], size, 40)).toMatchObject({ a: '', b: '…' })
  })
})
