const chunkBytes = 65_536
/** Enough for one or two requests, which is what most calls of thousands of connections write. */
const smallBytes = 4_096
/**
 * Free chunks of all connections. With thousands of them, a chunk kept by each would take more memory than the connections. Too few would be
 * worse: V8 counts the memory of chunks that are dropped, and collects the whole heap each time they add up to some megabytes.
 */
const spare: Buffer[] = []
const keptChunks = 64
const spareSmall: Buffer[] = []
const keptSmall = 1_024

const none: Buffer = Buffer.alloc(0)

/** Bytes to be written to the socket, in chunks large enough for hundreds of requests per write. The first of a write is small. */
export class Outbox {
  /** The chunk being filled: call `reserve`, write at `at`, then advance `at`. */
  chunk: Buffer = none
  at = 0
  private full: Buffer[] = []
  private fullBytes = 0

  get pendingBytes(): number {
    return this.fullBytes + this.at
  }

  /** Ensures that the current chunk has `bytes` free. */
  reserve(bytes: number): void {
    if (this.chunk.length - this.at >= bytes) return
    if (this.at > 0 && this.chunk.length === smallBytes) {
      this.enlarge(bytes)
      return
    }
    this.seal()
    this.chunk =
      bytes <= smallBytes && this.fullBytes === 0
        ? (spareSmall.pop() ?? Buffer.allocUnsafeSlow(smallBytes))
        : largeChunk(bytes)
  }

  put(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.chunk.set(bytes, this.at)
    this.at += bytes.length
  }

  /** Returns what is to be written now. Pass each piece to `recycle` once the socket has written it. */
  take(): Buffer[] {
    this.seal()
    const taken = this.full
    this.full = []
    this.fullBytes = 0
    return taken
  }

  recycle(piece: Buffer): void {
    const { byteLength } = piece.buffer
    if (byteLength === smallBytes && spareSmall.length < keptSmall) spareSmall.push(Buffer.from(piece.buffer))
    else if (byteLength === chunkBytes && spare.length < keptChunks) spare.push(Buffer.from(piece.buffer))
  }

  /** Moves the bytes of a small chunk into a large one: a piece of its own would be a write, and a TLS record, of its own. */
  private enlarge(bytes: number): void {
    const small = this.chunk
    this.chunk = largeChunk(this.at + bytes)
    this.chunk.set(small.subarray(0, this.at))
    this.recycle(small)
  }

  private seal(): void {
    if (this.at > 0) {
      this.full.push(this.chunk.subarray(0, this.at))
      this.fullBytes += this.at
      this.chunk = none
    }
    this.at = 0
  }
}

function largeChunk(bytes: number): Buffer {
  return bytes > chunkBytes
    ? Buffer.allocUnsafeSlow(bytes)
    : (spare.pop() ?? Buffer.allocUnsafeSlow(chunkBytes))
}
