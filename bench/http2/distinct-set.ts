/** An incremental 64-bit hash, made of two independent multiplicative hashes. */
export class Fingerprint {
  high = 0
  low = 0

  restart(text: string): void {
    let high = 0xdeadbeef | 0
    let low = 0x41c6ce57
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      high = Math.imul(high ^ code, 2654435761)
      low = Math.imul(low ^ code, 1597334677)
    }
    this.high = high
    this.low = low
  }

  /** Four bytes per step, because the sink must be faster than the clients it measures. */
  add(bytes: Uint8Array, start: number, end: number): void {
    let { high, low } = this
    let at = start
    for (; at + 4 <= end; at += 4) {
      const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
      high = Math.imul(high ^ word, 2654435761)
      low = Math.imul(low ^ word ^ (word >>> 15), 1597334677)
      high ^= high >>> 15
    }
    for (; at < end; at++) {
      high = Math.imul(high ^ bytes[at]!, 2654435761)
      low = Math.imul(low ^ bytes[at]!, 1597334677)
    }
    this.high = high
    this.low = low
  }
}

/**
 * Counts distinct values by their 64-bit fingerprint, with open addressing over two arrays. With a million entries the
 * probability that two share a fingerprint is below one in ten million.
 */
export class DistinctSet {
  size = 0
  private high: Uint32Array
  private low: Uint32Array
  private mask: number

  constructor(slots = 1 << 16) {
    this.high = new Uint32Array(slots)
    this.low = new Uint32Array(slots)
    this.mask = slots - 1
  }

  /** Returns whether the fingerprint is new. */
  add(print: { high: number; low: number }): boolean {
    return this.insert(mix(print.high), mix(print.low))
  }

  private insert(high: number, lowBits: number): boolean {
    // A slot with two zeros is empty.
    const low = lowBits === 0 && high === 0 ? 1 : lowBits
    let at = (low ^ high) & this.mask
    while (this.low[at] !== 0 || this.high[at] !== 0) {
      if (this.low[at] === low && this.high[at] === high) return false
      at = (at + 1) & this.mask
    }
    this.high[at] = high
    this.low[at] = low
    this.size += 1
    if (this.size * 2 > this.mask) this.grow()
    return true
  }

  private grow(): void {
    const bigger = new DistinctSet((this.mask + 1) * 2)
    for (let at = 0; at <= this.mask; at++) {
      if (this.low[at] !== 0 || this.high[at] !== 0) bigger.insert(this.high[at]!, this.low[at]!)
    }
    this.high = bigger.high
    this.low = bigger.low
    this.mask = bigger.mask
  }
}

/** The finalizer of murmur3: without it similar fingerprints collide in the same slots. */
function mix(value: number): number {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
