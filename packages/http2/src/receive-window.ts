import { ConnectionError, defaultWindow, ErrorCode } from './frames.ts'

/**
 * The connection's receive window. Bytes are returned to it only when their reply is complete, so the window limits the memory
 * of unfinished replies.
 */
export class ReceiveWindow {
  readonly full: number
  private left: number
  private released = 0

  constructor(full: number) {
    this.full = Math.max(full, defaultWindow)
    this.left = this.full
  }

  take(bytes: number): void {
    this.left -= bytes
    if (this.left < 0) {
      throw new ConnectionError(ErrorCode.flowControlError, 'the server exceeded the receive window')
    }
  }

  /** These bytes are no longer in memory. */
  release(bytes: number): void {
    this.released += bytes
  }

  /** Returns the bytes to announce to the peer now: half a window at a time, sooner only when the peer's window is nearly used up. */
  takeReleased(): number {
    if (this.released * 2 < this.full && this.released < this.left) return 0
    const bytes = this.released
    this.left += bytes
    this.released = 0
    return bytes
  }
}
