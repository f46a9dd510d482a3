/** A timer that is this late follows a stall of the event loop. */
const STALL_MS = 1_000

/**
 * Calls `end` after `ms`; the returned function prevents that. After a stall of the event loop Node runs timers before it reads sockets,
 * and replies that have arrived would count as too late: `end` is then called a turn later, when they were read.
 */
export function limitTime(ms: number, end: () => void): () => void {
  const dueAt = performance.now() + ms
  let turn: NodeJS.Immediate | undefined
  const timer = setTimeout(() => {
    if (performance.now() - dueAt >= STALL_MS) turn = setImmediate(end)
    else end()
  }, ms)
  return () => {
    clearTimeout(timer)
    clearImmediate(turn)
  }
}
