import type { Stream } from './stream.ts'

/**
 * The open streams by id. A Map would do, but with streams coming and going it rebuilds itself over and over, an eighth of the
 * protocol's whole cost. Ids only grow, so a ring holds nearly all; one that outlives a whole turn of it moves aside.
 */
export class StreamTable {
  size = 0
  private readonly ring: (Stream | undefined)[]
  private readonly mask: number
  private readonly aside = new Map<number, Stream>()

  constructor(expected: number) {
    const slots = 2 ** Math.ceil(Math.log2(Math.max(expected, 16) * 2))
    this.ring = new Array<Stream | undefined>(slots).fill(undefined)
    this.mask = slots - 1
  }

  get(id: number): Stream | undefined {
    const stream = this.ring[(id >>> 1) & this.mask]
    if (stream !== undefined && stream.id === id) return stream
    return this.aside.size === 0 ? undefined : this.aside.get(id)
  }

  add(stream: Stream): void {
    const slot = (stream.id >>> 1) & this.mask
    const older = this.ring[slot]
    if (older !== undefined) this.aside.set(older.id, older)
    this.ring[slot] = stream
    this.size += 1
  }

  delete(stream: Stream): void {
    const slot = (stream.id >>> 1) & this.mask
    if (this.ring[slot] === stream) this.ring[slot] = undefined
    else if (!this.aside.delete(stream.id)) return
    this.size -= 1
  }

  /** A copy, so that streams may go while it is walked. */
  all(): Stream[] {
    const streams = [...this.aside.values()]
    if (this.size > streams.length) {
      for (const stream of this.ring) if (stream !== undefined) streams.push(stream)
    }
    return streams
  }
}
