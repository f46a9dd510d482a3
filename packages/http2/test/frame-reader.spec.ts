import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { FrameReader } from '../src/frame-reader.ts'
import { ConnectionError, makeFrame } from '../src/frames.ts'

type Seen = { type: number; flags: number; stream: number; payload: string }

function read(chunks: readonly Uint8Array[]): Seen[] {
  const seen: Seen[] = []
  const reader = new FrameReader((type, flags, stream, bytes, start, end) => {
    seen.push({ type, flags, stream, payload: bytes.toString('hex', start, end) })
    return true
  })
  for (const chunk of chunks) reader.push(Buffer.from(chunk))
  return seen
}

const frame = fc.record({
  type: fc.nat(255),
  flags: fc.nat(255),
  stream: fc.nat(0x7fffffff),
  payload: fc.uint8Array({ maxLength: 60 }),
})

describe('the frame reader', () => {
  it('finds the same frames however the bytes are split', () => {
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 8 }),
        fc.array(fc.nat(600), { maxLength: 30 }),
        (frames, cuts) => {
          const bytes = Buffer.concat(
            frames.map(({ type, flags, stream, payload }) => makeFrame(type, flags, stream, payload)),
          )
          const edges = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]
          const chunks = edges.slice(1).map((edge, at) => bytes.subarray(edges[at], edge))
          expect(read(chunks)).toEqual(
            frames.map(({ payload, ...rest }) => ({
              ...rest,
              payload: Buffer.from(payload).toString('hex'),
            })),
          )
        },
      ),
      { numRuns: 500, interruptAfterTimeLimit: 15_000 },
    )
  })

  it('accepts single bytes, also of a frame of maximum size', () => {
    const bytes = Buffer.concat([
      makeFrame(0, 0, 1, Buffer.alloc(16_384, 7)),
      makeFrame(6, 0, 0, Buffer.alloc(8)),
    ])
    const seen = read(Array.from(bytes, (byte) => Uint8Array.of(byte)))
    expect(seen.map(({ payload }) => payload.length / 2)).toEqual([16_384, 8])
  })

  it('ignores the reserved bit of the stream id', () => {
    const bytes = makeFrame(0, 0, 5)
    bytes[5] = 0x80
    expect(read([bytes])[0]?.stream).toBe(5)
  })

  it.each([[1], [9], [100]])(
    'refuses a frame over 16384 bytes as soon as its header is complete, split at %i',
    (cut) => {
      const bytes = Buffer.concat([Buffer.from([0x00, 0x40, 0x01, 0, 0, 0, 0, 0, 1]), Buffer.alloc(200)])
      expect(() => read([bytes.subarray(0, cut), bytes.subarray(cut)])).toThrow(ConnectionError)
    },
  )

  it('stops in the middle of a chunk when the callback returns false', () => {
    let count = 0
    const reader = new FrameReader(() => ++count < 2)
    const frames = Buffer.concat(Array.from({ length: 5 }, () => makeFrame(6, 0, 0, Buffer.alloc(8))))
    reader.push(frames)
    reader.push(frames)
    expect(count).toBe(2)
  })
})
