import { canonicalCodes } from '../../src/hpack/huffman.ts'

const codes = new Map(
  canonicalCodes().map(({ symbol, code, length }) => [symbol, code.toString(2).padStart(length, '0')]),
)

export const bitsOf = (symbol: number): string => codes.get(symbol)!

/** Huffman code of the bytes, padded with ones; `tail` replaces the padding. */
export function encodeHuffman(bytes: Iterable<number>, tail?: string): Buffer {
  let bits = ''
  for (const byte of bytes) bits += bitsOf(byte)
  bits += tail ?? '1'.repeat((8 - (bits.length % 8)) % 8)
  return packBits(bits)
}

export function packBits(bits: string): Buffer {
  return Buffer.from((bits.match(/.{1,8}/g) ?? []).map((byte) => Number.parseInt(byte.padEnd(8, '1'), 2)))
}
