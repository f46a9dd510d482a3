const chunkBytes = 65_536
/** Free chunks of all connections. With thousands of them, a chunk kept by each would take more memory than the connections. */
const spare: Buffer[] = []
const keptChunks = 64

/** Bytes to be written to the socket, in chunks large enough for hundreds of requests per write. */
export class Outbox {
  /** The chunk being filled: call `reserve`, write at `at`, then advance `at`. */
  chunk: Buffer = Buffer.alloc(0)
  at = 0
  private full: Buffer[] = []
  private fullBytes = 0

  get pendingBytes(): number {
    return this.fullBytes + this.at
  }

  /** Ensures that the current chunk has `bytes` free. */
  reserve(bytes: number): void {
    if (this.chunk.length - this.at >= bytes) return
    this.seal()
    this.chunk =
      bytes > chunkBytes ? Buffer.allocUnsafeSlow(bytes) : (spare.pop() ?? Buffer.allocUnsafeSlow(chunkBytes))
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
    if (piece.buffer.byteLength === chunkBytes && spare.length < keptChunks)
      spare.push(Buffer.from(piece.buffer))
  }

  private seal(): void {
    if (this.at > 0) {
      this.full.push(this.chunk.subarray(0, this.at))
      this.fullBytes += this.at
      this.chunk = Buffer.alloc(0)
    }
    this.at = 0
  }
}
