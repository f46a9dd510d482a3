import { sleep } from '@herald/async'
import { isTransient } from '@herald/db/store'

export type LoopOptions = {
  name: string
  /** Pause after a round that left nothing to do. */
  idleMs: number
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
  let stopped = false
  let woken = false
  let pause = new AbortController()
  let endedAt = performance.now()
  let begunAt: number | undefined

  const running = (async () => {
    while (!stopped) {
      woken = false
      begunAt = performance.now()
      let waitMs = idleMs
      try {
        const more = await round()
        if (more !== false) waitMs = more === true ? 0 : more
      } catch (error) {
        onError(error, isTransient(error), name)
        waitMs = Math.max(idleMs, MIN_PAUSE_AFTER_ERROR_MS)
      }
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
  onError: OnLoopError
}): {
  wake(name: string): void
  health(): Record<string, ReturnType<Loop['health']>>
  stop(): Promise<void>
} {
  const { loops, check, checkMs, onError } = options
  const running = new Map(loops.map((loop) => [loop.name, startLoop({ ...loop, onError })]))
  let checks = 0
  async function wakeDue(): Promise<boolean> {
    const due = await check()
    checks++
    for (const { name, wokenBy, everyNthCheck = 1 } of loops)
      if (checks % everyNthCheck === 0 && wokenBy?.(due)) running.get(name)!.wake()
    return false
  }
  const watch = startLoop({ name: 'watch', idleMs: checkMs, round: wakeDue, onError })
  return {
    wake: (name) => running.get(name)?.wake(),
    health: () =>
      Object.fromEntries(
        [...running, ['watch', watch] as const].map(([name, loop]) => [name, loop.health()]),
      ),
    async stop() {
      await Promise.all([watch, ...running.values()].map((loop) => loop.stop()))
    },
  }
}
