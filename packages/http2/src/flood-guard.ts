import { ConnectionError, ErrorCode } from './frames.ts'

const maxFrames = 10_000
const periodMs = 10_000

/** Counts frames without effect (PING, SETTINGS, empty DATA, closed streams). Too many without a reply in between are an attack. */
export class FloodGuard {
  private frames = 0
  private since = Number.NEGATIVE_INFINITY

  count(now: number): void {
    if (now - this.since > periodMs) {
      this.frames = 0
      this.since = now
    }
    this.frames += 1
    if (this.frames > maxFrames) {
      throw new ConnectionError(
        ErrorCode.enhanceYourCalm,
        'the server floods the connection with frames without effect',
      )
    }
  }

  reset(): void {
    this.frames = 0
  }
}
