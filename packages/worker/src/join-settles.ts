import type { Attempt } from './attempt.ts'

/**
 * How long a part of a job that has ended waits for the others. A vendor that hangs for one application must not delay the results
 * of the rest, which would be sent again if this process died.
 */
const JOIN_MS = 200

export type JoinedSettles = {
  /** Resolves when the attempts are settled. */
  settle(attempts: readonly Attempt[]): Promise<void>
  /** A part ended without results. */
  leave(): void
}

type Group = PromiseWithResolvers<void> & { attempts: Attempt[]; timer?: NodeJS.Timeout }

/** Settles the parts of a job together: all that end within JOIN_MS of each other cost one statement. */
export function joinSettles(parts: number, settle: (attempts: Attempt[]) => Promise<void>): JoinedSettles {
  let left = parts
  let group: Group | undefined

  function flush(): void {
    if (!group) return
    const { attempts, timer, resolve, reject } = group
    group = undefined
    clearTimeout(timer)
    settle(attempts).then(resolve, reject)
  }

  return {
    settle(attempts) {
      left--
      group ??= { ...Promise.withResolvers<void>(), attempts: [], timer: setTimeout(flush, JOIN_MS) }
      const { promise } = group
      group.attempts.push(...attempts)
      if (left === 0) flush()
      return promise
    },
    leave() {
      left--
      if (left === 0) flush()
    },
  }
}
