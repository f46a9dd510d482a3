import type { Found } from '@herald/db/tasks'

/**
 * A search that continues where it ended: each step looks at a limited number of certificates or tasks, so its cost does not depend on
 * how many there are, and after the last one the search begins again.
 */
export type Turn = {
  /** The id after which the next step looks. */
  after: number
  /** Found since the turn began, and in the turn before. */
  found: number
  foundBefore: number
}

export const newTurn = (): Turn => ({ after: 0, found: 0, foundBefore: 0 })

/** Looks at the next ones and returns what it found. */
export async function step<Item>(turn: Turn, look: (after: number) => Promise<Found<Item>>): Promise<Item[]> {
  const { found, next } = await look(turn.after)
  turn.after = next ?? 0
  turn.found += found.length
  if (next === undefined) {
    turn.foundBefore = turn.found
    turn.found = 0
  }
  return found
}

/** How many there are in all, as far as the present and the last turn know. */
export const knownIn = (turn: Turn): number => Math.max(turn.found, turn.foundBefore)

/** Whether one of the searches has not reached its last certificate or task. */
export const isUnfinished = (turns: { certificates: Turn; tasks: Turn }): boolean =>
  turns.certificates.after > 0 || turns.tasks.after > 0
