import { describe, expect, it } from '@jest/globals'
import { parseExact } from '../src/index.ts'

describe('a number of JSON', () => {
  it.each([
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9007199254740991', 9007199254740991],
    ['1.0', 1],
    ['1e3', 1000],
    ['15.50000000000000000e1', 155],
    ['10001.0000000000000000', 10001],
    ['0.0000000000000000', 0],
    ['0.5', 0.5],
  ])('%s is read as %s', (text, value) => {
    expect(parseExact(`[${text}]`)).toEqual([value])
  })

  it.each([
    '10001.0000000000000001',
    '-10001.0000000000000001',
    '243451715412143.01',
    '9007199254740991.2',
    '0.99999999999999999999',
    '1.0000000000000000001',
    '1000100000000000000001e-17',
    '1e-400',
    '-1E-400',
  ])('%s is not read as an integer', (text) => {
    const [value] = parseExact(`[${text}]`) as [number]
    expect(Number.isInteger(value)).toBe(false)
  })

  it('that is rounded changes by no more than a double does', () => {
    expect(parseExact('[10001.0000000000000001, 0.99999999999999999999]')).toEqual([
      expect.closeTo(10001, 10),
      expect.closeTo(1, 14),
    ])
  })
})
