import { pingFrame } from './frames.ts'

/** The pings that we send: one at a time, each with its own number. */
export class Heartbeat {
  roundTripMs: number | undefined
  private sentAt: number | undefined
  private number = 0

  /** Returns the frame to send, unless a ping is still unacknowledged. */
  start(now: number): Buffer | undefined {
    if (this.sentAt !== undefined) return undefined
    this.sentAt = now
    this.number += 1
    return pingFrame(this.payload(), false)
  }

  /** Returns whether the acknowledgement belongs to the open ping. */
  acknowledge(payload: Uint8Array, now: number): boolean {
    if (this.sentAt === undefined || !this.payload().equals(payload)) return false
    this.roundTripMs = now - this.sentAt
    this.sentAt = undefined
    return true
  }

  /** Milliseconds since the open ping was sent; 0 if none is open. */
  waited(now: number): number {
    return this.sentAt === undefined ? 0 : now - this.sentAt
  }

  private payload(): Buffer {
    const payload = Buffer.alloc(8)
    payload.writeUInt32BE(this.number, 4)
    return payload
  }
}
