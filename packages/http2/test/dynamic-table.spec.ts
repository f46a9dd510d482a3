import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { DynamicTable } from '../src/hpack/dynamic-table.ts'
import { makeEntry } from '../src/hpack/static-table.ts'

describe('the dynamic table', () => {
  it('has the newest entries first and the oldest evicted, after any sequence of inserts and sizes', () => {
    const step = fc.oneof(
      { weight: 20, arbitrary: fc.record({ length: fc.integer({ min: 0, max: 200 }) }) },
      { weight: 1, arbitrary: fc.record({ resize: fc.integer({ min: 0, max: 4096 }) }) },
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const table = new DynamicTable(4096)
        let expected: string[] = []
        let max = 4096
        const evict = () => {
          const size = () => expected.reduce((sum, value) => sum + value.length + 33, 0)
          while (size() > max) expected.pop()
        }
        steps.forEach((one, at) => {
          if ('resize' in one) {
            max = one.resize
            table.resize(max)
          } else {
            const value = `${at}`.padEnd(one.length, '.')
            table.insert(makeEntry('n', value))
            expected = [value, ...expected]
          }
          evict()
          expect(Array.from({ length: table.count }, (_, i) => table.get(i)!.value)).toEqual(expected)
          expect(table.get(table.count)).toBeUndefined()
        })
      }),
      { numRuns: 50 },
    )
  })
})
