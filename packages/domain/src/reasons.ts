import type { Reason } from './reason-codes.ts'

/** A reason with the number of devices it applies to on a channel, and a few of their ids as samples. */
export type ReasonCount = Reason & { fate: Fate; count: number; samples: number[] }
type Fate = 'failed' | 'moved' | 'expired' | 'cancelled'

/**
 * A reason with the places of its recipients in the batch, from 0, as it is stored with the batch: fate, code, text, places. `pending`: why
 * these recipients wait.
 */
export type Why = { f: Fate | 'pending'; c: string; t: string; p: number[] }

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
  const groups = new Map<string, { why: Why; count: number; samples: number[] }>()
  return {
    /**
     * `place` is the index of the recipient in its batch. Without `device` for one that was removed: samples are of devices that can be
     * looked up.
     */
    note(fate: Why['f'], { code, text }: Reason, device?: number, place?: number): void {
      const key = `${fate} ${code}`
      let group = groups.get(key)
      if (!group) {
        group = { why: { f: fate, c: clip(code), t: clip(text), p: [] }, count: 0, samples: [] }
        groups.set(key, group)
      }
      group.count++
      if (place !== undefined) group.why.p.push(place)
      if (device !== undefined && group.samples.length < MAX_SAMPLES) group.samples.push(device)
    },
    reasons: (): ReasonCount[] =>
      [...groups.values()].flatMap(({ why: { f: fate, c: code, t: text }, count, samples }) =>
        fate === 'pending' ? [] : [{ fate, code, text, count, samples }],
      ),
    whys: (): Why[] => [...groups.values()].map(({ why }) => why),
  }
}
