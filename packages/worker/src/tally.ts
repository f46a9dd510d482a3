import type { Results } from './attempt.ts'

export type Tally = Map<string, { kind: string; code: string; count: number }>

/** Counts outcomes by kind and code of the reason, without those accepted, which the settle counts. */
export function tallyResults(results: Readonly<Results>): Tally {
  const tally: Tally = new Map()
  for (const result of results) {
    if (!result || !('reason' in result) || result.kind === 'unsent' || result.kind === 'deferred') continue
    const { kind } = result
    const { code } = result.reason
    const key = `${kind} ${code}`
    const seen = tally.get(key)
    if (seen) seen.count++
    else tally.set(key, { kind, code, count: 1 })
  }
  return tally
}
