import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Multicast } from '../src/multicast.ts'
import { Stream } from '../src/stream.ts'
import { StreamTable } from '../src/stream-table.ts'

describe('the stream table', () => {
  it('behaves like a map, however long some streams live', () => {
    const act = fc.oneof(
      { weight: 3, arbitrary: fc.constant({ open: true as const }) },
      { weight: 2, arbitrary: fc.record({ close: fc.nat(100) }) },
    )
    fc.assert(
      fc.property(fc.array(act, { maxLength: 300 }), (acts) => {
        const table = new StreamTable(16)
        const model = new Map<number, Stream>()
        let nextId = 1
        for (const step of acts) {
          if ('open' in step) {
            const stream = new Stream(nextId, undefined as unknown as Multicast, 0, 0, 0)
            table.add(stream)
            model.set(nextId, stream)
            nextId += 2
          } else {
            const stream = [...model.values()][step.close % Math.max(model.size, 1)]
            if (stream === undefined) continue
            table.delete(stream)
            table.delete(stream)
            model.delete(stream.id)
          }
        }
        expect(table.size).toBe(model.size)
        for (let id = 1; id < nextId; id += 2) expect(table.get(id)).toBe(model.get(id))
        expect(new Set(table.all())).toEqual(new Set(model.values()))
      }),
      { numRuns: 100, interruptAfterTimeLimit: 10_000 },
    )
  })
})
