import { setTimeout as sleep } from 'node:timers/promises'
import { startApp } from '@herald/testkit'

export type Supervised = {
  name: string
  /** The process of now; it changes with every restart. */
  pid(): number
  /** kill -9, or another signal; the supervisor starts it anew at once. Answers its exit code. */
  kill(signal?: NodeJS.Signals): Promise<number | null>
  /**
   * SIGSTOP, and SIGCONT after so many seconds: a process that sleeps through its leases and does not know it. `asleep` runs
   * while nothing of it can move.
   */
  freeze(seconds: number, asleep?: () => Promise<void>): Promise<void>
  /** Sends a signal and goes on; false when nobody was there. */
  signal(signal: NodeJS.Signals): boolean
  /** SIGTERM, or another signal, and no new start. */
  stop(signal?: NodeJS.Signals): Promise<void>
  restarts(): number
  output(): string
}

/** A process that is started again whenever it ends, as any deployment would. */
export function supervise(name: string, args: string[], env: Record<string, string>): Supervised {
  const [main = '', ...rest] = args
  let stopped = false
  let restarts = 0
  let output = ''
  let current = start()

  function start() {
    const running = startApp(main, env, rest)
    running.exited.then(
      () => {
        output = `${output}${running.output()}`.slice(-200_000)
        if (stopped) return
        restarts++
        current = start()
      },
      () => {},
    )
    return running
  }

  function send(pid: number, signal: NodeJS.Signals): boolean {
    try {
      return process.kill(pid, signal)
    } catch {
      return false
    }
  }

  return {
    name,
    pid: () => current.pid,
    restarts: () => restarts,
    output: () => output + current.output(),
    signal: (signal) => send(current.pid, signal),
    async kill(signal = 'SIGKILL') {
      return (await current.stop(signal)).code
    },
    async freeze(seconds, asleep) {
      const { pid } = current
      if (!send(pid, 'SIGSTOP')) return
      try {
        await Promise.all([sleep(seconds * 1000), asleep?.()])
      } finally {
        // Unless it was killed in its sleep.
        send(pid, 'SIGCONT')
      }
    },
    async stop(signal = 'SIGTERM') {
      stopped = true
      send(current.pid, 'SIGCONT')
      await current.stop(signal)
    },
  }
}
