import { describe, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { Outbox } from '../src/outbox.ts'

const request = Buffer.alloc(700, 'r')

/** Writes one request on each of `count` connections at the same time, as the sockets of a job do. */
function writeAtOnce(count: number): Buffer[] {
  const outboxes = Array.from({ length: count }, () => new Outbox())
  for (const outbox of outboxes) outbox.put(request)
  const pieces = outboxes.map((outbox) => outbox.take())
  outboxes.forEach((outbox, i) => {
    for (const piece of pieces[i]!) outbox.recycle(piece)
  })
  return pieces.flat()
}

describe('an outbox', () => {
  it('gives back all bytes in their order, in as few pieces as its chunks allow', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 90_000 }), { maxLength: 12 }), (lengths) => {
        const outbox = new Outbox()
        const parts = lengths.map((length, i) => Buffer.alloc(length, i + 1))
        for (const part of parts) outbox.put(part)
        const all = Buffer.concat(parts)
        expect(outbox.pendingBytes).toBe(all.length)
        const pieces = outbox.take()
        expect(Buffer.concat(pieces).equals(all)).toBe(true)
        expect(outbox.pendingBytes).toBe(0)
        if (all.length <= 65_536 && all.length > 0) expect(pieces).toHaveLength(1)
        for (const piece of pieces) outbox.recycle(piece)
      }),
    )
  })

  it('does not write into a chunk before the socket has written it', () => {
    const outbox = new Outbox()
    outbox.put(Buffer.alloc(100, 'a'))
    const [first] = outbox.take()
    outbox.put(Buffer.alloc(100, 'b'))
    expect(first!.toString()).toBe('a'.repeat(100))
    outbox.recycle(first!)
    const other = new Outbox()
    other.put(Buffer.alloc(100, 'c'))
    const [second] = outbox.take()
    expect(second!.toString()).toBe('b'.repeat(100))
  })

  it('allocates nothing for requests of hundreds of connections at once, after the first time', () => {
    writeAtOnce(1_000)
    const allocate = jest.spyOn(Buffer, 'allocUnsafeSlow')
    try {
      const pieces = writeAtOnce(1_000)
      expect(allocate).not.toHaveBeenCalled()
      expect(pieces.reduce((sum, { buffer }) => sum + buffer.byteLength, 0)).toBeLessThanOrEqual(4_096_000)
    } finally {
      allocate.mockRestore()
    }
  })
})
