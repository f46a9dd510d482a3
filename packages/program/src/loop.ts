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
