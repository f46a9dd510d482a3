/** Why devices ended as they did on a channel, with a few of them to look at. */
export type Reason = { fate: Fate; reason: string; count: number; samples: number[] }
type Fate = 'failed' | 'moved' | 'expired' | 'cancelled'

export const ownerChanged = 'the device belongs to another user now'

const SAMPLES = 10
const REASON_CHARS = 300

/**
 * Vendors' words as Postgres can keep them: no NUL, no half of a surrogate pair, no longer than an index entry may be. A
 * reason that cannot be written would undo the whole settle, and everybody in it would be sent to again.
 */
export function clip(words: string): string {
  return words.replaceAll('\0', '').slice(0, REASON_CHARS).toWellFormed()
}

/** Groups devices by fate and reason. */
export function gatherReasons() {
  const groups = new Map<string, Reason>()
  return {
    note(fate: Fate, words: string, device: number): void {
      const reason = clip(words)
      const key = `${fate} ${reason}`
      const group = groups.get(key) ?? { fate, reason, count: 0, samples: [] }
      group.count++
      if (group.samples.length < SAMPLES) group.samples.push(device)
      groups.set(key, group)
    },
    reasons: (): Reason[] => [...groups.values()],
  }
}
