import type { Entry } from './static-table.ts'

/** Default of SETTINGS_HEADER_TABLE_SIZE; neither our encoder nor our decoder uses more. */
export const defaultTableSize = 4096

const firstSlots = 8

/** The dynamic table of RFC 7541 section 2.3.2: newest entry first, the oldest are evicted. */
export class DynamicTable {
  /** Incremented whenever indexes change their meaning; a compiled header block is valid for one version. */
  version = 0
  count = 0
  size = 0
  maxSize: number
  /** Its length is a power of two. It starts small: most connections of thousands use few entries. */
  private ring: (Entry | undefined)[] = new Array<Entry | undefined>(firstSlots).fill(undefined)
  private newest = 0

  constructor(capacity: number) {
    this.maxSize = capacity
  }

  /** 0 is the newest. */
  get(at: number): Entry | undefined {
    return at < this.count ? this.ring[(this.newest - at) & (this.ring.length - 1)] : undefined
  }

  /** An entry larger than the table empties it and is not kept (RFC 7541 section 4.4). */
  insert(entry: Entry): void {
    this.version += 1
    this.evictDownTo(this.maxSize - entry.size)
    if (entry.size > this.maxSize) return
    if (this.count === this.ring.length) this.grow()
    this.newest = (this.newest + 1) & (this.ring.length - 1)
    this.ring[this.newest] = entry
    this.count += 1
    this.size += entry.size
  }

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

  private grow(): void {
    const entries = Array.from({ length: this.count }, (_, at) => this.get(this.count - 1 - at))
    this.ring = [...entries, ...new Array<undefined>(this.ring.length).fill(undefined)]
    this.newest = this.count - 1
  }

  private evictDownTo(room: number): void {
    while (this.count > 0 && this.size > room) {
      const oldest = (this.newest - this.count + 1) & (this.ring.length - 1)
      this.size -= this.ring[oldest]!.size
      this.ring[oldest] = undefined
      this.count -= 1
    }
  }
}
