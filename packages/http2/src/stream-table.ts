import type { Stream } from './stream.ts'

const fewestSlots = 16

const emptyRing = (slots: number) => new Array<Stream | undefined>(slots).fill(undefined)

/**
 * The open streams by id. A Map would rehash continuously as streams come and go, which cost an eighth of the protocol's CPU
 * time. Ids only grow, so a ring contains nearly all; a stream whose slot is needed again moves to `overflow`. The ring begins small,
 * because most of thousands of connections have one stream at a time.
 */
export class StreamTable {
  size = 0
  private ring: (Stream | undefined)[] = emptyRing(fewestSlots)
  private mask = fewestSlots - 1
  private readonly maxSlots: number
  private readonly overflow = new Map<number, Stream>()

  constructor(expected: number) {
    this.maxSlots = 2 ** Math.ceil(Math.log2(Math.max(expected, 16) * 2))
  }

  get(id: number): Stream | undefined {
    const stream = this.ring[(id >>> 1) & this.mask]
    if (stream !== undefined && stream.id === id) return stream
    return this.overflow.size === 0 ? undefined : this.overflow.get(id)
  }

  add(stream: Stream): void {
    if (this.size * 2 >= this.ring.length && this.ring.length < this.maxSlots) this.grow()
    this.size += 1
    this.place(stream)
  }

  private grow(): void {
    const streams = this.all().sort((one, other) => one.id - other.id)
    const slots = this.ring.length * 2
    this.ring = emptyRing(slots)
    this.mask = slots - 1
    this.overflow.clear()
    for (const stream of streams) this.place(stream)
  }

  private place(stream: Stream): void {
    const slot = (stream.id >>> 1) & this.mask
    const older = this.ring[slot]
    if (older !== undefined) this.overflow.set(older.id, older)
    this.ring[slot] = stream
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
