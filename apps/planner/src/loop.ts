import { isTransient } from '@herald/db/store'

export type Loop = {
  /** Runs the next round at once. */
  wake(): void
  /** Lets the round under way end. */
  stop(): Promise<void>
}

/**
 * Repeats `round` until stopped: at once while it says there is more to do, after `idleMs` otherwise. A failing round is told
 * and tried again; only an error here could stop the machine for good.
 */
export function startLoop(options: {
  idleMs: number
  /** True = call again at once; a number = after so many ms. */
  round(): Promise<boolean | number>
  onError(error: unknown, passing: boolean): void
}): Loop {
  let stopped = false
  let woken = false
  let wakeUp = () => {}
  const wake = () => {
    woken = true
    wakeUp()
  }

  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      if (woken || stopped) return resolve()
      const timer = setTimeout(resolve, ms)
      wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  const running = (async () => {
    while (!stopped) {
      woken = false
      let wait = options.idleMs
      try {
        const more = await options.round()
        wait = more === true ? 0 : more === false ? options.idleMs : more
      } catch (error) {
        options.onError(error, isTransient(error))
        wait = Math.max(wait, 250)
      }
      if (wait > 0) await pause(wait)
    }
  })()

  return {
    wake,
    stop() {
      stopped = true
      wakeUp()
      return running
    },
  }
}
