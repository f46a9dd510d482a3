import { ConnectionError, defaultWindow, ErrorCode } from './frames.ts'

/**
 * The connection's receive window. Bytes count as received until the answer they belong to is done, so the window bounds
 * the memory that unfinished answers take.
 */
export class ReceiveWindow {
  readonly full: number
  private left: number
  private free = 0

  constructor(full: number) {
    this.full = Math.max(full, defaultWindow)
    this.left = this.full
  }

  take(bytes: number): void {
    this.left -= bytes
    if (this.left < 0) {
      throw new ConnectionError(
        ErrorCode.flowControlError,
        'the server sent more than the window it was given',
      )
    }
  }

  /** These bytes are held no longer. */
  release(bytes: number): void {
    this.free += bytes
  }

  /** What to give back to the peer now: half a window at a time, sooner only when the peer is about to run dry. */
  giveBack(): number {
    if (this.free * 2 < this.full && this.free < this.left) return 0
    const given = this.free
    this.left += given
    this.free = 0
    return given
  }
}
