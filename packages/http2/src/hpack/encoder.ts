import { DynamicTable, defaultTableSize } from './dynamic-table.ts'
import { findStaticField, findStaticName, makeEntry, staticCount } from './static-table.ts'

export type Field = { readonly name: string; readonly value: string }

/**
 * The shared part of a header block as bytes, in two parts. The path of each request is written between them, because pseudo
 * fields must precede ordinary ones.
 */
export type CompiledBlock = {
  readonly head: Buffer
  readonly tail: Buffer
  /** The bytes change the peer's table, so they must be sent exactly once, before any other block. */
  readonly once: boolean
  readonly version: number
}

/**
 * Encodes shared fields. The first block adds them to the peer's dynamic table; every later one has one index per field.
 * Strings are not Huffman-coded: that would save about 20 bytes per request and cost more CPU time than encrypting them.
 */
export class HpackEncoder {
  private readonly table = new DynamicTable(defaultTableSize)
  /** Smallest table size that the peer allowed since the last block. */
  private lowestSize = defaultTableSize
  private announcedSize = defaultTableSize

  get version(): number {
    return this.table.version
  }

  /** The peer's SETTINGS_HEADER_TABLE_SIZE; at most 4096 bytes are used. */
  setPeerTableSize(size: number): void {
    const wanted = Math.min(size, defaultTableSize)
    this.lowestSize = Math.min(this.lowestSize, wanted)
    this.table.resize(wanted)
  }

  compile(pseudo: readonly Field[], ordinary: readonly Field[]): CompiledBlock {
    const out: number[] = []
    const versionBefore = this.table.version
    const resized = this.writeSizeUpdates(out)
    // Limits what one request inserts into the table. More would evict the request's own fields, and every block would insert
    // them again.
    const budget = { room: this.table.maxSize }
    for (const field of pseudo) this.writeField(out, field, budget)
    const head = Buffer.from(out)
    out.length = 0
    for (const field of ordinary) this.writeField(out, field, budget)
    const once = resized || this.table.version !== versionBefore
    return { head, tail: Buffer.from(out), once, version: this.table.version }
  }

  private writeSizeUpdates(out: number[]): boolean {
    const size = this.table.maxSize
    const low = this.lowestSize
    if (low === size && size === this.announcedSize) return false
    if (low < Math.min(size, this.announcedSize)) writeInteger(out, 0x20, 5, low)
    writeInteger(out, 0x20, 5, size)
    this.announcedSize = size
    this.lowestSize = size
    return true
  }

  private writeField(out: number[], field: Field, budget: { room: number }): void {
    const { name, value } = field
    const fixed = findStaticField(name, value)
    if (fixed > 0) {
      writeInteger(out, 0x80, 7, fixed)
      return
    }
    const entry = makeEntry(name, value)
    if (entry.size > budget.room) {
      writeLiteral(out, 0x00, 4, this.nameIndex(name), name, value)
      return
    }
    budget.room -= entry.size
    const known = this.table.find(name, value)
    if (known >= 0) {
      writeInteger(out, 0x80, 7, staticCount + 1 + known)
      return
    }
    writeLiteral(out, 0x40, 6, this.nameIndex(name), name, value)
    this.table.insert(entry)
  }

  private nameIndex(name: string): number {
    const fixed = findStaticName(name)
    if (fixed > 0) return fixed
    const known = this.table.findName(name)
    return known < 0 ? 0 : staticCount + 1 + known
  }
}

function writeLiteral(
  out: number[],
  pattern: number,
  prefix: number,
  index: number,
  name: string,
  value: string,
): void {
  writeInteger(out, pattern, prefix, index)
  if (index === 0) writeString(out, name)
  writeString(out, value)
}

function writeString(out: number[], text: string): void {
  writeInteger(out, 0x00, 7, text.length)
  for (let at = 0; at < text.length; at++) out.push(text.charCodeAt(at) & 0xff)
}

function writeInteger(out: number[], pattern: number, prefix: number, value: number): void {
  const mask = (1 << prefix) - 1
  if (value < mask) {
    out.push(pattern | value)
    return
  }
  out.push(pattern | mask)
  let rest = value - mask
  while (rest >= 0x80) {
    out.push((rest & 0x7f) | 0x80)
    rest >>>= 7
  }
  out.push(rest)
}
