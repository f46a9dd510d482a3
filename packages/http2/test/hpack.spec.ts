import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { HpackDecoder, HpackError } from '../src/hpack/decoder.ts'
import { type Field, HpackEncoder } from '../src/hpack/encoder.ts'
import { encodeHuffman } from './support/huffman-encoder.ts'

const decode = (decoder: HpackDecoder, bytes: Buffer) => decoder.decode(bytes, 0, bytes.length)
const field = (name: string, value: string): Field => ({ name, value })
const flat = (fields: readonly Field[]): string[] => fields.flatMap(({ name, value }) => [name, value])

describe('the HPACK decoder', () => {
  it.each([
    ['an index beyond every table', [0xfe]],
    ['index 0', [0x80]],
    ['an integer without end', [0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]],
    ['an integer cut off', [0xff]],
    ['a string longer than its block', [0x00, 0x05, 0x61]],
    ['a missing value', [0x00, 0x01, 0x61]],
    ['a table larger than allowed', [0x3f, 0xe2, 0x1f]],
    ['a size update after a field', [0x88, 0x20]],
    ['a broken Huffman string', [0x00, 0x01, 0x61, 0x81, 0x00]],
  ])('refuses %s', (_name, bytes) => {
    expect(() => decode(new HpackDecoder(4096), Buffer.from(bytes))).toThrow(HpackError)
  })

  it('accepts a table size of exactly the maximum, and several updates at the start', () => {
    const list = decode(new HpackDecoder(4096), Buffer.from([0x20, 0x3f, 0xe1, 0x1f, 0x88]))
    expect(list.fields).toEqual([':status', '200'])
  })

  it('empties the table for an entry that does not fit, without an error', () => {
    const decoder = new HpackDecoder(65_536)
    const large = Buffer.concat([Buffer.from([0x40, 0x01, 0x61, 0x7f, 0xa1, 0x1f]), Buffer.alloc(4128, 0x62)])
    decode(decoder, Buffer.from([0x40, 0x01, 0x61, 0x01, 0x62]))
    expect(decode(decoder, Buffer.from([0xbe])).fields).toEqual(['a', 'b'])
    expect(decode(decoder, large).fields[1]).toHaveLength(4128)
    expect(() => decode(decoder, Buffer.from([0xbe]))).toThrow('index 62 does not exist')
  })

  it('stops collecting at the limit of the list but still updates its table, so a decompression bomb stays small', () => {
    const decoder = new HpackDecoder(16_384)
    const entry = Buffer.concat([Buffer.from([0x40, 0x01, 0x61, 0x7f, 0x81, 0x1e]), Buffer.alloc(3968, 0x62)])
    const bomb = Buffer.concat([
      entry,
      Buffer.alloc(16_000, 0xbe),
      Buffer.from([0x40, 0x01, 0x63, 0x01, 0x64]),
    ])
    const list = decode(decoder, bomb)
    expect(list.tooLarge).toBe(true)
    expect(list.fields.length).toBeLessThanOrEqual(8)
    expect(decode(decoder, Buffer.from([0xbe])).fields).toEqual(['c', 'd'])
  })

  it.each([
    ['an upper-case name', 'Status-Text', 'fine'],
    ['an empty name', '', 'fine'],
    ['a line break in a value', 'x', 'a\r\nb'],
    ['a NUL in a value', 'x', 'a\0b'],
  ])('marks %s as malformed, also when it comes back by index', (_name, name, value) => {
    const decoder = new HpackDecoder(4096)
    const bytes = new HpackEncoder().compile([], [field(name, value)]).tail
    expect(decode(decoder, bytes).malformed).toBe(true)
    expect(decode(decoder, Buffer.from([0x88])).malformed).toBe(false)
    expect(decode(decoder, Buffer.from([0xbe])).malformed).toBe(true)
  })

  it('survives any bytes: a list within its limit, or an HpackError', () => {
    const decoder = new HpackDecoder(1024)
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc
        .constantFrom(...[0x88, 0xbe, 0xbf, 0x3e, 0x20, 0x40, 0x0f, 0x10, 0xff])
        .map((byte) => Uint8Array.of(byte)),
      fc
        .uint8Array({ maxLength: 20 })
        .map((text) => Buffer.concat([Buffer.from([0x40, 1, 0x61, text.length]), text])),
      fc.uint8Array({ maxLength: 20 }).map((text) => {
        const coded = encodeHuffman(text)
        return Buffer.concat([Buffer.from([0x00, 1, 0x61, 0x80 | coded.length]), coded])
      }),
    )
    let decoded = 0
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        try {
          const { fields } = decode(decoder, Buffer.concat(pieces))
          const size = fields.reduce((sum, text) => sum + text.length, 0) + (fields.length / 2) * 32
          expect(size).toBeLessThanOrEqual(1024)
          decoded += 1
        } catch (error) {
          expect(error).toBeInstanceOf(HpackError)
        }
      }),
      { numRuns: 3000, interruptAfterTimeLimit: 15_000 },
    )
    expect(decoded).toBeGreaterThan(10)
  })
})

describe('the HPACK encoder', () => {
  const shared = [field('apns-topic', 'com.example.app'), field('apns-priority', '10')]
  const pseudo = [field(':method', 'POST'), field(':authority', 'api.example.com')]

  it('writes shared fields once and as one index each afterwards', () => {
    const encoder = new HpackEncoder()
    const first = encoder.compile(pseudo, shared)
    const later = encoder.compile(pseudo, shared)
    expect(first.once).toBe(true)
    expect(later.once).toBe(false)
    expect([later.head.length, later.tail.length]).toEqual([2, 2])
    const decoder = new HpackDecoder(4096)
    for (const { head, tail } of [first, later, later]) {
      expect(decode(decoder, Buffer.concat([head, tail])).fields).toEqual(flat([...pseudo, ...shared]))
    }
  })

  it('announces every change of the table size, the smallest in between included', () => {
    const encoder = new HpackEncoder()
    const decoder = new HpackDecoder(4096)
    const check = (start: string) => {
      const { head, tail } = encoder.compile(pseudo, shared)
      expect(head.toString('hex').startsWith(start)).toBe(true)
      expect(decode(decoder, Buffer.concat([head, tail])).fields).toEqual(flat([...pseudo, ...shared]))
    }
    check('83')
    encoder.setPeerTableSize(0)
    check('2083')
    check('83')
    encoder.setPeerTableSize(100)
    check('3f4583')
    encoder.setPeerTableSize(0)
    encoder.setPeerTableSize(70_000)
    check('203fe11f83')
    check('83')
  })

  it('stops inserting even when the shared fields are larger than the table', () => {
    const encoder = new HpackEncoder()
    const many = Array.from({ length: 60 }, (_, at) => field(`x-header-${at}`, 'v'.repeat(80)))
    const compiled = Array.from({ length: 4 }, () => encoder.compile(pseudo, many))
    expect(compiled.at(-1)!.once).toBe(false)
    const decoder = new HpackDecoder(65_536)
    for (const { head, tail } of compiled) {
      expect(decode(decoder, Buffer.concat([head, tail])).fields).toEqual(flat([...pseudo, ...many]))
    }
  })

  it('is understood by a decoder after any sequence of requests and table sizes', () => {
    const text = fc.string({ unit: fc.constantFrom(...'abcdefgh-0123'), minLength: 1, maxLength: 300 })
    const fields = fc.array(fc.record({ name: text, value: text }), { maxLength: 8 })
    const step = fc.oneof(
      fc.record({ fields }),
      fc.record({ again: fc.nat(10) }),
      fc.record({ size: fc.constantFrom(0, 64, 200, 1000, 4096, 9000) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const encoder = new HpackEncoder()
        const decoder = new HpackDecoder(1_000_000)
        const seen: Field[][] = []
        for (const act of steps) {
          if ('size' in act) encoder.setPeerTableSize(act.size)
          else {
            const list = 'fields' in act ? act.fields : (seen[act.again] ?? [])
            seen.push(list)
            const { head, tail } = encoder.compile(pseudo, list)
            expect(decode(decoder, Buffer.concat([head, tail])).fields).toEqual(flat([...pseudo, ...list]))
          }
        }
      }),
      { numRuns: 400, interruptAfterTimeLimit: 15_000 },
    )
  })
})
