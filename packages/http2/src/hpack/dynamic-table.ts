import { type Entry, entryOverhead } from './static-table.ts'

/** Default of SETTINGS_HEADER_TABLE_SIZE; neither our encoder nor our decoder uses more. */
export const defaultTableSize = 4096

/** The dynamic table of RFC 7541 section 2.3.2: newest entry first, the oldest are evicted. */
export class DynamicTable {
  /** Incremented whenever indexes change their meaning; a compiled header block is valid for one version. */
  version = 0
  count = 0
  size = 0
  maxSize: number
  private readonly ring: (Entry | undefined)[]
  private readonly mask: number
  private newest = 0

  constructor(capacity: number) {
    this.maxSize = capacity
    const slots = 2 ** Math.ceil(Math.log2(Math.floor(capacity / entryOverhead) + 1))
    this.ring = new Array<Entry | undefined>(slots).fill(undefined)
    this.mask = slots - 1
  }

  /** 0 is the newest. */
  get(at: number): Entry | undefined {
    return at < this.count ? this.ring[(this.newest - at) & this.mask] : undefined
  }

  /** An entry larger than the table empties it and is not kept (RFC 7541 section 4.4). */
  insert(entry: Entry): void {
    this.version += 1
    this.evictDownTo(this.maxSize - entry.size)
    if (entry.size > this.maxSize) return
    this.newest = (this.newest + 1) & this.mask
    this.ring[this.newest] = entry
    this.count += 1
    this.size += entry.size
  }

  /** `maxSize` must not exceed the capacity given to the constructor. */
  resize(maxSize: number): void {
    this.version += 1
    this.maxSize = maxSize
    this.evictDownTo(maxSize)
  }

  /** Position of the entry, or -1. A linear search is enough: the table has about a hundred entries, and only compiling searches it. */
  find(name: string, value: string): number {
    for (let at = 0; at < this.count; at++) {
      const entry = this.get(at)!
      if (entry.value === value && entry.name === name) return at
    }
    return -1
  }

  findName(name: string): number {
    for (let at = 0; at < this.count; at++) if (this.get(at)!.name === name) return at
    return -1
  }

  private evictDownTo(room: number): void {
    while (this.count > 0 && this.size > room) {
      const oldest = (this.newest - this.count + 1) & this.mask
      this.size -= this.ring[oldest]!.size
      this.ring[oldest] = undefined
      this.count -= 1
    }
  }
}
