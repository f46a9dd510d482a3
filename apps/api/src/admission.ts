import { Failure } from './codes.ts'

/**
 * Bounds what calls of one kind occupy at once, per application and in all, so that one application can neither exhaust the
 * process nor keep the others out.
 */
export type Admission = {
  /** Returns a function to call at the end. Throws Failure. */
  enter(appId: string, amount?: number): () => void
}

export function createAdmission(limits: { perApplication: number; all: number }): Admission {
  const byApplication = new Map<string, number>()
  let all = 0

  function change(appId: string, by: number): void {
    all += by
    const own = (byApplication.get(appId) ?? 0) + by
    if (own > 0) byApplication.set(appId, own)
    else byApplication.delete(appId)
  }

  return {
    enter(appId, amount = 1) {
      if ((byApplication.get(appId) ?? 0) + amount > limits.perApplication)
        throw new Failure(42901, 'Too many of these calls are in progress; try again later.', {
          retryAfter: 1,
        })
      if (all + amount > limits.all)
        throw new Failure(50301, 'Too many calls are in progress; nothing was accepted.', { retryAfter: 2 })
      change(appId, amount)
      let entered = true
      return () => {
        if (entered) change(appId, -amount)
        entered = false
      }
    },
  }
}

/** The same for calls that end soon: those beyond the limits wait, in the order of their application, the applications in turn. */
export type QueuedAdmission = {
  /** Resolves with a function to call at the end. Throws Failure when too many wait. */
  enter(appId: string): Promise<() => void>
}

type Line = { running: number; waiting: PromiseWithResolvers<void>[] }

export function createQueuedAdmission(limits: {
  perApplication: number
  all: number
  /** Maximum number of calls of an application that wait. */
  waiting: number
}): QueuedAdmission {
  // In the order of the next turns: an application that had its turn is inserted again, at the end.
  const lines = new Map<string, Line>()
  let running = 0

  function startWaiting(): void {
    for (const [appId, line] of lines) {
      if (running >= limits.all) return
      if (line.running >= limits.perApplication || line.waiting.length === 0) continue
      lines.delete(appId)
      lines.set(appId, line)
      line.running++
      running++
      line.waiting.shift()!.resolve()
    }
  }

  function leave(appId: string, line: Line): void {
    line.running--
    running--
    if (line.running === 0 && line.waiting.length === 0) lines.delete(appId)
    startWaiting()
  }

  return {
    async enter(appId) {
      const line = lines.get(appId) ?? { running: 0, waiting: [] }
      lines.set(appId, line)
      if (line.waiting.length >= limits.waiting)
        throw new Failure(42901, 'Too many of these calls wait; try again later.', { retryAfter: 1 })
      const turn = Promise.withResolvers<void>()
      line.waiting.push(turn)
      startWaiting()
      await turn.promise
      let entered = true
      return () => {
        if (entered) leave(appId, line)
        entered = false
      }
    },
  }
}
