import type { Answer } from '@herald/domain'

export type Tally = Map<string, { kind: string; reason: string; count: number }>

/** How often each outcome that is not a success came, with its reason; successes are counted by the settle. */
export function tallyAnswers(answers: ReadonlyMap<number, Answer>): Tally {
  const tally: Tally = new Map()
  for (const answer of answers.values()) {
    if (!('reason' in answer)) continue
    const { kind, reason } = answer
    const key = `${kind} ${reason}`
    const seen = tally.get(key)
    if (seen) seen.count++
    else tally.set(key, { kind, reason, count: 1 })
  }
  return tally
}
