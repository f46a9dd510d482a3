import { pingFrame } from './frames.ts'

/** Our own pings: one open at a time, each with its own number. */
export class Heartbeat {
  roundTripMs: number | undefined
  private sentAt: number | undefined
  private number = 0

  /** The frame to send, unless a ping is still open. */
  ask(now: number): Buffer | undefined {
    if (this.sentAt !== undefined) return undefined
    this.sentAt = now
    this.number += 1
    return pingFrame(this.payload(), false)
  }

  /** Whether the acknowledgement is the one waited for. */
  acknowledge(payload: Uint8Array, now: number): boolean {
    if (this.sentAt === undefined || !this.payload().equals(payload)) return false
    this.roundTripMs = now - this.sentAt
    this.sentAt = undefined
    return true
  }

  /** How long the open ping has waited. */
  waited(now: number): number {
    return this.sentAt === undefined ? 0 : now - this.sentAt
  }

  private payload(): Buffer {
    const payload = Buffer.alloc(8)
    payload.writeUInt32BE(this.number, 4)
    return payload
  }
}
