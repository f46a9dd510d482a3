/** One observation of a worker. `waiting` is undefined when the queue did not answer. */
export type Observation = {
  at: number
  taken: number
  free: boolean
  waiting: number | undefined
}

/** Since `idleSince` the worker had a free slot and took nothing, while jobs waited at every observation. */
export type Suspicion = { taken: number; idleSince: number } | undefined

/**
 * Decides whether a worker is dead. A worker behind a failed-over or half-open server can be: its connection looks alive
 * and no job arrives. A busy worker, an empty or paused queue and an unreachable queue are no evidence.
 */
export function judge(
  before: Suspicion,
  seen: Observation,
  limitMs: number,
): { suspicion: Suspicion; dead: boolean } {
  if (!seen.free || !seen.waiting) return { suspicion: undefined, dead: false }
  if (!before || before.taken !== seen.taken) {
    return { suspicion: { taken: seen.taken, idleSince: seen.at }, dead: false }
  }
  return { suspicion: before, dead: seen.at - before.idleSince >= limitMs }
}

/** Observes four times per limit, so that a death is reported after at most one and a half limits. Returns a stop function. */
export function watch(options: {
  limitMs: number
  state: () => { taken: number; free: boolean }
  waiting: () => Promise<number>
  onDead: () => void
}): () => void {
  const { limitMs, state, waiting, onDead } = options
  let suspicion: Suspicion
  let takenBefore = state().taken
  let observing = false
  let stopped = false

  async function observe(): Promise<void> {
    if (observing) return
    observing = true
    try {
      const { taken, free } = state()
      // A worker that took a job is alive: the server is not queried.
      const isIdle = free && taken === takenBefore
      takenBefore = taken
      const count = isIdle ? await waiting().catch(() => undefined) : undefined
      const verdict = judge(suspicion, { at: performance.now(), ...state(), waiting: count }, limitMs)
      suspicion = verdict.suspicion
      if (verdict.dead && !stopped) {
        stop()
        onDead()
      }
    } finally {
      observing = false
    }
  }

  function stop(): void {
    stopped = true
    clearInterval(timer)
  }

  const timer = setInterval(observe, limitMs / 4)
  return stop
}
