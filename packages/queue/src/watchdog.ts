/** What one look at a worker sees. `waiting` is undefined when the queue could not be asked. */
export type Look = {
  at: number
  taken: number
  free: boolean
  waiting: number | undefined
}

/** The worker has had a free slot and taken nothing since `idleSince`, while work waited at every look. */
export type Suspicion = { taken: number; idleSince: number } | undefined

/**
 * Decides whether a worker died without a word. Workers behind a failed-over or half-open server do: their
 * connection looks alive and no job ever arrives. A full worker, an empty or paused queue and a queue that
 * cannot be reached are no ground for suspicion.
 */
export function judge(
  before: Suspicion,
  look: Look,
  limitMs: number,
): { suspicion: Suspicion; dead: boolean } {
  if (!look.free || !look.waiting) return { suspicion: undefined, dead: false }
  if (!before || before.taken !== look.taken) {
    return { suspicion: { taken: look.taken, idleSince: look.at }, dead: false }
  }
  return { suspicion: before, dead: look.at - before.idleSince >= limitMs }
}

/** Looks four times per limit, so that death is told after at most one and a half limits. Returns how to stop. */
export function watch(options: {
  limitMs: number
  state: () => { taken: number; free: boolean }
  waiting: () => Promise<number>
  onDead: () => void
}): () => void {
  const { limitMs, state, waiting, onDead } = options
  let suspicion: Suspicion
  let takenBefore = state().taken
  let looking = false
  let stopped = false

  async function look(): Promise<void> {
    if (looking) return
    looking = true
    try {
      const { taken, free } = state()
      // A worker that took something lives: it need not cost the server a question.
      const quiet = free && taken === takenBefore
      takenBefore = taken
      const count = quiet ? await waiting().catch(() => undefined) : undefined
      const verdict = judge(suspicion, { at: performance.now(), ...state(), waiting: count }, limitMs)
      suspicion = verdict.suspicion
      if (verdict.dead && !stopped) {
        stop()
        onDead()
      }
    } finally {
      looking = false
    }
  }

  function stop(): void {
    stopped = true
    clearInterval(timer)
  }

  const timer = setInterval(look, limitMs / 4)
  return stop
}
