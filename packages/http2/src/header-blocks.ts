import { ConnectionError, ErrorCode, Flag } from './frames.ts'
import { type FieldList, HpackDecoder, HpackError } from './hpack/decoder.ts'

export type HeaderBlock = { stream: number; endStream: boolean; list: FieldList }

const maxContinuations = 1024

/** Joins HEADERS and its CONTINUATION frames and decodes them, with limits on size and number. */
export class HeaderBlocks {
  private readonly decoder: HpackDecoder
  private readonly maxBlockBytes: number
  private parts: Buffer[] = []
  private bytes = 0
  private stream = 0
  private endStream = false

  constructor(maxListBytes: number) {
    this.decoder = new HpackDecoder(maxListBytes)
    // Encoded fields are hardly ever longer than their plain form.
    this.maxBlockBytes = maxListBytes * 2
  }

  /** The stream whose CONTINUATION must come next, or 0. */
  get openStream(): number {
    return this.stream
  }

  /** Returns the block when the frame completes it. */
  headers(flags: number, stream: number, bytes: Buffer, start: number, end: number): HeaderBlock | undefined {
    let from = start
    let to = end
    if (flags & Flag.padded) {
      to -= bytes[from]! ?? 0
      from += 1
    }
    if (flags & Flag.priority) from += 5
    if (from > to || to > end) {
      throw new ConnectionError(ErrorCode.protocolError, 'HEADERS is shorter than its padding and priority')
    }
    const endStream = (flags & Flag.endStream) !== 0
    if (flags & Flag.endHeaders) return { stream, endStream, list: this.decode(bytes, from, to) }
    this.stream = stream
    this.endStream = endStream
    this.keep(bytes, from, to)
    return undefined
  }

  continuation(flags: number, bytes: Buffer, start: number, end: number): HeaderBlock | undefined {
    this.keep(bytes, start, end)
    if ((flags & Flag.endHeaders) === 0) return undefined
    const block = Buffer.concat(this.parts)
    const { stream, endStream } = this
    this.parts = []
    this.bytes = 0
    this.stream = 0
    return { stream, endStream, list: this.decode(block, 0, block.length) }
  }

  private keep(bytes: Buffer, start: number, end: number): void {
    this.bytes += end - start
    if (this.bytes > this.maxBlockBytes || this.parts.length > maxContinuations) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm, 'a header block is too long')
    }
    this.parts.push(Buffer.from(bytes.subarray(start, end)))
  }

  private decode(bytes: Buffer, start: number, end: number): FieldList {
    try {
      return this.decoder.decode(bytes, start, end)
    } catch (error) {
      if (!(error instanceof HpackError)) throw error
      throw new ConnectionError(
        ErrorCode.compressionError,
        `a header block cannot be decoded: ${error.message}`,
      )
    }
  }
}
