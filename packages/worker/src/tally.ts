import type { Reason } from '@herald/domain'
import type { Results } from './attempt.ts'

export type Tally = Map<string, { kind: string; reason: Reason; count: number }>

/** Counts outcomes by kind and code of the reason, with the first text of each, without those accepted, which the settle counts. */
export function tallyResults(results: Readonly<Results>): Tally {
  const tally: Tally = new Map()
  for (const result of results) {
    if (!result || !('reason' in result) || result.kind === 'unsent' || result.kind === 'deferred') continue
    const { kind, reason } = result
    const key = `${kind} ${reason.code}`
    const seen = tally.get(key)
    if (seen) seen.count++
    else tally.set(key, { kind, reason, count: 1 })
  }
  return tally
}
