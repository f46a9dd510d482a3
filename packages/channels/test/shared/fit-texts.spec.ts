import { describe, expect, it } from '@jest/globals'
import { fitTexts } from '../../src/shared/fit-texts.ts'

const size = (texts: object) => Buffer.byteLength(JSON.stringify(texts))
const cuts = [
  { field: 'big', needed: false },
  { field: 'body', needed: true },
] as const

describe('fitTexts', () => {
  it('leaves alone what fits', () => {
    const texts = { big: 'b', body: 'a' }
    expect(fitTexts(texts, cuts, size, 100)).toBe(texts)
  })

  it('cuts the first text no more than it takes', () => {
    const fitted = fitTexts({ big: '"'.repeat(100), body: 'body' }, cuts, size, 60)!
    expect(fitted.body).toBe('body')
    expect(fitted.big).toMatch(/^"+…$/)
    expect(size(fitted)).toBeLessThanOrEqual(60)
    expect(size(fitted)).toBeGreaterThan(57)
  })

  it('lets a text vanish that is not needed, then cuts the next', () => {
    const fitted = fitTexts({ big: 'b'.repeat(100), body: 'a'.repeat(100) }, cuts, size, 40)!
    expect(fitted.big).toBe('')
    expect(size(fitted)).toBe(40)
  })

  it('is undefined when the shortest forms do not fit', () => {
    expect(fitTexts({ big: 'b', body: 'a' }, cuts, size, 10)).toBeUndefined()
  })
})
