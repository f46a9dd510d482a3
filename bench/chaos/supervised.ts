import { sleep } from '@herald/async'
import { startApp } from '@herald/testkit'

export type Supervised = {
  name: string
  /** Changes with every restart. */
  pid(): number
  /** Sends SIGKILL by default and resolves with the exit code. The supervisor restarts the process at once. */
  kill(signal?: NodeJS.Signals): Promise<number | null>
  /** Stops the process for `seconds` with SIGSTOP; `whileFrozen` runs during that time. */
  freeze(seconds: number, whileFrozen?: () => Promise<void>): Promise<void>
  /** Sends a signal without waiting; returns false if there is no process. */
  signal(signal: NodeJS.Signals): boolean
  /** Sends SIGTERM by default; the process is not restarted. */
  stop(signal?: NodeJS.Signals): Promise<void>
  restarts(): number
  output(): string
}

/** Runs a program and restarts it whenever it exits, as deployments do. */
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
    async freeze(seconds, whileFrozen) {
      const { pid } = current
      if (!send(pid, 'SIGSTOP')) return
      try {
        await Promise.all([sleep(seconds * 1000), whileFrozen?.()])
      } finally {
        // It may have been killed while it was frozen.
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
