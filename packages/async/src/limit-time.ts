/** A timer that is this late follows a stall of the event loop. */
const STALL_MS = 1_000

/**
 * For the callback of a timer that was due at `dueAt`. After a stall of the event loop Node runs timers before it reads sockets, and
 * replies that have arrived would count as too late: `work` is then called a turn later, when they were read.
 */
export function runWhenRead(dueAt: number, work: () => void): NodeJS.Immediate | undefined {
  if (performance.now() - dueAt >= STALL_MS) return setImmediate(work)
  work()
  return undefined
}

/** Calls `end` after `ms`, after a stall when sockets were read; the returned function prevents that. */
export function limitTime(ms: number, end: () => void): () => void {
  const dueAt = performance.now() + ms
  let turn: NodeJS.Immediate | undefined
  const timer = setTimeout(() => {
    turn = runWhenRead(dueAt, end)
  }, ms)
  return () => {
    clearTimeout(timer)
    clearImmediate(turn)
  }
}
