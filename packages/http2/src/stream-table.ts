import type { Stream } from './stream.ts'

/**
 * The open streams by id. A Map would rehash continuously as streams come and go, which cost an eighth of the protocol's CPU
 * time. Ids only grow, so a ring contains nearly all; a stream whose slot is needed again moves to `overflow`.
 */
export class StreamTable {
  size = 0
  private readonly ring: (Stream | undefined)[]
  private readonly mask: number
  private readonly overflow = new Map<number, Stream>()

  constructor(expected: number) {
    const slots = 2 ** Math.ceil(Math.log2(Math.max(expected, 16) * 2))
    this.ring = new Array<Stream | undefined>(slots).fill(undefined)
    this.mask = slots - 1
  }

  get(id: number): Stream | undefined {
    const stream = this.ring[(id >>> 1) & this.mask]
    if (stream !== undefined && stream.id === id) return stream
    return this.overflow.size === 0 ? undefined : this.overflow.get(id)
  }

  add(stream: Stream): void {
    const slot = (stream.id >>> 1) & this.mask
    const older = this.ring[slot]
    if (older !== undefined) this.overflow.set(older.id, older)
    this.ring[slot] = stream
    this.size += 1
  }

  delete(stream: Stream): void {
    const slot = (stream.id >>> 1) & this.mask
    if (this.ring[slot] === stream) this.ring[slot] = undefined
    else if (!this.overflow.delete(stream.id)) return
    this.size -= 1
  }

  /** Returns a copy, so that streams may be deleted while it is iterated. */
  all(): Stream[] {
    const streams = [...this.overflow.values()]
    if (this.size > streams.length) {
      for (const stream of this.ring) if (stream !== undefined) streams.push(stream)
    }
    return streams
  }
}
