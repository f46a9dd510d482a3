import { type Loop, type LoopOptions, type OnLoopError, startLoop } from '@herald/program'

/** A loop that is also woken by due work. */
export type WatchedLoop<Due> = LoopOptions & {
  wokenBy?(due: Due): boolean
  /** Only every nth check wakes this loop (default 1). */
  everyNthCheck?: number
}

/** Starts all loops, and one that calls `check` every `checkMs` and wakes those with due work. */
export function startLoops<Due>(options: {
  loops: readonly WatchedLoop<Due>[]
  check(): Promise<Due>
  checkMs: number
  /** It is quiet when no check found due work for this long (default: never), and nothing was noted. */
  quietAfterMs?: number
  /** The pause after a check while it is quiet (default `checkMs`). For callers that `note` what may have become due. */
  quietCheckMs?(due: Due): number
  /** A check found something due. */
  onDue?(): void
  onError: OnLoopError
}): {
  wake(name: string): void
  isQuiet(): boolean
  /** Something may have become due: checks at once, and is not quiet. */
  note(): void
  health(): Record<string, ReturnType<Loop['health']>>
  stop(): Promise<void>
} {
  const {
    loops,
    check,
    checkMs,
    quietAfterMs = Number.POSITIVE_INFINITY,
    quietCheckMs,
    onDue,
    onError,
  } = options
  let checks = 0
  let busyAt = performance.now()
  const isQuiet = () => performance.now() - busyAt > quietAfterMs
  async function wakeDue(): Promise<boolean | number> {
    const due = await check()
    checks++
    if (loops.some(({ wokenBy }) => wokenBy?.(due))) {
      busyAt = performance.now()
      onDue?.()
    }
    for (const { name, wokenBy, everyNthCheck = 1 } of loops)
      if (checks % everyNthCheck === 0 && wokenBy?.(due)) running.get(name)!.wake()
    return isQuiet() && quietCheckMs ? quietCheckMs(due) : false
  }
  const running = new Map(loops.map((loop) => [loop.name, startLoop({ ...loop, onError })]))
  const watch = startLoop({ name: 'watch', idleMs: checkMs, round: wakeDue, onError })
  return {
    wake: (name) => running.get(name)?.wake(),
    isQuiet,
    note() {
      const wasQuiet = isQuiet()
      busyAt = performance.now()
      // Otherwise the next check comes soon, and thousands of notes per second must not cause thousands of checks.
      if (wasQuiet) watch.wake()
    },
    health: () =>
      Object.fromEntries(
        [...running, ['watch', watch] as const].map(([name, loop]) => [name, loop.health()]),
      ),
    async stop() {
      await Promise.all([watch, ...running.values()].map((loop) => loop.stop()))
    },
  }
}
