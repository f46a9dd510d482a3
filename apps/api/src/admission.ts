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
