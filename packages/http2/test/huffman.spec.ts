import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { canonicalCodes, codeLengths, decodeHuffman } from '../src/hpack/huffman.ts'
import { bitsOf, encodeHuffman, packBits } from './support/huffman-encoder.ts'

function decode(bytes: Buffer): Buffer | undefined {
  const target = Buffer.alloc(bytes.length * 2)
  const written = decodeHuffman(bytes, 0, bytes.length, target)
  return written < 0 ? undefined : target.subarray(0, written)
}

describe('the Huffman code', () => {
  it('is complete: every bit sequence has a meaning', () => {
    expect(codeLengths).toHaveLength(257)
    expect(codeLengths.reduce((sum, length) => sum + 2 ** (30 - length), 0)).toBe(2 ** 30)
  })

  // One symbol at each end of every length, from RFC 7541 appendix B: a wrong length anywhere shifts one of these.
  it.each([
    [48, 0x0, 5],
    [116, 0x9, 5],
    [32, 0x14, 6],
    [117, 0x2d, 6],
    [58, 0x5c, 7],
    [122, 0x7b, 7],
    [38, 0xf8, 8],
    [90, 0xfd, 8],
    [33, 0x3f8, 10],
    [63, 0x3fc, 10],
    [39, 0x7fa, 11],
    [124, 0x7fc, 11],
    [35, 0xffa, 12],
    [62, 0xffb, 12],
    [0, 0x1ff8, 13],
    [126, 0x1ffd, 13],
    [94, 0x3ffc, 14],
    [125, 0x3ffd, 14],
    [60, 0x7ffc, 15],
    [123, 0x7ffe, 15],
    [92, 0x7fff0, 19],
    [208, 0x7fff2, 19],
    [128, 0xfffe6, 20],
    [226, 0xfffed, 20],
    [153, 0x1fffdc, 21],
    [230, 0x1fffe8, 21],
    [129, 0x3fffd2, 22],
    [233, 0x3fffeb, 22],
    [1, 0x7fffd8, 23],
    [239, 0x7ffff4, 23],
    [9, 0xffffea, 24],
    [237, 0xfffff5, 24],
    [199, 0x1ffffec, 25],
    [235, 0x1ffffef, 25],
    [192, 0x3ffffe0, 26],
    [255, 0x3ffffee, 26],
    [203, 0x7ffffde, 27],
    [254, 0x7fffff0, 27],
    [2, 0xfffffe2, 28],
    [249, 0xffffffe, 28],
    [10, 0x3ffffffc, 30],
    [22, 0x3ffffffe, 30],
    [256, 0x3fffffff, 30],
  ])('gives symbol %i the code of the RFC', (symbol, code, length) => {
    expect(canonicalCodes().find((entry) => entry.symbol === symbol)).toEqual({ symbol, code, length })
  })

  it('decodes every byte in any context', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect(decode(encodeHuffman(bytes))).toEqual(Buffer.from(bytes))
      }),
      { numRuns: 500, interruptAfterTimeLimit: 10_000 },
    )
  })

  it.each([
    ['the end-of-string symbol', packBits(bitsOf(256))],
    ['padding of more than seven bits', encodeHuffman([48, 49], '111111' + '11111111')],
    ['padding that is not all ones', encodeHuffman([48], '110')],
    ['a whole byte of padding', Buffer.from([0xff])],
    ['a code cut off', packBits(bitsOf(10).slice(0, 24))],
  ])('refuses %s', (_name, bytes) => {
    expect(decode(bytes)).toBeUndefined()
  })

  it('never writes past its target, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(50), (bytes, room) => {
        const written = decodeHuffman(bytes, 0, bytes.length, new Uint8Array(room))
        expect(written).toBeLessThanOrEqual(room)
      }),
      { numRuns: 500, interruptAfterTimeLimit: 10_000 },
    )
  })
})
