import { DynamicTable, defaultTableSize } from './dynamic-table.ts'
import { decodeHuffman } from './huffman.ts'
import { type Entry, makeEntry, staticCount, staticEntries } from './static-table.ts'

/** The block cannot be decoded, so the connection's compression state is lost. */
export class HpackError extends Error {}

/** A decoded header list. Names and values alternate in `fields`. */
export type FieldList = {
  fields: string[]
  /** The list exceeds the limit; `fields` contains only the fields before that. */
  tooLarge: boolean
  /** HTTP/2 forbids one of the names or values. */
  malformed: boolean
}

/** Of all connections: a string is decoded without a pause in between. */
let scratch = Buffer.allocUnsafeSlow(1024)

/**
 * Decodes header blocks of one connection, in order. A block is decoded to its end even when its list is too large, because
 * the table must stay equal to the peer's. The size of the block limits the work, `maxListBytes` the memory.
 */
export class HpackDecoder {
  private readonly table = new DynamicTable(defaultTableSize)
  private readonly maxListBytes: number
  private block: Buffer = Buffer.alloc(0)
  private at = 0
  private end = 0

  constructor(maxListBytes: number) {
    this.maxListBytes = maxListBytes
  }

  decode(block: Buffer, start: number, end: number): FieldList {
    this.block = block
    this.at = start
    this.end = end
    const list: FieldList = { fields: [], tooLarge: false, malformed: false }
    let room = this.maxListBytes
    let seenField = false
    while (this.at < end) {
      const first = block[this.at]!
      let entry: Entry
      if (first >= 0x80) {
        entry = this.entryAt(this.readInteger(7))
      } else if ((first & 0xe0) === 0x20) {
        if (seenField) throw new HpackError('a table size update follows a field')
        const size = this.readInteger(5)
        if (size > defaultTableSize) throw new HpackError(`a table size of ${size} bytes is not allowed`)
        this.table.resize(size)
        continue
      } else {
        const indexed = first >= 0x40
        entry = this.readLiteral(indexed ? 6 : 4)
        if (indexed) this.table.insert(entry)
      }
      seenField = true
      room -= entry.size
      if (room < 0) {
        list.tooLarge = true
        continue
      }
      if (entry.malformed) list.malformed = true
      list.fields.push(entry.name, entry.value)
    }
    return list
  }

  private readLiteral(prefix: number): Entry {
    const index = this.readInteger(prefix)
    const named = index === 0 ? undefined : this.entryAt(index)
    const name = named?.name ?? this.readString()
    const value = this.readString()
    const malformed = named === undefined ? !isFieldName(name) : named.malformed && !isFieldName(name)
    return makeEntry(name, value, malformed || forbiddenInValue.test(value))
  }

  private entryAt(index: number): Entry {
    const entry = index <= staticCount ? staticEntries[index - 1] : this.table.get(index - staticCount - 1)
    if (entry === undefined) throw new HpackError(`index ${index} does not exist`)
    return entry
  }

  private readString(): string {
    if (this.at >= this.end) throw new HpackError('the block ends where a string should begin')
    const huffman = this.block[this.at]! >= 0x80
    const length = this.readInteger(7)
    const start = this.at
    const end = start + length
    if (end > this.end) throw new HpackError('a string is longer than its block')
    this.at = end
    if (!huffman) return this.block.toString('latin1', start, end)
    // The shortest code has five bits, so the decoded string is at most twice as long.
    if (scratch.length < 2 * length) scratch = Buffer.allocUnsafeSlow(2 * length)
    const written = decodeHuffman(this.block, start, end, scratch)
    if (written < 0) throw new HpackError('a Huffman string is invalid')
    return scratch.toString('latin1', 0, written)
  }

  /** RFC 7541 section 5.1. Four continuation bytes are more than any valid length or index needs. */
  private readInteger(prefix: number): number {
    const mask = (1 << prefix) - 1
    let value = this.block[this.at++]! & mask
    if (value < mask) return value
    for (let shift = 0; shift <= 21; shift += 7) {
      if (this.at >= this.end) throw new HpackError('the block ends inside an integer')
      const byte = this.block[this.at++]!
      value += (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw new HpackError('an integer is too long')
  }
}

const forbiddenInValue = /[\0\r\n]/

/** Lower-case token, with a colon in front for pseudo fields (RFC 9113 section 8.2.1). */
function isFieldName(name: string): boolean {
  return /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name)
}
