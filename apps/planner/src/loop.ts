import { sleep } from '@herald/async'
import { isTransient } from '@herald/db/store'

export type LoopOptions = {
  name: string
  /** Pause after a round that left nothing to do. */
  idleMs: number | (() => number)
  /** A round that takes longer hangs (default five minutes). */
  limitMs?: number
  /** Returns true to run again at once, or the pause in milliseconds. */
  round(): Promise<boolean | number>
}
export type OnLoopError = (error: unknown, transient: boolean, loop: string) => void

export type Loop = {
  /** Ends the pause. */
  wake(): void
  /** Milliseconds since the last round ended, or since the start; `hangs` if the present round is too long. */
  health(): { age: number; hangs: boolean }
  /** Resolves when the round in progress has ended. */
  stop(): Promise<void>
}

const MIN_PAUSE_AFTER_ERROR_MS = 250
/** Statements end after a minute, and most rounds have a few. */
const ROUND_LIMIT_MS = 300_000

/** Repeats `round` until stopped. A round that fails is reported and repeated after the pause. */
export function startLoop(options: LoopOptions & { onError: OnLoopError }): Loop {
  const { name, idleMs, limitMs = ROUND_LIMIT_MS, round, onError } = options
  const pauseMs = () => (typeof idleMs === 'function' ? idleMs() : idleMs)
  let stopped = false
  let woken = false
  let pause = new AbortController()
  let endedAt = performance.now()
  let begunAt: number | undefined

  const running = (async () => {
    while (!stopped) {
      woken = false
      begunAt = performance.now()
      let failed = false
      let more: boolean | number = false
      try {
        more = await round()
      } catch (error) {
        onError(error, isTransient(error), name)
        failed = true
      }
      let waitMs = more === true ? 0 : more === false ? pauseMs() : more
      if (failed) waitMs = Math.max(waitMs, MIN_PAUSE_AFTER_ERROR_MS)
      endedAt = performance.now()
      begunAt = undefined
      if (waitMs === 0 || woken || stopped) continue
      pause = new AbortController()
      await sleep(waitMs, pause.signal)
    }
  })()

  return {
    wake() {
      woken = true
      pause.abort()
    },
    health() {
      const now = performance.now()
      return { age: now - endedAt, hangs: begunAt !== undefined && now - begunAt > limitMs }
    },
    stop() {
      stopped = true
      pause.abort()
      return running
    },
  }
}

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
