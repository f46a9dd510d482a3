import { ConnectionError, defaultFrameSize, ErrorCode, frameHeaderBytes, readUint32 } from './frames.ts'

/**
 * One whole frame; its payload is `bytes` from `start` to `end`, valid only during the call. If it returns false, the reader
 * stops: the connection has ended and the remaining bytes are ignored.
 */
export type OnFrame = (
  type: number,
  flags: number,
  stream: number,
  bytes: Buffer,
  start: number,
  end: number,
) => boolean

const noBytes: Buffer = Buffer.alloc(0)

/** Cuts a byte stream into frames. A frame that is complete in one chunk is not copied. */
export class FrameReader {
  private readonly onFrame: OnFrame
  /**
   * The first bytes of an incomplete frame; `partialBytes` of them are valid. Made when the first frame is cut: most of thousands of
   * connections never get one.
   */
  private partial = noBytes
  private partialBytes = 0
  private stopped = false

  constructor(onFrame: OnFrame) {
    this.onFrame = onFrame
  }

  push(chunk: Buffer): void {
    let at = this.partialBytes > 0 ? this.completePartial(chunk) : 0
    const end = chunk.length
    while (!this.stopped && end - at >= frameHeaderBytes) {
      const next = at + frameHeaderBytes + frameLength(chunk, at)
      if (next > end) break
      this.emit(chunk, at, next)
      at = next
    }
    if (this.stopped || at >= end) return
    if (this.partial === noBytes) this.partial = Buffer.allocUnsafeSlow(frameHeaderBytes + defaultFrameSize)
    this.partial.set(chunk.subarray(at, end), 0)
    this.partialBytes = end - at
  }

  /** Returns the number of bytes of the chunk that belonged to the incomplete frame. */
  private completePartial(chunk: Buffer): number {
    let at = 0
    for (const part of ['header', 'payload'] as const) {
      const wanted = part === 'header' ? frameHeaderBytes : frameHeaderBytes + frameLength(this.partial, 0)
      const taken = Math.min(Math.max(wanted - this.partialBytes, 0), chunk.length - at)
      this.partial.set(chunk.subarray(at, at + taken), this.partialBytes)
      at += taken
      this.partialBytes += taken
      if (this.partialBytes < wanted) return at
    }
    const length = this.partialBytes
    this.partialBytes = 0
    this.emit(this.partial, 0, length)
    return at
  }

  private emit(bytes: Buffer, at: number, next: number): void {
    // The highest bit of the stream id is reserved and ignored.
    const stream = readUint32(bytes, at + 5) & 0x7fffffff
    const more = this.onFrame(bytes[at + 3]!, bytes[at + 4]!, stream, bytes, at + frameHeaderBytes, next)
    if (!more) this.stopped = true
  }
}

function frameLength(bytes: Buffer, at: number): number {
  const length = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!
  if (length > defaultFrameSize) {
    throw new ConnectionError(
      ErrorCode.frameSizeError,
      `a frame of ${length} bytes is larger than ${defaultFrameSize}`,
    )
  }
  return length
}
