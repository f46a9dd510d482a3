import { describe, expect, it } from '@jest/globals'
import { fitTexts } from '../../src/shared/fit-texts.ts'

const size = (texts: object) => Buffer.byteLength(JSON.stringify(texts))
const fit = (texts: Readonly<Record<'big' | 'body', string>>, most: number) =>
  fitTexts(texts, ['big', 'body'], size, most, 'big')

describe('fitTexts', () => {
  it('leaves alone what fits', () => {
    const texts = { big: 'b', body: 'a' }
    expect(fit(texts, 100)).toBe(texts)
  })

  it('cuts the first text no more than it takes', () => {
    const fitted = fit({ big: '"'.repeat(100), body: 'body' }, 60)!
    expect(fitted.body).toBe('body')
    expect(fitted.big).toMatch(/^"+…$/)
    expect(size(fitted)).toBeLessThanOrEqual(60)
    expect(size(fitted)).toBeGreaterThan(57)
  })

  it('lets the spare text vanish, then cuts the next', () => {
    const fitted = fit({ big: 'b'.repeat(100), body: 'a'.repeat(100) }, 40)!
    expect(fitted.big).toBe('')
    expect(size(fitted)).toBe(40)
  })

  it('is undefined when the shortest forms do not fit', () => {
    expect(fit({ big: 'b', body: 'a' }, 10)).toBeUndefined()
  })

  it('leaves an ellipsis of a text that had words, and nothing of one that had none', () => {
    const texts = { a: '', b: 'b'.repeat(50), c: 'c'.repeat(50) }
    expect(fitTexts(texts, ['a', 'b', 'c'], size, 40)).toMatchObject({ a: '', b: '…' })
  })
})
