import { setTimeout as sleep } from 'node:timers/promises'
import { startProcess } from '@herald/testkit'

export type Supervised = {
  name: string
  /** kill -9, or another signal; the supervisor starts it anew at once. Answers its exit code. */
  kill(signal?: NodeJS.Signals): Promise<number | null>
  /** SIGSTOP, and SIGCONT after so many seconds: a process that sleeps through its leases and does not know it. */
  freeze(seconds: number): Promise<void>
  /** SIGTERM and no new start. */
  stop(): Promise<void>
  restarts(): number
  output(): string
}

/** A process that is started again whenever it ends, as any deployment would. */
export function supervise(name: string, args: string[], env: Record<string, string>): Supervised {
  let stopped = false
  let restarts = 0
  let output = ''
  let current = start()

  function start() {
    const running = startProcess(process.execPath, args, { env })
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

  return {
    name,
    restarts: () => restarts,
    output: () => output + current.output(),
    async kill(signal = 'SIGKILL') {
      return (await current.stop(signal)).code
    },
    async freeze(seconds) {
      const { pid } = current
      process.kill(pid, 'SIGSTOP')
      await sleep(seconds * 1000)
      try {
        process.kill(pid, 'SIGCONT')
      } catch {
        // It was killed in its sleep.
      }
    },
    async stop() {
      stopped = true
      await current.stop('SIGTERM')
    },
  }
}
