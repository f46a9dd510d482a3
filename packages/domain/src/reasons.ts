import type { Reason } from './reason-codes.ts'

/** A reason with the number of devices it applies to on a channel, and a few of their ids as samples. */
export type ReasonCount = Reason & { fate: Fate; count: number; samples: number[] }
type Fate = 'failed' | 'moved' | 'expired' | 'cancelled'

const MAX_SAMPLES = 10
const MAX_CHARS = 300

/**
 * Makes a vendor's text fit for Postgres: no NUL, no half of a surrogate pair, not longer than an index entry may be. A reason
 * that cannot be stored would roll back the whole settle, and all its recipients would be sent to again.
 */
export function clip(text: string): string {
  return text.replaceAll('\0', '').slice(0, MAX_CHARS).toWellFormed()
}

/** Groups devices by fate and code; a group keeps its first text. */
export function groupReasons() {
  const groups = new Map<string, ReasonCount>()
  return {
    /** Without `device` for one that was removed: samples are of devices that can be looked up. */
    note(fate: Fate, { code, text }: Reason, device?: number): void {
      const key = `${fate} ${code}`
      let group = groups.get(key)
      if (!group) {
        group = { fate, code: clip(code), text: clip(text), count: 0, samples: [] }
        groups.set(key, group)
      }
      group.count++
      if (device !== undefined && group.samples.length < MAX_SAMPLES) group.samples.push(device)
    },
    reasons: (): ReasonCount[] => [...groups.values()],
  }
}
