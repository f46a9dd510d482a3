import { createFairQueue } from '@herald/async'
import { Failure } from '../codes.ts'

/** Lets calls begin a few at a time, the applications in turn. */
export type CallTurns = {
  /** Resolves when the call may begin. Throws Failure when too many wait. */
  enter(appId: string): Promise<void>
}

/** Calls that begin per turn of the event loop: a few milliseconds of CPU. */
const PER_TURN = 16
const MAX_WAITING = { perKey: 5_000, all: 10_000 }

/**
 * A turn of the event loop handles every request that has arrived. With a thousand connections of one application that takes a
 * second, in which the calls of all others wait, and so does every reply of Postgres: a statement would take a second, also those
 * of the planner and the workers in the same process. With a limit per turn replies arrive in between, and other applications wait
 * for one call of each, not for all. An idle process lets calls begin at once.
 */
export function createCallTurns(): CallTurns {
  const waiting = createFairQueue<PromiseWithResolvers<void>>(MAX_WAITING)
  let begun = 0
  let scheduled = false

  function schedule(): void {
    if (!scheduled) setImmediate(nextTurn)
    scheduled = true
  }

  function nextTurn(): void {
    scheduled = false
    const next = waiting.take(PER_TURN)
    begun = next.length
    for (const call of next) call.resolve()
    if (begun > 0) schedule()
  }

  return {
    enter(appId) {
      schedule()
      const call = Promise.withResolvers<void>()
      if (begun < PER_TURN && waiting.size() === 0) {
        begun++
        call.resolve()
      } else
        waiting
          .add(appId, call)
          ?.reject(new Failure(50301, 'Too many calls wait; nothing was accepted.', { retryAfter: 2 }))
      return call.promise
    },
  }
}
